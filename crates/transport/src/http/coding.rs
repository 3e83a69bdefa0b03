//! Content codings (RFC 9110, section 8.4): requests that come compressed are read within the bound
//! of a message, and answers are compressed for clients that take it, lists once for all.

use super::heads::Heads;
use crate::bounds::Share;
use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use haft_proto::limits::Limits;
use http::HeaderValue;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// How the body of a request is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Deflate,
    Gzip,
}

/// What is said of those that are read.
pub(super) const READ: HeaderValue = HeaderValue::from_static("gzip, deflate");
/// The one that answers have.
pub(super) const WRITTEN: HeaderValue = HeaderValue::from_static("gzip");

/// A coding that is not read, or several over each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown;

/// Why a compressed body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unpackable {
    /// It is not what its header says, or not all of it.
    Broken,
    /// Other bodies fill the memory that there is for them.
    NoRoom,
    /// It is a longer message than is read.
    TooLong,
}

/// How a body is compressed, if it is.
pub(super) fn coding_of(heads: &Heads<'_>) -> Result<Option<Coding>, Unknown> {
    let mut found = None;
    for value in heads.content_encodings() {
        let value = value.to_str().map_err(|_| Unknown)?;
        for name in value.split(',').map(str::trim) {
            let coding = match name.to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                _ => return Err(Unknown),
            };
            if found.replace(coding).is_some() {
                return Err(Unknown);
            }
        }
    }
    Ok(found)
}

/// The message that a body is of. What it grows to is counted like the body itself.
pub(super) fn unpacked(
    body: &[u8],
    coding: Coding,
    held: &mut Share,
    limits: &Limits,
) -> Result<Bytes, Unpackable> {
    match coding {
        Coding::Gzip => read(MultiGzDecoder::new(body), held, limits),
        // What HTTP means is zlib's format; some send the bare one (RFC 9110, section 8.4.1.2).
        Coding::Deflate if is_zlib(body) => read(ZlibDecoder::new(body), held, limits),
        Coding::Deflate => read(DeflateDecoder::new(body), held, limits),
    }
}

/// How much is unpacked before it is counted.
const STEP: usize = 16 * 1024;

fn read(mut from: impl Read, held: &mut Share, limits: &Limits) -> Result<Bytes, Unpackable> {
    let mut message = Vec::new();
    let mut step = [0; STEP];
    loop {
        let count = match from.read(&mut step) {
            Ok(0) => return Ok(message.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(Unpackable::Broken),
        };
        if message.len() + count > limits.message_bytes {
            return Err(Unpackable::TooLong);
        }
        if !held.take(count) {
            return Err(Unpackable::NoRoom);
        }
        message.extend_from_slice(&step[..count]);
    }
}

/// Whether it begins as zlib's format does (RFC 1950, section 2.2).
fn is_zlib(body: &[u8]) -> bool {
    let first = body.first_chunk().map_or(0, |first: &[u8; 2]| u16::from_be_bytes(*first));
    first >> 8 & 0x0f == 8 && first % 31 == 0 && first != 0
}

/// Whether a client takes gzip, and likes it as much as what is not compressed.
pub(super) fn takes_gzip(heads: &Heads<'_>) -> bool {
    let (mut gzip, mut any, mut plain) = (None, None, None);
    for value in heads.accept_encodings() {
        for item in value.to_str().unwrap_or_default().split(',') {
            let mut parts = item.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let quality = parts.find_map(|part| {
                part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="))?.parse::<f32>().ok()
            });
            let is = |known: &str| known.eq_ignore_ascii_case(name);
            let slot = match name {
                "*" => &mut any,
                _ if is("gzip") || is("x-gzip") => &mut gzip,
                _ if is("identity") => &mut plain,
                _ => continue,
            };
            *slot = Some(quality.unwrap_or(1.0));
        }
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    gzip > 0.0 && gzip >= plain.unwrap_or(0.0)
}

/// The longest answer that is compressed where it is made, in bytes; of a longer one another thread
/// does it, as others wait for this one.
pub(super) const PACKED_HERE_MAX: usize = 256 * 1024;

/// A whole answer, compressed; `None` if that would not make it shorter.
pub(super) fn packed(answer: &[u8]) -> Option<Bytes> {
    let mut out = GzEncoder::new(Vec::with_capacity(answer.len() / 4), Compression::fast());
    out.write_all(answer).ok()?;
    let packed = out.finish().ok()?;
    (packed.len() < answer.len()).then(|| packed.into())
}

/// The lists that have been compressed, each for as long as somebody serves it.
pub(super) struct PackedLists {
    known: Mutex<Vec<Known>>,
    most: usize,
}

struct Known {
    list: Weak<str>,
    packed: Arc<OnceLock<Option<PackedList>>>,
}

/// A list without the beginning of its answer, which is another for each request.
struct PackedList {
    /// To the end of a stream of deflate.
    bytes: Vec<u8>,
    check: Crc,
}

impl PackedLists {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { known: Mutex::default(), most: limits.compressed_lists }
    }

    /// An answer that begins with `start` and goes on with a list, which is compressed when it is
    /// first asked for. `None` if it cannot be.
    pub(super) fn answer(&self, start: &[u8], list: &Arc<str>) -> Option<Bytes> {
        let packed = self.find(list);
        let list = packed.get_or_init(|| PackedList::new(list)).as_ref()?;
        list.after(start)
    }

    /// Forgets those that nobody serves any more.
    pub(super) fn sweep(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.list.strong_count() > 0);
        known.shrink_to_fit();
    }

    fn find(&self, list: &Arc<str>) -> Arc<OnceLock<Option<PackedList>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_this = |known: &&Known| std::ptr::addr_eq(known.list.as_ptr(), Arc::as_ptr(list));
        if let Some(found) = known.iter().find(is_this) {
            return Arc::clone(&found.packed);
        }
        known.retain(|known| known.list.strong_count() > 0);
        if known.len() >= self.most {
            known.remove(0);
        }
        let packed = Arc::default();
        known.push(Known { list: Arc::downgrade(list), packed: Arc::clone(&packed) });
        packed
    }
}

impl PackedList {
    fn new(list: &str) -> Option<Self> {
        let mut out = DeflateEncoder::new(Vec::new(), Compression::default());
        out.write_all(list.as_bytes()).ok()?;
        let mut check = Crc::new();
        check.update(list.as_bytes());
        Some(Self { bytes: out.finish().ok()?, check })
    }

    /// One member of gzip (RFC 1952): what comes before the list is in a block that is stored as it
    /// is (RFC 1951, section 3.2.4), after which the list's own blocks follow at a whole byte. Two
    /// members would do by the standard, and some clients read the first alone.
    fn after(&self, start: &[u8]) -> Option<Bytes> {
        const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
        let length = u16::try_from(start.len()).ok()?;
        let mut check = Crc::new();
        check.update(start);
        check.combine(&self.check);
        let mut out = Vec::with_capacity(HEAD.len() + 5 + start.len() + self.bytes.len() + 8);
        out.extend_from_slice(&HEAD);
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(start);
        out.extend_from_slice(&self.bytes);
        out.extend_from_slice(&check.sum().to_le_bytes());
        out.extend_from_slice(&check.amount().to_le_bytes());
        Some(out.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bound;
    use http::{HeaderMap, header};

    fn heads(name: header::HeaderName, values: &[&str]) -> HeaderMap {
        let mut all = HeaderMap::new();
        for value in values {
            all.append(&name, value.parse().expect("a header"));
        }
        all
    }

    #[test]
    fn gzip_is_taken_by_who_says_so_and_likes_it() {
        for (values, expected) in [
            (&["gzip"][..], true),
            (&["gzip, deflate, br, zstd"], true),
            (&["GZip;q=0.1"], true),
            (&["br", "x-gzip"], true),
            (&["*"], true),
            (&["identity, gzip"], true),
            (&[], false),
            (&[""], false),
            (&["br, zstd"], false),
            (&["gzip;q=0"], false),
            (&["gzip; q=0.0, *"], false),
            (&["*;q=0"], false),
            (&["identity;q=1, gzip;q=0.5"], false),
            (&["gzipped"], false),
        ] {
            let all = heads(header::ACCEPT_ENCODING, values);
            assert_eq!(takes_gzip(&Heads::of(&all)), expected, "{values:?}");
        }
    }

    #[test]
    fn one_coding_is_read_and_others_are_not() {
        for (values, expected) in [
            (&[][..], Ok(None)),
            (&["identity"], Ok(None)),
            (&["gzip"], Ok(Some(Coding::Gzip))),
            (&["X-GZIP, identity"], Ok(Some(Coding::Gzip))),
            (&["deflate"], Ok(Some(Coding::Deflate))),
            (&["br"], Err(Unknown)),
            (&["zstd"], Err(Unknown)),
            (&["gzip, gzip"], Err(Unknown)),
            (&["gzip", "deflate"], Err(Unknown)),
            (&["\u{e9}"], Err(Unknown)),
        ] {
            let all = heads(header::CONTENT_ENCODING, values);
            assert_eq!(coding_of(&Heads::of(&all)), expected, "{values:?}");
        }
    }

    #[test]
    fn what_is_unpacked_is_bounded_and_counted() {
        let limits = Limits { message_bytes: 100_000, ..Limits::default() };
        let unpack = |length: usize, room: usize, cut: usize| {
            let bound = Bound::new(room);
            let packed = packed(&vec![b' '; length]).expect("it is shorter");
            let body = &packed[..packed.len() - cut];
            let mut held = bound.share();
            unpacked(body, Coding::Gzip, &mut held, &limits).map(|message| message.len())
        };
        assert_eq!(unpack(100_000, 100_000, 0), Ok(100_000));
        assert_eq!(unpack(100_001, 200_000, 0), Err(Unpackable::TooLong));
        assert_eq!(unpack(100_000, 99_999, 0), Err(Unpackable::NoRoom));
        assert_eq!(unpack(1000, 100_000, 1), Err(Unpackable::Broken));
        let bound = Bound::new(1000);
        for bare in [false, true] {
            let body = match bare {
                true => {
                    let mut out = DeflateEncoder::new(Vec::new(), Compression::default());
                    out.write_all(b"{}").and_then(|()| out.finish()).expect("memory takes it")
                }
                false => {
                    let level = Compression::default();
                    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), level);
                    out.write_all(b"{}").and_then(|()| out.finish()).expect("memory takes it")
                }
            };
            let message = unpacked(&body, Coding::Deflate, &mut bound.share(), &limits);
            assert_eq!(message.as_deref(), Ok(&b"{}"[..]), "bare: {bare}");
        }
    }

    #[test]
    fn a_list_is_compressed_once_and_is_one_member_after_any_start() {
        let lists = PackedLists::new(&Limits { compressed_lists: 2, ..Limits::default() });
        let list: Arc<str> = "a list of tools, ".repeat(1000).into();
        for start in ["", "{\"id\":1,\"result\":", "{\"id\":\"another\",\"result\":"] {
            let answer = lists.answer(start.as_bytes(), &list).expect("it is packed");
            assert!(answer.len() < 1000);
            // The decoder of one member, which stops behind it.
            let mut one = flate2::bufread::GzDecoder::new(&*answer);
            let mut text = String::new();
            one.read_to_string(&mut text).expect("it is gzip");
            assert_eq!(text, format!("{start}{list}"));
            assert!(one.into_inner().is_empty());
        }
        let first = lists.find(&list);
        assert!(first.get().is_some() && Arc::ptr_eq(&first, &lists.find(&list)));
        // The oldest makes room, and one that is gone does before it.
        let others: Vec<Arc<str>> = ["b", "c"].map(Arc::from).to_vec();
        others.iter().for_each(|other| drop(lists.find(other)));
        assert!(!Arc::ptr_eq(&first, &lists.find(&list)));
        drop(others);
        let kept = lists.find(&list);
        lists.find(&Arc::from("d"));
        assert!(Arc::ptr_eq(&kept, &lists.find(&list)));
        lists.sweep();
        assert_eq!(lists.known.lock().expect("free").len(), 1);
        assert!(lists.answer(&[b' '; 70_000], &list).is_none(), "no such start is written");
    }
}
