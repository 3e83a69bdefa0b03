//! How much of anything the other end of a link may ask for, and how long it may take. Of single
//! frames, see the crate `haft-link`.

use std::time::Duration;

/// How long an agent and a gateway may take to say who they are.
pub const GREETING_TIME_MAX: Duration = Duration::from_secs(10);

/// How often something is said at least over a link that is quiet.
pub const HEARTBEAT: Duration = Duration::from_secs(5);

/// How long nothing at all may come over a link before it is given up.
pub const SILENCE_MAX: Duration = Duration::from_secs(15);

/// How long the calls of a link that was lost are kept, at both ends.
pub const KEPT_TIME: Duration = Duration::from_secs(120);

/// How long a gateway that others have named is dialled and does not answer, until it is named
/// again.
pub const NAMED_LIFE: Duration = Duration::from_secs(10 * 60);

/// The most calls that an agent works on at once.
pub const SLOTS: usize = 256;

/// The most calls that wait at a gateway for one of these; the next are refused at once.
pub const QUEUED_CALLS_MAX: usize = 1024;

/// The shortest pause before a gateway is dialled again.
pub const REDIAL_MIN: Duration = Duration::from_millis(100);

/// The longest; each failure doubles the pause up to it.
pub const REDIAL_MAX: Duration = Duration::from_secs(30);

/// The most agents that one gateway has.
pub const AGENTS_MAX: usize = 4096;

/// The most bytes that come on one stream before somebody reads them.
pub const STREAM_WINDOW: u32 = 256 * 1024;

/// The most bytes that come over one link before somebody reads them.
pub const LINK_WINDOW: u32 = 16 * 1024 * 1024;

/// The most frames that wait to be sent on a control stream.
pub const CONTROL_QUEUE: usize = 256;

/// How long a call waits at a gateway for a link that was lost.
pub const AWAY_PATIENCE: Duration = Duration::from_secs(2);

/// How long an agent may take to answer when another comes with its name.
pub const PROBE_TIME_MAX: Duration = Duration::from_secs(2);

/// How long a link must last so that the next pause is short again.
pub const LASTED: Duration = Duration::from_secs(10);

/// How often an address is dialled again that led to a gateway to which there is a link, or that is
/// reached over TCP alone.
pub const REPROBE: Duration = Duration::from_secs(60);

/// The most streams of one link over TCP: more than an agent with as many slots as it may have
/// uses, with those of calls that have just been answered.
pub const LINK_STREAMS_MAX: usize = 33 * 256;

/// How long QUIC is tried.
pub const UDP_PATIENCE: Duration = Duration::from_secs(3);

/// How long, before TCP is tried beside it.
pub const UDP_HEADSTART: Duration = Duration::from_millis(700);

/// How long the last word of a link over TCP may take that has ended.
pub const LAST_WORD_TIME_MAX: Duration = Duration::from_secs(1);

/// The most links that a gateway has at once; the next wait to be accepted.
pub const LINKS_MAX: usize = 8192;

/// The longest name of an agent.
pub const NAME_BYTES_MAX: usize = 64;

/// How long a token may be used, if nobody says how long.
pub const INVITATION_LIFE: Duration = Duration::from_secs(60 * 60);

/// The most tokens of one gateway that have not been used.
pub const INVITATIONS_MAX: usize = 1024;

/// How long an agent's certificate holds. It gets a new one when two thirds of that are over.
pub const CERTIFICATE_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How much the clocks of an agent and its gateway may differ.
pub const CLOCK_SLACK: Duration = Duration::from_secs(24 * 60 * 60);

/// The most bytes of a file that says who may join and who has, or who an agent is.
pub const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long after a handshake the next needs no certificates.
pub const TICKET_LIFE: Duration = Duration::from_secs(2 * 60 * 60);

/// The most bytes that an agent may say before a handshake has ended, if nobody says how many.
pub const EARLY_BYTES: usize = 8 * 1024;

/// The fewest bytes of a secret that tickets are sealed with.
pub const SECRET_BYTES_MIN: usize = 32;

/// The most bytes of what a handshake leaves behind for the next.
pub const TICKET_BYTES_MAX: usize = 8 * 1024;

/// The most that handshakes have left behind in a directory, before one is removed.
pub const SESSIONS_MAX: usize = 8192;

/// How many more there may be before a replica looks.
pub const SESSIONS_SWEEP: usize = 256;

/// How often a gateway looks whether an agent that is there has been revoked.
pub const REVOKED_LOOK: Duration = Duration::from_secs(5);

/// How soon a certificate is asked for again that did not come.
pub const RENEWAL_RETRY: Duration = Duration::from_secs(60 * 60);

/// How long an agent that stops waits until its calls have been answered.
pub const DRAIN_TIME_MAX: Duration = Duration::from_secs(30);

/// How soon after a certificate another is given over the same link.
pub const RENEWAL_PAUSE: Duration = Duration::from_secs(60);

/// The most streams that a gateway lets an agent open over TCP: that of control, and one for its
/// last word.
pub const AGENT_STREAMS_MAX: usize = 2;

/// How long a gateway waits when no connection can be taken, as when too many files are open.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The most calls of one gateway that an agent keeps, those with them that have been answered and
/// of which the answer has not arrived.
pub const CALLS_KEPT_MAX: usize = 4096;

/// How many bytes of what comes of one call may be under way.
pub const CALL_WINDOW: u64 = 256 * 1024;

/// How many pieces of it may be.
pub const CALL_MESSAGES: u64 = 1024;

/// How many bytes of what comes of all calls of a link may be under way.
pub const LINK_CREDIT: u64 = 16 * 1024 * 1024;

/// How many pieces of it may be.
pub const LINK_MESSAGES: u64 = 16 * 1024;

/// How often in a row the stream of a call may break without its link.
pub const BROKEN_MAX: u32 = 3;

/// The most requests of one gateway without a deadline that an agent has at once: those that listen
/// for changes.
pub const LISTENING_MAX: usize = 64;

/// How long a call that an agent has no place for waits for one.
pub const PLACE_PATIENCE: Duration = Duration::from_secs(1);

/// How long after a call has come over TCP something is heard on its stream at the latest.
pub const HEARD_WITHIN: Duration = Duration::from_millis(500);

/// The longest answer to a call of a gateway.
pub const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The most files that tell what QUIC does on a link, of one process.
pub const QLOGS_MAX: usize = 1000;

/// The most links of which nobody has said yet whose they are; the next wait to be accepted.
pub const STRANGERS_MAX: usize = 1024;

/// The most of these from one address, or of version 6 from one /64; the next are refused.
pub const STRANGERS_ALIKE_MAX: usize = 512;

/// The most tokens of addresses of which a gateway remembers that they were used; then those that
/// were given out before are of no use, and whoever brings one shows its address anew.
pub const ADDRESS_TOKENS_MAX: usize = 8192;

/// How often a gateway looks whether anything comes of a link that calls wait for.
pub const QUIET_LOOK: Duration = Duration::from_secs(1);

/// At how many of these looks in a row nothing has come when such a link is given up, as that of an
/// agent that was killed. It was asked to say something at the first.
pub const QUIET_LOOKS: u32 = 5;
