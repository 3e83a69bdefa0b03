//! The bounds of a gateway, each once.

use std::time::Duration;

/// How long to wait before an upstream that went down is started again, at first, and once it has
/// answered a request and was up for longer than the pause would be; else twice as long each time.
pub const PAUSE_MIN: Duration = Duration::from_millis(100);
/// And at most.
pub const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Calls wait for an upstream that went down, and what it has stays listed, while it is tried again
/// after no longer a pause than this.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// An upstream that was up for so long has recovered, whether it was asked for anything or not: the
/// next pause is the first again.
pub const RECOVERED: Duration = Duration::from_secs(30);
/// The most gateways that a thing of an upstream may have come through.
pub const GATEWAYS_MAX: usize = 8;
/// The most gateways that start each other as child processes, one below the other.
pub const ABOVE_MAX: usize = 8;
/// And of one file.
pub const ABOVE_SAME_MAX: usize = 2;
/// How long an upstream that is started when it is needed may be there unused, at least; at most
/// twice as long.
pub const IDLE_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether a session that has a process of its own is over.
pub const OWN_LOOK: Duration = Duration::from_secs(1);
/// How long changes of an upstream's lists are gathered before the lists are asked for; twice as
/// long each time while they do not cease.
pub const GATHERING: Duration = Duration::from_millis(50);
/// And at most: changes are followed within the second.
pub const GATHERING_MAX: Duration = Duration::from_millis(800);
/// Changes have ceased if there was none for so long after the lists were asked for.
pub const QUIET: Duration = Duration::from_secs(2);
/// How many kinds of changes there are to gather: tools, resources, prompts, and missed ones.
pub const CHANGE_KINDS: usize = 4;
/// How long an upstream may take to say that it will tell of changes; then it is taken not to.
pub const LISTENING_TIME_MAX: Duration = Duration::from_secs(2);
/// How long after its beginning a gateway lets lists wait for upstreams that have not answered yet,
/// and requests for what is not there yet.
pub const EARLY: Duration = Duration::from_secs(5);
/// The same where one client has started the gateway for itself, which may not ask again.
pub const EARLY_ALONE: Duration = Duration::from_secs(10);
/// How often in a row an upstream that has answered before may leave its lists unanswered for as
/// long as its `timeout`, before it is taken to hang: one that does one thing after the other may
/// work on something that long.
pub const LOOKS_IN_VAIN_MAX: u32 = 2;
/// How long the lists of an upstream that does not tell of changes are taken to stay as they are at
/// least, whatever it says.
pub const TTL_MIN: Duration = Duration::from_secs(5);
/// How long after it could not be had, changes are asked to be told of again, or a list is asked
/// for; twice as long after each time in vain.
pub const RETRY_MIN: Duration = Duration::from_secs(1);
/// And at most.
pub const RETRY_MAX: Duration = Duration::from_secs(5 * 60);
/// How many requests of one upstream may wait for the answers of clients that answer in another
/// request; one more takes the place of the one that waits longest.
pub const PARKED_MAX: usize = 256;
/// And with so many bytes in all.
pub const PARKED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// And how long each: as long as what such a client keeps for this server is good.
pub const PARKED_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// How long an upstream may take between questions that it asks of one client at the same time.
pub const GATHERED: Duration = Duration::from_millis(10);
/// How often in one request of a client an upstream may say that it needs more.
pub const ROUNDS_MAX: u32 = 16;
/// How long an upstream is left alone that needs more and does not say what; twice as long each
/// time.
pub const COME_AGAIN: Duration = Duration::from_millis(100);
/// And at most.
pub const COME_AGAIN_MAX: Duration = Duration::from_secs(5);
/// How many of the latest requests are kept for whoever runs the gateway.
pub const RECENT_MAX: usize = 256;
/// How long a call waits until its upstream has taken how much of its log is wanted.
pub(crate) const LOG_TIME_MAX: Duration = Duration::from_secs(1);
/// How many characters are kept of why one of them failed.
pub(crate) const FAILURE_CHARS_MAX: usize = 1000;
/// How much longer than its `timeout` a call of an upstream may take, connecting included.
pub const SLACK: Duration = Duration::from_millis(500);
/// How long an upstream may take at least to say what it has, whatever its `timeout`.
pub const START_TIME_MAX: Duration = Duration::from_secs(10);
/// How long upstreams have to end, together.
pub const STOP_TIME_MAX: Duration = Duration::from_secs(8);
/// How many things that are left out are kept, with their reasons, for whoever runs the gateway.
pub const LEFT_OUT_MAX: usize = 256;
/// How many rules of the file that do nothing are kept for them, with what is odd about each.
pub const ODD_MAX: usize = 256;
/// How many definitions that an upstream has altered are told of at once; of others, how many they
/// are.
pub const ALTERED_MAX: usize = 16;
/// How many characters are told of a text that is other now.
pub const ALTERED_CHARS_MAX: usize = 120;
/// Of how many definitions of one upstream it is told what was mended; of others, how many they
/// are.
pub const MENDED_MAX: usize = 16;
/// How many bytes of a name or a reason they are told.
pub const TOLD_BYTES_MAX: usize = 512;
/// How many lines that an upstream's processes say on stderr are told in `MURMUR_TIME`.
pub const MURMUR_MAX: u32 = 100;
/// See above.
pub const MURMUR_TIME: Duration = Duration::from_secs(1);
/// How many lines of the log of it all wait to be written, each of 8 KiB at most; more are lost.
pub const LOG_LINES_MAX: usize = 256;
/// How many lines are told at once of what is left out; of others, how many they are.
pub const LINES_MAX: usize = 16;
/// How many bytes a value of an upstream's variables and headers has at least that is left out of
/// what is told: shorter ones are numbers and words.
pub const SECRET_BYTES_MIN: usize = 6;
