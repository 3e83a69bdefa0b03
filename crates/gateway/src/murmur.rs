//! What the processes of an upstream say on stderr, line by line, for the log of whoever runs the
//! gateway: so much in a second, and of the rest how much it was, and the last of it, which may be
//! why a process ended. Heard by `upstream`.

use crate::gateway::lock;
use crate::limits::{MURMUR_MAX, MURMUR_TIME};
use crate::news::{News, Telling};
use crate::secrets::Secrets;
use std::sync::{Arc, Mutex};
use tokio::time::{Instant, sleep_until};

/// See above.
pub(crate) struct Murmur {
    upstream: String,
    secrets: Arc<Secrets>,
    tell: Telling,
    lately: Mutex<Lately>,
}

struct Lately {
    since: Instant,
    told: u32,
    untold: u64,
    last: String,
}

impl Lately {
    fn new() -> Self {
        Self { since: Instant::now(), told: 0, untold: 0, last: String::new() }
    }
}

impl Murmur {
    pub(crate) fn new(upstream: &str, secrets: Arc<Secrets>, tell: Telling) -> Self {
        Self { upstream: upstream.to_owned(), secrets, tell, lately: Mutex::new(Lately::new()) }
    }

    /// It says a line. Heard within a runtime.
    pub(crate) fn hear(self: &Arc<Self>, line: &str) {
        let since = lock(&self.lately).since;
        if since.elapsed() >= MURMUR_TIME {
            self.end(since);
        }
        let mut lately = lock(&self.lately);
        if lately.told < MURMUR_MAX {
            lately.told += 1;
            drop(lately);
            return self.tell(line);
        }
        lately.untold += 1;
        line.clone_into(&mut lately.last);
        if lately.untold == 1 {
            let (murmur, since) = (Arc::clone(self), lately.since);
            tokio::spawn(async move {
                sleep_until(since + MURMUR_TIME).await;
                murmur.end(since);
            });
        }
    }

    /// Ends the second that began then, unless it has ended, and tells what was left out in it.
    fn end(&self, since: Instant) {
        let mut lately = lock(&self.lately);
        if lately.since != since {
            return;
        }
        let Lately { untold, last, .. } = std::mem::replace(&mut *lately, Lately::new());
        drop(lately);
        if untold > 1 {
            self.tell(&format!("({} more lines are left out)", untold - 1));
        }
        if untold > 0 {
            self.tell(&last);
        }
    }

    fn tell(&self, line: &str) {
        let line = self.secrets.hide(line);
        (self.tell)(News::Stderr { upstream: &self.upstream, line: &line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_manifest::{Given, Reach};
    use std::time::Duration;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_told_in_part_and_how_much_it_was() {
        let told = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&told);
        let tell: Telling = Arc::new(move |news| match news {
            News::Stderr { upstream, line } => lock(&kept).push(format!("{upstream} {line}")),
            news => panic!("{news:?}"),
        });
        let reach = Reach::Command {
            argv: Vec::new(),
            env: vec![("KEY".to_owned(), "s3cret".to_owned())],
            inherit: None,
            directory: "/".into(),
        };
        let secrets = Arc::new(Secrets::of(&reach, &Given::default()));
        let murmur = Arc::new(Murmur::new("north", secrets, tell));
        let most = u64::from(MURMUR_MAX);
        (0..most + 7).for_each(|number| murmur.hear(&number.to_string()));
        assert_eq!(lock(&told).len() as u64, most);
        advance(MURMUR_TIME - Duration::from_millis(1)).await;
        murmur.hear("error: why it ended");
        tokio::task::yield_now().await;
        advance(Duration::from_millis(2)).await;
        tokio::task::yield_now().await;
        let end = ["north (7 more lines are left out)", "north error: why it ended"];
        assert_eq!(lock(&told).split_off(MURMUR_MAX as usize), end, "nothing more came");
        murmur.hear("later s3cret");
        assert_eq!(lock(&told).last().map(String::as_str), Some("north later ***"));
    }
}
