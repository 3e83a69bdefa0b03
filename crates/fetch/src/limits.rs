//! What a server elsewhere may make us do, each bound with a name. The size of an answer is the
//! caller's choice.

use std::time::Duration;

/// How long a connection may take to be made: name, address, proxy and TLS together.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// How long one address of several is tried before the next one is tried beside it (RFC 8305).
pub(crate) const ATTEMPT_HEAD_START: Duration = Duration::from_millis(250);
/// The most addresses of one name that are tried.
pub(crate) const ADDRESSES_MAX: usize = 8;
/// How long a name is looked up here before a proxy that finds it by itself is asked.
pub(crate) const LOCAL_LOOKUP_TIME_MAX: Duration = Duration::from_secs(1);
/// How long a connection that nobody uses is kept.
pub(crate) const IDLE_TIME_MAX: Duration = Duration::from_secs(60);
/// The most connections to one server that nobody uses and that are kept.
pub(crate) const IDLE_CONNECTIONS_MAX: usize = 32;
/// The most connections that a pool makes before another one takes its place, so that no more are
/// kept for all servers together.
pub const POOL_CONNECTIONS_MAX: usize = 256;
/// The longest head of an answer, in bytes.
pub const HEAD_BYTES_MAX: usize = 128 * 1024;
/// The most redirects that a request may ask to follow.
pub const REDIRECTS_MAX: usize = 20;
/// The longest address, in bytes.
pub const URL_BYTES_MAX: usize = 16 * 1024;
/// How long an authorization server may take to grant a token.
pub const TOKEN_TIME_MAX: Duration = Duration::from_secs(20);
/// The longest answer of an authorization server, in bytes.
pub(crate) const TOKEN_BYTES_MAX: usize = 64 * 1024;
/// How long before its end a token is renewed, unless a tenth of its life is less.
pub(crate) const TOKEN_RENEWED_BEFORE: Duration = Duration::from_secs(60);
/// How long a token is used whose end is not told.
pub(crate) const TOKEN_LIFE_DEFAULT: Duration = Duration::from_secs(60 * 60);
/// The longest life of a token that is believed.
pub(crate) const TOKEN_LIFE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a token is kept after it was fetched although a server refuses it.
pub(crate) const TOKEN_KEPT_MIN: Duration = Duration::from_secs(5);
/// How long the refusal of a token is told again before it is asked for anew.
pub(crate) const TOKEN_REFUSAL_KEPT: Duration = Duration::from_secs(1);
/// The most content codings of a body, one upon the other.
pub const CODINGS_MAX: usize = 2;
/// How many bytes of a body are decoded at once: so much memory each coding of it takes.
pub(crate) const DECODED_AT_ONCE: usize = 16 * 1024;
/// The most that a zstd body may look back, as a power of two: 8 MiB, as all may use (RFC 9659).
pub(crate) const ZSTD_WINDOW_LOG_MAX: u32 = 23;
