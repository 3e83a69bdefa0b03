//! Two devices, `near` and `far`, and what becomes of packets between them: each takes its time,
//! some are lost, and while the wire is cut, all are. Whoever started this moves the devices to
//! where they belong, and says `cut`, `heal` or `count` on stdin. Packets are never read.

use crate::chance::Chance;
use crate::limits::{MTU, PACKET_BYTES, PACKETS};
use crate::say;
use std::io::BufRead as _;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use tun_rs::{DeviceBuilder, SyncDevice};

/// What both directions have in common.
#[derive(Default)]
struct Wire {
    is_cut: AtomicBool,
    passed: AtomicU64,
    lost: AtomicU64,
}

/// A packet, and when it is there.
type Packet = (Instant, Vec<u8>);

/// Carries packets until stdin ends.
pub(crate) fn run(delay: &str, loss: &str, seed: &str) -> Result<(), String> {
    let delay = Duration::from_millis(number(delay)?);
    let (loss, seed): (u64, u64) = (number(loss)?, number(seed)?);
    let (near, far) = (device("near")?, device("far")?);
    let wire = Arc::<Wire>::default();
    for (who, from, to) in [(1, &near, &far), (2, &far, &near)] {
        let (from, to, wire) = (Arc::clone(from), Arc::clone(to), Arc::clone(&wire));
        let chance = Chance::new(seed, who);
        if delay.is_zero() {
            thread::spawn(move || take(&from, &wire, (chance, loss), |packet| send(&to, packet)));
            continue;
        }
        let (sender, packets) = sync_channel::<Packet>(PACKETS);
        thread::spawn(move || deliver(&to, &packets));
        let later = move |packet: &[u8]| wait(&sender, delay, packet);
        thread::spawn(move || take(&from, &wire, (chance, loss), later));
    }
    say("near far");
    for order in std::io::stdin().lock().lines().map_while(Result::ok) {
        match order.as_str() {
            "cut" | "heal" => wire.is_cut.store(order == "cut", Ordering::SeqCst),
            "count" => {}
            _ => return Err(format!("a wire does not understand {order:?}")),
        }
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        say(format_args!("{order}: {} passed, {} lost", count(&wire.passed), count(&wire.lost)));
    }
    Ok(())
}

fn number<N: FromStr>(word: &str) -> Result<N, String> {
    word.parse().map_err(|_| format!("{word:?} is no number"))
}

fn device(name: &str) -> Result<Arc<SyncDevice>, String> {
    let device = DeviceBuilder::new().name(name).mtu(MTU).build_sync();
    device.map(Arc::new).map_err(|error| format!("the device {name}: {error}"))
}

/// Takes what comes, for as long as its device is there.
fn take(
    from: &SyncDevice,
    wire: &Wire,
    (mut chance, loss): (Chance, u64),
    mut pass: impl FnMut(&[u8]) -> bool,
) {
    let mut buffer = vec![0; PACKET_BYTES];
    while let Ok(length) = from.recv(&mut buffer) {
        // Chance is asked of each packet, whatever becomes of it.
        let is_lost = chance.is_one_of(loss) || wire.is_cut.load(Ordering::SeqCst);
        let is_passed = !is_lost && pass(&buffer[..length]);
        let count = if is_passed { &wire.passed } else { &wire.lost };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// A device that is not up takes nothing.
fn send(to: &SyncDevice, packet: &[u8]) -> bool {
    to.send(packet).is_ok()
}

fn wait(sender: &SyncSender<Packet>, delay: Duration, packet: &[u8]) -> bool {
    sender.try_send((Instant::now() + delay, packet.to_vec())).is_ok()
}

/// Hands over packets when their time has come: in the order of their beginnings.
#[expect(clippy::disallowed_methods, reason = "the thread of a wire has nothing else to do")]
fn deliver(to: &SyncDevice, packets: &Receiver<Packet>) {
    for (due, packet) in packets {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        send(to, &packet);
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, number, sync_channel, wait};

    #[test]
    fn what_finds_no_room_on_the_wire_is_lost() {
        let (sender, packets) = sync_channel(2);
        let began = Instant::now();
        let took = [b"a", b"b", b"c"].map(|packet| wait(&sender, Duration::from_secs(1), packet));
        assert_eq!(took, [true, true, false]);
        let (due, packet) = packets.try_recv().expect("one is there");
        assert!(due >= began + Duration::from_secs(1) && packet == b"a");
        assert!(number::<u64>("x").is_err());
    }
}
