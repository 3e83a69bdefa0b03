//! Content codings of bodies (RFC 9110, 8.4): which ones a peer may use, and what a body in them
//! holds, decoded as it comes and within a bound. It does no I/O: [`crate::Answer`] and whoever
//! reads bodies of connections of their own feed it.

use crate::limits::{CODINGS_MAX, DECODED_AT_ONCE, ZSTD_WINDOW_LOG_MAX};
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::zstd::params::DParameter;
use compression_codecs::{
    BrotliDecoder, DecodeV2, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderValue};
use std::fmt;
use thiserror::Error;

/// What to say in `Accept-Encoding` to get no other coding than those that are read here.
pub const ACCEPTED_CODINGS: HeaderValue = HeaderValue::from_static("gzip, br, zstd, deflate");

/// A way to make a body shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// The codings of a body, in the order in which they were applied.
///
/// ```
/// use haft_fetch::Codings;
/// let mut codings = Codings::default();
/// codings.add(b"identity")?;
/// assert!(codings.is_identity());
/// codings.add(b"GZIP")?;
/// assert!(!codings.is_identity());
/// assert!(codings.add(b"compress").is_err());
/// # Ok::<(), haft_fetch::CodingError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codings([Option<Coding>; CODINGS_MAX]);

/// Why a body cannot be decoded.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences above them")]
pub enum CodingError {
    /// Nothing here reads it.
    #[error("the body is in the coding `{name}`; gzip, br, zstd and deflate are read")]
    Unknown { name: String },
    /// One upon the other.
    #[error("the body is in more than {CODINGS_MAX} codings, one upon the other")]
    TooMany,
    /// It is not what its coding makes.
    #[error("the body is no {coding}: {reason}")]
    Broken { coding: &'static str, reason: String },
    /// Its end is missing.
    #[error("the body ends in the middle of its {coding}")]
    CutShort { coding: &'static str },
    /// It is longer than it may be.
    #[error("the body is longer than {limit} bytes when it is decoded")]
    TooLarge { limit: usize },
}

impl Coding {
    fn named(name: &[u8]) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match () {
            () if is("gzip") || is("x-gzip") => Some(Self::Gzip),
            () if is("deflate") => Some(Self::Deflate),
            () if is("br") => Some(Self::Brotli),
            () if is("zstd") => Some(Self::Zstd),
            () => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// A decoder for a body that begins with this byte. What is called deflate is zlib (RFC 9110,
    /// 8.4.1.2), or raw deflate from servers that take the name at its word.
    fn decoder(self, first: u8) -> Box<dyn DecodeV2 + Send + Sync> {
        match self {
            Self::Gzip => Box::new(GzipDecoder::new()),
            Self::Deflate if first & 0x0f == 8 => Box::new(ZlibDecoder::new()),
            Self::Deflate => Box::new(DeflateDecoder::new()),
            Self::Brotli => Box::new(BrotliDecoder::new()),
            Self::Zstd => {
                let window = DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX);
                Box::new(ZstdDecoder::new_with_params(&[window]))
            }
        }
    }
}

impl Codings {
    /// Those that the headers of a message name.
    ///
    /// # Errors
    /// [`CodingError::Unknown`], [`CodingError::TooMany`].
    pub fn of(headers: &HeaderMap) -> Result<Self, CodingError> {
        let mut all = Self::default();
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        values.try_for_each(|value| all.add(value.as_bytes()))?;
        Ok(all)
    }

    /// Adds those that one `Content-Encoding` header names.
    ///
    /// # Errors
    /// The same.
    pub fn add(&mut self, header: &[u8]) -> Result<(), CodingError> {
        let names = header.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        for name in names {
            if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
                continue;
            }
            let coding = Coding::named(name).ok_or_else(|| {
                let name = String::from_utf8_lossy(&name[..name.len().min(40)]);
                CodingError::Unknown { name: name.escape_debug().to_string() }
            })?;
            let free = self.0.iter_mut().find(|one| one.is_none());
            *free.ok_or(CodingError::TooMany)? = Some(coding);
        }
        Ok(())
    }

    /// Whether the body is as it is.
    #[must_use]
    pub fn is_identity(self) -> bool {
        self.0 == [None; CODINGS_MAX]
    }

    /// What reads such a body; one for each.
    #[must_use]
    pub fn decoder(self) -> Decoder {
        let last_first = self.0.into_iter().rev().flatten();
        let stage = |coding| Stage { coding, started: None, is_over: false, is_full: false };
        Decoder(last_first.map(stage).collect())
    }
}

/// Reads a body that comes in pieces.
///
/// ```
/// use haft_fetch::{CodingError, Codings};
/// let mut codings = Codings::default();
/// codings.add(b"gzip")?;
/// let (mut decoder, mut text) = (codings.decoder(), Vec::new());
/// let piece = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0";
/// decoder.decode(piece, &mut text, 100)?;
/// decoder.finish()?;
/// assert_eq!(text, b"hello");
/// let again = codings.decoder().decode(piece, &mut Vec::new(), 4);
/// assert_eq!(again, Err(CodingError::TooLarge { limit: 4 }));
/// # Ok::<(), CodingError>(())
/// ```
#[derive(Debug)]
pub struct Decoder(Vec<Stage>);

/// One coding of a body.
struct Stage {
    coding: Coding,
    /// From the first byte on.
    started: Option<Started>,
    /// What follows is another member, where there can be one.
    is_over: bool,
    /// The codec may hold more than the buffer had room for.
    is_full: bool,
}

struct Started {
    codec: Box<dyn DecodeV2 + Send + Sync>,
    buffer: Box<[u8]>,
}

impl fmt::Debug for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.coding.name())
    }
}

impl Decoder {
    /// Appends to `into` what the next piece holds, as far as that is known before the piece after
    /// it; `into` never has more than `limit` bytes.
    ///
    /// # Errors
    /// [`CodingError::TooLarge`], [`CodingError::Broken`]; the rest of the body cannot be read
    /// then.
    pub fn decode(
        &mut self,
        piece: &[u8],
        into: &mut Vec<u8>,
        limit: usize,
    ) -> Result<(), CodingError> {
        run(&mut self.0, piece, into, limit)
    }

    /// There is no more of the body. One without a byte is empty in each coding.
    ///
    /// # Errors
    /// [`CodingError::CutShort`].
    pub fn finish(mut self) -> Result<(), CodingError> {
        let cut = self.0.iter_mut().find_map(|stage| (!stage.is_whole()).then_some(&*stage));
        cut.map_or(Ok(()), |stage| Err(CodingError::CutShort { coding: stage.coding.name() }))
    }
}

/// Through these stages and into the text.
fn run(
    stages: &mut [Stage],
    piece: &[u8],
    into: &mut Vec<u8>,
    limit: usize,
) -> Result<(), CodingError> {
    let Some((stage, rest)) = stages.split_first_mut() else {
        let room = limit.saturating_sub(into.len());
        into.extend_from_slice(&piece[..room.min(piece.len())]);
        return if piece.len() > room { Err(CodingError::TooLarge { limit }) } else { Ok(()) };
    };
    let mut unread = PartialBuffer::new(piece);
    while let Some(written) = stage.next(&mut unread)? {
        let Some(started) = &stage.started else { break };
        run(rest, &started.buffer[..written], into, limit)?;
    }
    Ok(())
}

impl Stage {
    /// Decodes more of a piece into the buffer; nothing once all that it holds was there.
    fn next(&mut self, unread: &mut PartialBuffer<&[u8]>) -> Result<Option<usize>, CodingError> {
        let first = unread.unwritten().first().copied();
        let (coding, name) = (self.coding, self.coding.name());
        let started = match (&mut self.started, first) {
            (Some(started), _) => started,
            (None, None) => return Ok(None),
            (none, Some(first)) => none.insert(Started {
                codec: coding.decoder(first),
                buffer: vec![0; DECODED_AT_ONCE].into_boxed_slice(),
            }),
        };
        let broken =
            |error: std::io::Error| CodingError::Broken { coding: name, reason: error.to_string() };
        let mut buffer = WriteBuffer::new_initialized(&mut started.buffer);
        match (first, coding) {
            (Some(_), Coding::Gzip | Coding::Zstd) if self.is_over => {
                started.codec.reinit().map_err(broken)?;
                self.is_over = started.codec.decode(unread, &mut buffer).map_err(broken)?;
            }
            // Behind the end of the others there is nothing to read.
            _ if self.is_over && !self.is_full => return Ok(None),
            (Some(_), _) if !self.is_over => {
                self.is_over = started.codec.decode(unread, &mut buffer).map_err(broken)?;
            }
            _ if self.is_full => _ = started.codec.flush(&mut buffer).map_err(broken)?,
            _ => return Ok(None),
        }
        self.is_full = buffer.has_no_spare_space();
        Ok(Some(buffer.written_len()))
    }

    /// Whether all that there can be was there.
    fn is_whole(&mut self) -> bool {
        let Some(Started { codec, buffer }) = &mut self.started else { return true };
        let mut buffer = WriteBuffer::new_initialized(buffer);
        self.is_over || codec.finish(&mut buffer).unwrap_or(false) && buffer.written_len() == 0
    }
}
