//! Every bound of haft, in one struct. Each wire and the server read it; nothing else holds a
//! number that a peer could push against.

use std::time::Duration;

/// How much of anything a peer may ask for. All sizes are in bytes unless the name says otherwise.
///
/// ```
/// let limits = haft_proto::limits::Limits { message_bytes: 64 * 1024, ..Default::default() };
/// assert_eq!(limits.depth, 128);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message: a line on stdio, a body on HTTP, all fragments over WebSocket.
    pub message_bytes: usize,
    /// The deepest nesting of arrays and objects in a message. At most 128.
    pub depth: usize,
    /// The longest id, with its quotes.
    pub id_bytes: usize,
    /// The most messages in one batch (only 2025-03-26 has batches).
    pub batch_messages: usize,
    /// The most requests that one stdio connection, WebSocket, HTTP session or HTTP
    /// listener may have unanswered.
    pub requests_in_flight: usize,
    /// The deepest that calls of tools from within calls of tools may nest.
    pub call_depth: usize,
    /// The most such calls that one request may cause.
    pub calls_within: usize,
    /// How long a request may take, unless its tool has a `timeout`.
    pub request_timeout: Duration,
    /// The most unsent bytes of answers on one connection; more requests wait on stdio and
    /// WebSocket, and are refused over HTTP.
    pub output_bytes: usize,
    /// The most notifications that wait for a slow reader, on one stdio connection or WebSocket,
    /// or of one HTTP call; further ones are dropped.
    pub queued_notifications: usize,
    /// The most bytes of such notifications.
    pub queued_bytes: usize,
    /// The most bytes of request bodies, and of unfinished messages over WebSocket, that one HTTP
    /// listener holds at once.
    pub bodies_bytes: usize,
    /// The most connections of one HTTP listener, WebSockets and HTTP/3 too; the next ones wait to
    /// be accepted, those of HTTP/3 are refused.
    pub connections: usize,
    /// The most requests at once on one connection of HTTP/2 or HTTP/3.
    pub streams_per_connection: u32,
    /// All headers of an HTTP request together, with its address.
    pub header_bytes: usize,
    /// How much of an HTTP/1.1 connection is read at once, at most. A message that fits is not put
    /// together from pieces; a connection that had long ones, or that sends a head without an end,
    /// may hold as much, and its answers are gathered up to as much.
    pub read_bytes: usize,
    /// The largest buffer of an HTTP answer that is kept for the next one; a larger one is freed
    /// once the answer is sent.
    pub spare_buffer_bytes: usize,
    /// The most bytes of such buffers that one HTTP listener keeps. Each thread that answers keeps
    /// one of at most 4 KiB beside these.
    pub spare_bytes: usize,
    /// How often those of such buffers are freed that no long answer has needed in the meantime.
    pub spare_idle: Duration,
    /// From how many bytes on an answer over HTTP is compressed, for clients that take gzip.
    pub compressed_from: usize,
    /// The same for a list, which is compressed once for all who ask for it.
    pub compressed_lists_from: usize,
    /// The most lists that one HTTP listener keeps compressed; the next one takes the place of the
    /// oldest.
    pub compressed_lists: usize,
    /// How long a handshake of TLS or QUIC, and the headers of an HTTP request may take to arrive,
    /// and an HTTP/1.1 connection may be idle.
    pub header_timeout: Duration,
    /// How long the body of an HTTP request may take to arrive, and a message over WebSocket.
    pub body_timeout: Duration,
    /// How long a client may read nothing while it has an answer to read.
    pub write_stall: Duration,
    /// How long an open response may be silent before a comment keeps it alive, and a WebSocket
    /// client before it is pinged. One that says nothing for [`write_stall`](Self::write_stall)
    /// after that is gone.
    pub keep_alive: Duration,
    /// The most pings and pongs of a WebSocket client in the time of
    /// [`keep_alive`](Self::keep_alive).
    pub pings: usize,
    /// The most legacy HTTP sessions; the next one takes the place of the one idle longest.
    pub sessions: usize,
    /// How long a legacy HTTP session may be idle before it is forgotten.
    pub session_idle: Duration,
    /// How long requests in flight may go on after the order to stop.
    pub shutdown_grace: Duration,
    /// The most entries on one page of a list.
    pub page_entries: usize,
    /// The longest address of a resource.
    pub uri_bytes: usize,
    /// The most bytes of what is read of a resource, all parts together and before any encoding.
    pub resource_bytes: usize,
    /// The most questions that one call may have asked at once, and one legacy conversation may
    /// leave unanswered.
    pub questions: usize,
    /// How long a client may take to answer a question. Meanwhile the time limit of the call rests.
    pub question_timeout: Duration,
    /// The longest `requestState`, sealed.
    pub state_bytes: usize,
    /// How long a `requestState` may be brought back.
    pub state_ttl: Duration,
    /// How many used `requestState`s are remembered; when there are more, the oldest that are still
    /// valid become invalid.
    pub states_used: usize,
    /// The most resources and tasks that one subscription, or one legacy session, may watch.
    pub watched: usize,
    /// The most bytes of the addresses that one of them may watch.
    pub watched_bytes: usize,
    /// The most subscriptions that one HTTP listener has open.
    pub subscriptions: usize,
    /// The most events that are kept for a legacy session that may come back for them, beside the
    /// results that wait for it.
    pub replay_events: usize,
    /// The most bytes of such events. One result that is larger is kept until the next event.
    pub replay_bytes: usize,
    /// The most bytes of such events that one HTTP listener keeps for all its sessions, results
    /// included. Those that wait for one session have an eighth, unless there is only one, and wait
    /// for as long as a session may be idle. A result that does not fit becomes an error.
    pub replays_bytes: usize,
    /// When a legacy client is told to come back to a stream that was broken.
    pub retry: Duration,
    /// The most tasks that are kept, over or not; for the next one, the one that has been over for
    /// longest is forgotten.
    pub tasks: usize,
    /// The most tasks that run at once.
    pub tasks_running: usize,
    /// The most bytes of tasks that are kept in memory; what has been over for longest is forgotten
    /// first.
    pub task_bytes: usize,
    /// How much of a handler's message about its progress a task keeps.
    pub task_message_bytes: usize,
    /// How long a task is kept after it began, unless its tool says otherwise.
    pub task_ttl: Duration,
    /// How often a client should ask for a task.
    pub task_poll: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 4 * 1024 * 1024,
            depth: 128,
            id_bytes: 256,
            batch_messages: 64,
            requests_in_flight: 1024,
            call_depth: 16,
            calls_within: 16 * 1024,
            request_timeout: Duration::from_secs(60),
            output_bytes: 8 * 1024 * 1024,
            queued_notifications: 64,
            queued_bytes: 1024 * 1024,
            bodies_bytes: 256 * 1024 * 1024,
            connections: 4096,
            streams_per_connection: 256,
            header_bytes: 32 * 1024,
            read_bytes: 128 * 1024,
            spare_buffer_bytes: 256 * 1024,
            spare_bytes: 16 * 1024 * 1024,
            spare_idle: Duration::from_secs(5),
            compressed_from: 16 * 1024,
            compressed_lists_from: 1024,
            compressed_lists: 64,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            pings: 256,
            sessions: 10_000,
            session_idle: Duration::from_secs(30 * 60),
            shutdown_grace: Duration::from_secs(1),
            page_entries: 1000,
            uri_bytes: 8192,
            resource_bytes: 64 * 1024 * 1024,
            questions: 64,
            question_timeout: Duration::from_secs(10 * 60),
            state_bytes: 64 * 1024,
            state_ttl: Duration::from_secs(10 * 60),
            states_used: 65_536,
            watched: 1024,
            watched_bytes: 64 * 1024,
            subscriptions: 10_000,
            replay_events: 256,
            replay_bytes: 1024 * 1024,
            replays_bytes: 256 * 1024 * 1024,
            retry: Duration::from_secs(1),
            tasks: 10_000,
            tasks_running: 1024,
            task_bytes: 256 * 1024 * 1024,
            task_message_bytes: 1024,
            task_ttl: Duration::from_secs(60 * 60),
            task_poll: Duration::from_secs(1),
        }
    }
}
