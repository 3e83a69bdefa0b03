//! What the processes of an upstream say on stderr, line by line, for the log of whoever runs the
//! gateway: so much in a second, and of the rest how much it was. Heard by `upstream`.

use crate::gateway::lock;
use crate::gateway::{News, Telling};
use crate::limits::{MURMUR_MAX, MURMUR_TIME};
use std::sync::Mutex;
use tokio::time::Instant;

/// See above.
pub(crate) struct Murmur {
    upstream: String,
    tell: Telling,
    lately: Mutex<Lately>,
}

struct Lately {
    since: Instant,
    told: u32,
    untold: u64,
}

impl Murmur {
    pub(crate) fn new(upstream: &str, tell: Telling) -> Self {
        let lately = Mutex::new(Lately { since: Instant::now(), told: 0, untold: 0 });
        Self { upstream: upstream.to_owned(), tell, lately }
    }

    /// It says a line.
    pub(crate) fn hear(&self, line: &str) {
        let mut lately = lock(&self.lately);
        let is_over = lately.since.elapsed() >= MURMUR_TIME;
        let before = if is_over { lately.untold } else { 0 };
        if is_over {
            *lately = Lately { since: Instant::now(), told: 0, untold: 0 };
        }
        let is_told = lately.told < MURMUR_MAX;
        lately.told += u32::from(is_told);
        lately.untold += u64::from(!is_told);
        drop(lately);
        if before > 0 {
            self.tell(&format!("({before} more lines are left out)"));
        }
        if is_told {
            self.tell(line);
        }
    }

    fn tell(&self, line: &str) {
        (self.tell)(News::Stderr { upstream: &self.upstream, line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_told_in_part_and_how_much_it_was() {
        let told = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&told);
        let tell: Telling = Arc::new(move |news| match news {
            News::Stderr { upstream, line } => lock(&kept).push(format!("{upstream} {line}")),
            News::Odd(line) => panic!("{line}"),
        });
        let murmur = Murmur::new("north", tell);
        let most = u64::from(MURMUR_MAX);
        (0..most + 7).for_each(|number| murmur.hear(&number.to_string()));
        assert_eq!(lock(&told).len() as u64, most);
        advance(MURMUR_TIME - Duration::from_millis(1)).await;
        murmur.hear("in the same second");
        advance(Duration::from_millis(1)).await;
        murmur.hear("later");
        let told = lock(&told).split_off(MURMUR_MAX as usize);
        assert_eq!(told, ["north (8 more lines are left out)", "north later"]);
    }
}
