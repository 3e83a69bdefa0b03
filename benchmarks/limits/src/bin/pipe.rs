//! `limit-pipe ANSWERS`: constant answers over stdin and stdout. See the crate for what it is for.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file] = &*arguments else { return Err("it takes a file of answers".into()) };
    let answers = haft_limits::Answers::read(Path::new(file))?;
    Ok(haft_limits::serve_pipe(&answers)?)
}
