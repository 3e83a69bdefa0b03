//! scratch
fn main() {
    for path in std::env::args().skip(1) {
        match haft_manifest::load(std::path::Path::new(&path)) {
            Ok(m) => { match m.server() { Ok(_) => {}, Err(f) => println!("{f}") }
              for w in m.warnings() { println!("W {w}"); } for c in m.costs() { println!("{c:?}"); } }
            Err(f) => println!("{f}\n"),
        }
    }
}
