//! What a server may make this client do, beside the sizes in `haft_proto::limits`. Every file of
//! this crate that counts something counts up to a number that stands here.

use std::time::Duration;

/// How many servers' eras are remembered.
pub(crate) const ERAS_MAX: usize = 1024;
/// How long it is believed that a server speaks the legacy era: it may have learned more.
pub(crate) const ERA_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// How many arguments of a tool may be repeated in headers: HTTP servers take a hundred or so.
pub(crate) const PARAM_HEADERS_MAX: usize = 64;
/// How often one request is asked again because the server needs more for it (2026-07-28, "Multi
/// Round-Trip Requests").
pub(crate) const ROUNDS_MAX: usize = 16;
/// How many questions a server may ask because of one request. On a connection of the legacy era,
/// where a question does not name its request, each request allows as many.
pub(crate) const QUESTIONS_PER_REQUEST_MAX: usize = 64;
/// How many questions may be saved up on one connection of the legacy era.
pub(crate) const QUESTIONS_SAVED_MAX: usize = 1024;
/// How many questions of one legacy server are open at once; further ones are refused.
pub(crate) const QUESTIONS_OPEN_MAX: usize = 16;
/// The longest `requestState`, as JSON text, that is sent back.
pub(crate) const STATE_BYTES_MAX: usize = 1024 * 1024;
/// The most fields of a form.
pub(crate) const FIELDS_MAX: usize = 256;
/// The most choices of a field of a form.
pub(crate) const CHOICES_MAX: usize = 4096;
/// The longest address that a person is asked to visit.
pub(crate) const URL_BYTES_MAX: usize = 8 * 1024;
/// How many visits are remembered that are over.
pub(crate) const VISITS_KEPT_MAX: usize = 64;
/// The longest name of a visit.
pub(crate) const VISIT_ID_BYTES_MAX: usize = 1024;
/// How long a visit is waited for of which nobody says that it is over.
pub(crate) const VISIT_TIME_MAX: Duration = Duration::from_secs(30 * 60);
/// The pause before a request is asked again for which the server wanted to know nothing: it
/// doubles each time, up to `IDLE_ROUND_MAX`.
pub(crate) const IDLE_ROUND: Duration = Duration::from_millis(100);
/// The longest such pause.
pub(crate) const IDLE_ROUND_MAX: Duration = Duration::from_secs(5);
/// How long a server may take to take note of something that needs no answer.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);
/// How often in a row a broken stream of events is asked for in vain.
pub(crate) const RETURNS_MAX: u32 = 8;
/// The pause before a broken stream is asked for again, if the server does not say.
pub(crate) const RETRY_DEFAULT: Duration = Duration::from_secs(1);
/// The shortest such pause, whatever the server says.
pub(crate) const RETRY_MIN: Duration = Duration::from_millis(100);
/// How long a connection waits for the stream on which a legacy server may ask.
pub(crate) const STANDING_TIME_MAX: Duration = Duration::from_secs(1);
/// How long a server of 2024-11-05 may take to say where messages go, and to begin its stream.
pub(crate) const ENDPOINT_TIME_MAX: Duration = Duration::from_secs(10);
/// The longest address that it may say.
pub(crate) const ENDPOINT_BYTES_MAX: usize = 8 * 1024;
/// A stream that was open for so long was not asked for in vain, even if nothing came.
pub(crate) const LIVED: Duration = Duration::from_secs(5);
/// How many changes wait for one listener.
pub(crate) const CHANGES_WAITING_MAX: usize = 1024;
/// The longest address in a change.
pub(crate) const CHANGE_URI_BYTES_MAX: usize = 8 * 1024;
/// How often a task is looked at, if the server does not say.
pub(crate) const TASK_POLL_DEFAULT: Duration = Duration::from_secs(1);
/// A task is not looked at more often, whatever the server wishes.
pub(crate) const TASK_POLL_MIN: Duration = Duration::from_millis(50);
/// A task is looked at at least every minute, whatever the server wishes.
pub(crate) const TASK_POLL_MAX: Duration = Duration::from_secs(60);
/// How long a task is waited for.
pub(crate) const TASK_TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How many farewells of one connection are said at once; further ones are not said. Over one
/// connection as many requests may end at once as a gateway has in flight.
pub(crate) const FAREWELLS_MAX: usize = 1024;
/// How many times as long as a message may be is an answer that is thrown away; one that is longer
/// ends the connection.
pub(crate) const LONG_LINE_FACTOR: usize = 16;
/// How many messages that nobody asked for are read of one connection or stream at once; more wait
/// until `UNASKED_TIME` is over.
pub(crate) const UNASKED_MAX: usize = 2000;
/// See above.
pub(crate) const UNASKED_TIME: Duration = Duration::from_millis(100);
/// The most pages of one list.
pub(crate) const PAGES_MAX: usize = 1000;
/// The most bytes on the pages of one list.
pub(crate) const LIST_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The longest `WWW-Authenticate` that is read.
pub(crate) const CHALLENGE_BYTES_MAX: usize = 8 * 1024;
/// The most scopes that are asked for.
pub(crate) const SCOPES_MAX: usize = 128;
/// The most bytes of all scopes together.
pub(crate) const SCOPES_BYTES_MAX: usize = 4 * 1024;
/// The longest answer of an authorization server, metadata and tokens alike.
pub(crate) const AUTH_BYTES_MAX: usize = 256 * 1024;
/// How long one request to an authorization server may take.
pub(crate) const AUTH_REQUEST_TIME_MAX: Duration = Duration::from_secs(30);
/// How long a person may take to authorize this client.
pub(crate) const AUTHORIZATION_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// How often in a row a server is given another token because it refuses one.
pub(crate) const AUTHORIZATIONS_MAX: u32 = 3;
/// The most authorization servers of one resource that are looked at.
pub(crate) const ISSUERS_MAX: usize = 16;
/// The longest redirect that a person brings back.
pub(crate) const REDIRECT_BYTES_MAX: usize = 16 * 1024;
/// The longest access token, refresh token, client id or secret.
pub(crate) const TOKEN_BYTES_MAX: usize = 32 * 1024;
/// How long before its end a token is refreshed, unless a tenth of its life is less.
pub(crate) const TOKEN_REFRESHED_BEFORE: Duration = Duration::from_secs(60);
/// The longest life of a token that is believed.
pub(crate) const TOKEN_LIFE_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// The largest file of credentials.
pub(crate) const CREDENTIALS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long another process may hold that file.
pub(crate) const CREDENTIALS_TIME_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether the other process is done.
pub(crate) const CREDENTIALS_PAUSE: Duration = Duration::from_millis(50);
/// The longest head of an answer over HTTP/1.1 that is waited for.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The most headers of such an answer.
pub(crate) const HEADERS_MAX: usize = 100;
/// How many connections of one lane may be idle.
pub(crate) const LANE_IDLE_MAX: usize = 32;
/// How long one may be idle, unless its server says that it keeps it for less.
pub(crate) const LANE_IDLE: Duration = Duration::from_secs(60);
/// How old one may be that is used again.
pub(crate) const LANE_LIFE: Duration = Duration::from_secs(300);
/// How often it is looked which connections are too old.
pub(crate) const LANE_SWEEP: Duration = Duration::from_secs(5);
/// The room that is made for each read.
pub(crate) const LANE_READ_BYTES: usize = 8 * 1024;
/// The most room that is made for one read of a long body.
pub(crate) const LANE_READ_BYTES_MAX: usize = 256 * 1024;
/// From how many bytes on an answer over a lane is passed on in pieces.
pub(crate) const LONG_BYTES: u64 = 128 * 1024;
/// How long what follows an answer is read, so that the connection can be used again.
pub(crate) const LEAVING_TIME_MAX: Duration = Duration::from_secs(1);
/// How much of it.
pub(crate) const LEAVING_BYTES_MAX: usize = 64 * 1024;
/// How long a server may be silent within an answer that is passed on in pieces.
pub(crate) const LANE_SILENCE_MAX: Duration = Duration::from_secs(60);
/// How many bytes may stand behind the result of such an answer.
pub(crate) const TAIL_BYTES_MAX: usize = 64 * 1024;
/// The largest buffer that an idle connection keeps.
pub(crate) const LANE_BUFFER_MAX: usize = 64 * 1024;
/// How long a connection is silent before it is asked whether it is still there.
pub(crate) const TCP_KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How long what was sent may be unconfirmed.
pub(crate) const TCP_SILENCE_MAX: Duration = Duration::from_secs(60);
/// As how many messages of the longest kind a piece of a compressed stream may turn out.
pub(crate) const DECODED_MESSAGES_MAX: usize = 16;
/// How long a server is waited for that may have forgotten a session, and is asked.
pub(crate) const SESSION_TRIED_MAX: Duration = Duration::from_secs(5);
