//! A server of one tool. `haft call --command target/debug/hello hello name=Ada` calls it.
/// Greets somebody.
#[haft::tool(read_only)]
fn hello(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() -> haft::Result<()> {
    haft::server("hello", "1.0.0").tool(hello::tool()).run()
}
