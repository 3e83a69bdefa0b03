//! Tools in modules: each has its functions, and `main` names those that are served.
//! `haft call --command target/debug/modules miles_to_kilometres miles=26.2`

mod distance;
mod weight;

fn main() -> haft::Result<()> {
    haft::server("modules", "1.0.0")
        .instructions("Converts what recipes and races are measured in.")
        .tools(haft::tools![distance::miles_to_kilometres, distance::kilometres_to_miles])
        .tools(weight::tools())
        .run()
}
