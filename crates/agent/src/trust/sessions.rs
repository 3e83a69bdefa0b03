//! What handshakes leave behind, in a directory that replicas share, where each is used once: who
//! takes it leaves an empty file there, by which an echo is known. rustls takes early data over
//! nothing else, as whoever hears it twice must know. Files are sealed by `tickets`; nothing here
//! waits for a disk to have them, and those that are over are removed by a thread of its own.

use super::authority::AGENT_URI;
use super::tickets::Tickets;
use super::{TrustError, files};
use crate::limits::{SESSIONS_MAX, SESSIONS_SWEEP, TICKET_BYTES_MAX, TICKET_LIFE};
use ring::digest::{SHA256, digest};
use rustls::server::StoresServerSessions;
use std::fs::{self, DirEntry, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::NamedTempFile;
use tokio::sync::watch;

/// See above.
#[derive(Debug)]
pub(super) struct Sessions {
    directory: PathBuf,
    tickets: Tickets,
    /// How many were put there since those that are over were removed.
    put: AtomicUsize,
    is_sweeping: Arc<AtomicBool>,
    echoes: Echoes,
}

/// How often something was to be taken that had been.
pub(super) type Echoes = watch::Sender<u64>;

/// What the name of one ends with that was taken.
const TAKEN: &str = "taken";

impl Sessions {
    /// Those of a directory, which is made if there is none.
    pub(super) fn at(
        directory: &Path,
        tickets: Tickets,
        echoes: Echoes,
    ) -> Result<Self, TrustError> {
        files::own_directory(directory)?;
        let (directory, put) = (directory.to_owned(), AtomicUsize::new(0));
        let sessions = Self { directory, tickets, put, is_sweeping: Arc::default(), echoes };
        sweep(&sessions.directory, sessions.now());
        Ok(sessions)
    }

    /// Who reads the names of files there has not the ids, with which one could resume.
    fn path(&self, id: &[u8]) -> PathBuf {
        let name = digest(&SHA256, id);
        let name: String = name.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(name)
    }

    fn write(&self, id: &[u8], plain: &[u8]) -> Option<()> {
        let sealed = self.tickets.seal(plain)?;
        let mut file = NamedTempFile::new_in(&self.directory).ok()?;
        file.write_all(&sealed).ok()?;
        file.persist(self.path(id)).ok()?;
        Some(())
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let mut sealed = Vec::new();
        let file = File::open(path).ok()?;
        file.take(TICKET_BYTES_MAX as u64 + 1).read_to_end(&mut sealed).ok()?;
        self.tickets.open(&sealed)
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.tickets.now().unwrap_or_default())
    }

    /// Sweeps while links go on.
    fn sweep(&self) {
        if self.is_sweeping.swap(true, Ordering::Relaxed) {
            return;
        }
        let (directory, now) = (self.directory.clone(), self.now());
        let is_sweeping = Arc::clone(&self.is_sweeping);
        let swept = thread::Builder::new().spawn(move || {
            sweep(&directory, now);
            is_sweeping.store(false, Ordering::Relaxed);
        });
        if swept.is_err() {
            self.is_sweeping.store(false, Ordering::Relaxed);
        }
    }
}

/// Removes those that are over, and the oldest if there are too many.
fn sweep(directory: &Path, now: SystemTime) {
    let Ok(found) = fs::read_dir(directory) else { return };
    let mut found: Vec<_> = found.flatten().map(|file| (changed(&file), file.path())).collect();
    found.sort_unstable();
    let too_many = found.len().saturating_sub(SESSIONS_MAX);
    for (place, (changed, path)) in found.into_iter().enumerate() {
        let age = now.duration_since(changed).unwrap_or_default();
        if place < too_many || age >= TICKET_LIFE {
            // Another replica may have done it.
            _ = fs::remove_file(path);
        }
    }
}

/// Whether it is that of an agent, which has shown its certificate: an address that certificates
/// of this authority have is in it, and cannot be in the name of a host, which is the one thing
/// there that strangers choose.
fn is_of_an_agent(session: &[u8]) -> bool {
    session.windows(AGENT_URI.len()).any(|part| part == AGENT_URI.as_bytes())
}

fn changed(file: &DirEntry) -> SystemTime {
    file.metadata().and_then(|metadata| metadata.modified()).unwrap_or(UNIX_EPOCH)
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        // Anybody may come without a certificate, as often as they like.
        if !is_of_an_agent(&value) {
            return false;
        }
        if self.put.fetch_add(1, Ordering::Relaxed) % SESSIONS_SWEEP == SESSIONS_SWEEP - 1 {
            self.sweep();
        }
        self.write(&key, &value).is_some()
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.read(&self.path(key))
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let path = self.path(key);
        let taken = path.with_extension(TAKEN);
        let plain = self.read(&path);
        // Of several who read it, one gives it another name.
        if plain.is_some() && fs::rename(&path, &taken).is_ok() {
            // What it has is of no use to anybody any more.
            _ = File::create(&taken);
            return plain;
        }
        if taken.exists() {
            self.echoes.send_modify(|echoes| *echoes += 1);
        }
        None
    }

    fn can_cache(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tickets::At;
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Barrier;
    use tempfile::TempDir;

    const SECRET: &[u8] = b"a secret of haft:agent:plant-7";

    fn sessions(directory: &TempDir, secret: u8, at: &Arc<At>) -> Sessions {
        let clock = Arc::<At>::clone(at);
        let tickets = Tickets::new(&[secret; 32], clock);
        let echoes = Echoes::default();
        Sessions::at(&directory.path().join("sessions"), tickets, echoes).expect("it is made")
    }

    fn now() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs()
    }

    fn count(directory: &TempDir) -> usize {
        fs::read_dir(directory.path().join("sessions")).expect("it is there").count()
    }

    #[test]
    fn what_one_replica_puts_there_another_takes_once() {
        let (directory, at) = (TempDir::new().expect("a directory"), At::new(now()));
        let (one, other) = (sessions(&directory, 1, &at), sessions(&directory, 1, &at));
        assert!(one.put(b"id".to_vec(), SECRET.to_vec()));
        assert_eq!(other.get(b"id").as_deref(), Some(SECRET));
        assert_eq!(sessions(&directory, 2, &at).take(b"id"), None);
        assert_eq!(other.take(b"id").as_deref(), Some(SECRET));
        assert_eq!(one.take(b"id"), None);
        assert_eq!(one.take(b"another id"), None);
        assert_eq!((*one.echoes.borrow(), *other.echoes.borrow()), (1, 0));
        // Nothing of it is left but that it was there.
        let left = fs::read_dir(directory.path().join("sessions")).expect("there").flatten();
        let left: Vec<_> = left.map(|file| file.metadata().expect("there").len()).collect();
        assert_eq!(left, [0]);
    }

    #[test]
    fn of_many_who_take_one_at_once_one_has_it() {
        let (directory, at) = (TempDir::new().expect("a directory"), At::new(now()));
        for round in 0..50_u8 {
            let replicas: Vec<_> = (0..4).map(|_| sessions(&directory, 1, &at)).collect();
            replicas[0].put(vec![round], SECRET.to_vec());
            let barrier = Barrier::new(replicas.len());
            let takers = thread::scope(|scope| {
                let take = |replica| {
                    barrier.wait();
                    Sessions::take(replica, &[round])
                };
                let threads: Vec<_> =
                    replicas.iter().map(|replica| scope.spawn(move || take(replica))).collect();
                threads.into_iter().filter_map(|one| one.join().expect("no panic")).count()
            });
            assert_eq!(takers, 1, "{round}");
        }
    }

    #[test]
    fn what_is_there_shows_nothing_and_is_its_owners_alone() {
        let (directory, at) = (TempDir::new().expect("a directory"), At::new(now()));
        let one = sessions(&directory, 1, &at);
        one.put(b"an id".to_vec(), SECRET.to_vec());
        let place = directory.path().join("sessions");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let file = fs::read_dir(&place).expect("there").flatten().next().expect("one").path();
        assert_eq!((mode(&place), mode(&file)), (0o700, 0o600));
        let bytes = fs::read(&file).expect("it is read");
        assert!(!bytes.windows(8).any(|some| some == b"a secret"));
    }

    #[test]
    fn whoever_has_shown_no_certificate_leaves_nothing() {
        let (directory, at) = (TempDir::new().expect("a directory"), At::new(now()));
        let one = sessions(&directory, 1, &at);
        assert!(!one.put(b"an id".to_vec(), b"a secret of haft.agent.plant-7".to_vec()));
        assert_eq!(count(&directory), 0);
    }

    #[test]
    fn those_that_are_over_are_refused_and_removed() {
        let (directory, at) = (TempDir::new().expect("a directory"), At::new(now()));
        let one = sessions(&directory, 1, &at);
        one.put(b"old".to_vec(), SECRET.to_vec());
        at.set(now() + TICKET_LIFE.as_secs() + 1);
        assert_eq!(one.take(b"old"), None);
        assert_eq!(count(&directory), 1);
        sessions(&directory, 1, &at);
        assert_eq!(count(&directory), 0);
    }

    #[test]
    fn so_many_are_kept_and_those_before_go_first() {
        let (directory, at) = (TempDir::new().expect("a directory"), At::new(now()));
        let one = sessions(&directory, 1, &at);
        one.put(b"first".to_vec(), SECRET.to_vec());
        let before = SystemTime::now() - Duration::from_secs(60);
        let first = File::options().write(true).open(one.path(b"first")).expect("it is there");
        first.set_modified(before).expect("it is mine");
        // Whoever joins leaves some behind as well: the rest are of nobody.
        for number in 0..SESSIONS_MAX {
            File::create(directory.path().join(format!("sessions/{number}"))).expect("a file");
        }
        for number in 1..SESSIONS_SWEEP {
            assert_eq!(count(&directory), SESSIONS_MAX + number);
            assert!(one.put(number.to_be_bytes().to_vec(), SECRET.to_vec()));
        }
        while one.is_sweeping.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        // Those that come while it looks are left for the next time.
        assert!(count(&directory) <= SESSIONS_MAX + 1);
        assert_eq!(one.take(b"first"), None);
    }
}
