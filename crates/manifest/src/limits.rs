//! Every bound of a manifest and of the programs that its tools run, each with a name. Read by the
//! other files of this crate; what peers may push against on a wire is in `haft_proto::limits`.

use std::time::Duration;

/// The longest manifest, in bytes.
pub const FILE_BYTES_MAX: u64 = 10_000_000;
/// The longest file that `${file:PATH}` puts in.
pub const FILLED_BYTES_MAX: u64 = 1024 * 1024;
/// The deepest nesting of lists and mappings in a manifest.
pub const DEPTH_MAX: usize = 64;
/// The stack that a manifest of that depth is read on, in a build without optimisation too.
pub const READING_STACK_BYTES: usize = 8 * 1024 * 1024;
/// The longest text that one template makes.
pub const RENDERED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The longest query or form that the arguments of one call make, in bytes.
pub const PAIRS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The longest body of several parts that the arguments of one call make, in bytes.
pub const MULTIPART_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most instructions that one template runs.
pub const RENDER_FUEL: u64 = 1_000_000;
/// The most of a program's output that is kept, unless its tool has `output: { limit }`.
pub const OUTPUT_BYTES: usize = 1024 * 1024;
/// The most that a tool may ask to keep.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The deepest nesting of JSON that a program may print.
pub const OUTPUT_DEPTH_MAX: usize = 128;
/// How much of its last words on stderr a failing program is quoted with.
pub const LAST_WORDS_BYTES: usize = 2 * 1024;
/// How much of the answer of a failing server is searched for a message.
pub const FAILURE_BYTES_MAX: usize = 64 * 1024;
/// The most calls of a tool with a `concurrency` that wait for their turn.
pub const WAITING_MAX: usize = 64;
/// The most programs of one tool at once, where it has no `concurrency`.
pub const RUNNING_DEFAULT: usize = 64;
/// The most calls that wait then: as many as a wire has in flight.
pub const WAITING_DEFAULT: usize = 1024;
/// The most that a tool's `concurrency` may be.
pub const RUNNING_MAX: usize = 1024;
/// The most steps of one pipeline.
pub const STEPS_MAX: usize = 256;
/// How deep steps may nest in steps.
pub const STEP_DEPTH_MAX: usize = 8;
/// The most steps that a `parallel` does at once.
pub const BRANCHES_MAX: usize = 16;
/// The most items of an `each`, where it has no `max`.
pub const EACH_DEFAULT: usize = 100;
/// The most that a `max` may be.
pub const EACH_MAX: usize = 10_000;
/// The most items of an `each` that are worked on at once.
pub const EACH_RUNNING_MAX: usize = 64;
/// The most bytes of results that one call of a pipeline keeps, all together.
pub const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most bytes of the arguments of one call that a step makes.
pub const PASSED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The deepest nesting of what a pipeline answers: with the message around it, still as deep as
/// clients read.
pub const RESULT_DEPTH_MAX: usize = 120;
/// How much of why a step failed is passed on.
pub const REASON_BYTES: usize = 4 * 1024;
/// The most that the `max_size` of a `state` may be, in bytes.
pub const STATE_BYTES_MAX: usize = 1 << 40;
/// The longest pause of a `retry`, and the longest time for one attempt.
pub const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);
/// The most answers that a `cache` keeps.
pub const CACHE_ENTRIES_MAX: usize = 1_000_000;
/// The most bytes that it keeps.
pub const CACHE_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// The most that a `max_size` may be, in bytes.
pub const MAX_SIZE_MAX: usize = 64 * 1024 * 1024;
/// The longest `timeout` of a tool.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long processes that a program left behind may keep its output open before they are killed,
/// and how long those that are out of reach may keep it open after that.
pub const LEFT_BEHIND_GRACE: Duration = Duration::from_millis(250);
/// How long a call, or the server's end, waits for processes that it killed after they had left the
/// group of their call. They end by themselves, unless the system is busy with them.
pub const ORPHANS_GRACE: Duration = Duration::from_secs(1);
/// How much of the list of such processes is read at once, in bytes; the others are looked at when
/// some of these are gone.
pub const ORPHANS_BYTES_MAX: usize = 64 * 1024;
/// How much of the environment of such a process is searched for the mark of its call, in bytes.
pub const ENVIRON_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The most children of which the process is told that ends them if this one is killed.
pub const GUARDED_MAX: usize = 64 * 1024;
/// How much of what it is told may wait until it reads, in bytes.
pub const UNTOLD_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long they may take to end then, before they are killed.
pub const GUARDIAN_GRACE: Duration = Duration::from_secs(2);
/// How long that process tries it.
pub const GUARDIAN_TIME_MAX: Duration = Duration::from_secs(10);
/// The pause between two looks of it.
pub const GUARDIAN_PAUSE: Duration = Duration::from_millis(20);
/// The longest name of an agent, in bytes.
pub const AGENT_NAME_MAX: usize = 64;
/// The longest name of an upstream that speaks MCP, in bytes: with a `_` behind it, it is a prefix.
pub const UPSTREAM_NAME_MAX: usize = 31;
/// The most processes that share the calls of one upstream.
pub const INSTANCES_MAX: usize = 64;
/// The largest `limit` of an upstream that speaks MCP: how many bytes a message of it may have.
/// Without the key it is `message_bytes`.
pub const ANSWER_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// The largest `list_limit` of an upstream: how many bytes one of its lists may have.
pub const LIST_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// How many tools of one upstream are served at most without `tools_max`.
pub const TOOLS: usize = 4096;
/// And with it.
pub const TOOLS_MAX: usize = 100_000;
/// How many sessions of one upstream have a process of their own at most without `sessions_max`.
pub const SESSIONS: usize = 64;
/// And with it.
pub const SESSIONS_MAX: usize = 1024;
/// How long a session may ask nothing of such a process before that is ended, without
/// `sessions_idle`.
pub const SESSIONS_IDLE: Duration = Duration::from_secs(10 * 60);
/// And with it, at most.
pub const SESSIONS_IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How many processes of upstreams there are together at most without `processes`.
pub const PROCESSES: usize = 512;
/// And with it.
pub const PROCESSES_MAX: usize = 4096;
/// The longest prefix of the names of an upstream's tools, in bytes: half of a name of 64, which is
/// as long as all clients take.
pub const PREFIX_BYTES_MAX: usize = 32;
/// However long this server's name is that clients put before names, names of tools of upstreams
/// are not made shorter than so many bytes.
pub const TOLD_NAME_BYTES_MIN: usize = 40;
/// The longest name that a file gives a tool of an upstream, in bytes: as long as all clients take.
pub const UPSTREAM_TOOL_NAME_MAX: usize = 64;
/// The most bytes of a file that is a resource or a picture, and of what a program or a server says
/// for a resource, a message or a suggestion, unless it has a `limit`.
pub const RESOURCE_BYTES: usize = 2 * 1024 * 1024;
/// The most that such a `limit` may be.
pub const RESOURCE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most files that are read at once for all resources and prompts; other readings wait.
pub const READINGS_MAX: usize = 16;
/// The most programs and requests that run at once for all resources and prompts, and as many for
/// all suggestions; others wait.
pub const FEEDS_RUNNING_MAX: usize = 64;
/// The most that wait then, for each of the two; who comes later is told to come back.
pub const FEEDS_WAITING_MAX: usize = 256;
/// The longest `timeout` of what a resource, a message or a suggestion comes from: as long as any
/// request that is no call of a tool.
pub const FEED_TIMEOUT_MAX: Duration = Duration::from_secs(60);
/// How long a suggestion may take, unless its `timeout` says otherwise.
pub const SUGGESTING: Duration = Duration::from_secs(5);
/// The longest path below the directory of a resource, in bytes.
pub const PATH_BYTES_MAX: usize = 2048;
/// The most names of such a path.
pub const PATH_NAMES_MAX: usize = 32;
/// The most entries of directories that one suggestion or one list looks at.
pub const ENTRIES_MAX: usize = 10_000;
/// The most files of a directory that are listed one by one.
pub const LISTED_MAX: usize = 1000;
/// The most files of a directory of prompts, those that are none and those below counted.
pub const PAGES_MAX: usize = 1000;
/// The most bytes of all prompts of a directory.
pub const PAGES_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most failures in a row that a `breaker` may wait for.
pub const FAILURES_MAX: usize = 1000;
/// The longest `ttl` of a `caching`.
pub const TTL_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The shortest `watch` of a resource.
pub const WATCH_MIN: Duration = Duration::from_secs(1);
/// The longest `watch` of a resource.
pub const WATCH_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The most resources with a `watch` that are read again and again. Of others nobody is told that
/// they change.
pub const POLLED_MAX: usize = 256;
/// The most of them that are read at once, so that clients that read have room beside them.
pub const POLLS_RUNNING_MAX: usize = 8;
/// The most resources that are looked at for those who are subscribed to them. Of others nobody is
/// told that they change.
pub const WATCHED_MAX: usize = 4096;
/// The shortest value of `${env:}` and `${file:}` that is taken out of what is told: shorter ones
/// are words of any text.
pub const SECRET_BYTES_MIN: usize = 6;
/// The longest one: what is longer is no key but a text.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;
