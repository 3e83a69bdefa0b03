//! The cases of a benchmark one at a time, for whoever sets several programs beside each other:
//! `cargo xtask bench` runs them in turns, and counts their instructions under callgrind. A
//! benchmark's `main` calls it; it compares nothing.

use std::error::Error;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Runs a case so many times. What it needs was made before.
pub type Turns = Box<dyn FnMut(u32)>;

/// Does what the command line asks, `--run CASE TIMES` or `--time CASE MILLISECONDS`, which prints
/// the nanoseconds of one turn. False if it asks for neither.
///
/// # Errors
/// The number is none, or stdout is gone.
pub fn asked(prepared: impl FnOnce(&str) -> Turns) -> Result<bool, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--run", case, times] => prepared(case)(times.parse()?),
        ["--time", case, milliseconds] => {
            let at_least = Duration::from_millis(milliseconds.parse()?);
            writeln!(io::stdout(), "{:.3}", nanoseconds(at_least, &mut prepared(case)))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// What one turn takes, of as many as take so long at least. Those before are its warm-up.
fn nanoseconds(at_least: Duration, turns: &mut Turns) -> f64 {
    let mut times = 1_u32;
    loop {
        let began = Instant::now();
        turns(times);
        let took = began.elapsed();
        if took >= at_least || times == u32::MAX {
            return took.as_nanos() as f64 / f64::from(times);
        }
        times = times.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::{Duration, Instant};

    #[test]
    fn a_time_is_that_of_one_turn_of_as_many_as_are_needed() {
        const TURN: Duration = Duration::from_micros(50);
        let at_least = Duration::from_millis(5);
        let most = Rc::new(Cell::new(0));
        let seen = Rc::clone(&most);
        let nanos = nanoseconds(
            at_least,
            &mut (Box::new(move |times| {
                most.set(times);
                let began = Instant::now();
                while began.elapsed() < TURN * times {}
            }) as super::Turns),
        );
        assert!(nanos >= TURN.as_nanos() as f64, "{nanos}");
        assert!(nanos * f64::from(seen.get()) >= at_least.as_nanos() as f64, "{nanos}");
    }
}
