//! Content codings (RFC 9110, 8.4): what a peer compressed is decoded piece by piece, each piece
//! when it is wanted, within a limit. Used by whoever reads bodies; it never waits, and never
//! sends.

use crate::limits::{CODINGS_MAX, DECODED_PIECE_BYTES, ZSTD_WINDOW_LOG_MAX};
use bytes::Bytes;
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::zstd::params::DParameter;
use compression_codecs::{
    BrotliDecoder, DecodeV2, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::fmt;
use thiserror::Error;

/// What a request says that it takes: `Accept-Encoding`.
pub const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Why a compressed body cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Coded {
    /// Nobody asked for that coding.
    #[error("it is encoded as `{0}`, which is not one of {ACCEPTED}")]
    Unknown(String),
    /// More codings than anybody needs.
    #[error("it is encoded more than {CODINGS_MAX} times over")]
    TooDeep,
    /// It is something else.
    #[error("it is not {0}, as its Content-Encoding says")]
    Broken(&'static str),
    /// The end is missing.
    #[error("its {0} ends in the middle")]
    Cut(&'static str),
    /// More comes out of it than may.
    #[error("it decodes to more than {0} bytes")]
    TooLarge(usize),
}

/// Decodes a body, or an endless stream.
pub struct Decoder {
    /// The first is decoded first; it was applied last.
    layers: Vec<Layer>,
    source: Bytes,
    limit: usize,
    is_stream: bool,
    scratch: Box<[u8]>,
}

impl Decoder {
    /// What decodes a body with these headers; `None` if it is not encoded. No layer of it may
    /// become more than `limit` bytes.
    ///
    /// # Errors
    /// [`Coded::Unknown`], [`Coded::TooDeep`].
    pub fn of(headers: &HeaderMap, limit: usize) -> Result<Option<Self>, Coded> {
        let mut layers = Vec::new();
        for value in headers.get_all(CONTENT_ENCODING) {
            for name in value.as_bytes().split(|byte| *byte == b',') {
                let name = String::from_utf8_lossy(name.trim_ascii());
                if name.is_empty() || name.eq_ignore_ascii_case("identity") {
                    continue;
                }
                if layers.len() == CODINGS_MAX {
                    return Err(Coded::TooDeep);
                }
                let short = || name.chars().filter(|one| !one.is_control()).take(32).collect();
                let coding = Coding::named(&name).ok_or_else(|| Coded::Unknown(short()))?;
                layers.push(Layer::new(coding));
            }
        }
        layers.reverse();
        let scratch = Box::default();
        let source = Bytes::new();
        let decoder = Self { layers, source, limit, is_stream: false, scratch };
        Ok((!decoder.layers.is_empty()).then_some(decoder))
    }

    /// The limit is for what each piece becomes: a stream has no end.
    #[must_use]
    pub fn for_stream(mut self) -> Self {
        self.is_stream = true;
        self
    }

    /// Takes the next piece of the body. What the one before became has been read by then.
    pub fn feed(&mut self, piece: Bytes) {
        self.source = piece;
        if self.is_stream {
            self.layers.iter_mut().for_each(|layer| layer.given = 0);
        }
    }

    /// The next piece of what the body was; `None` if more has to be fed before.
    ///
    /// # Errors
    /// [`Coded::Broken`], [`Coded::TooLarge`]. Nothing comes after that.
    pub fn decoded(&mut self) -> Result<Option<Bytes>, Coded> {
        if self.scratch.is_empty() {
            self.scratch = vec![0; DECODED_PIECE_BYTES].into_boxed_slice();
        }
        pull(&mut self.layers, &mut self.source, &mut self.scratch, self.limit)
    }

    /// The body has ended.
    ///
    /// # Errors
    /// [`Coded::Cut`]: there should be more of it. A body of no bytes at all is well.
    pub fn end(&mut self) -> Result<(), Coded> {
        let cut = self.layers.iter_mut().find_map(|layer| {
            let is_cut = layer.begun.is_some() || layer.state == State::Within;
            (is_cut && !layer.is_at_end()).then_some(layer.coding)
        });
        cut.map_or(Ok(()), |coding| Err(Coded::Cut(coding.name())))
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.layers.iter().map(|layer| layer.coding.name());
        f.debug_list().entries(names).finish()
    }
}

/// What a whole body was, if that is no longer than `limit`; without a coding, it is given back.
///
/// # Errors
/// [`Coded`].
pub fn decode(headers: &HeaderMap, body: Bytes, limit: usize) -> Result<Bytes, Coded> {
    let Some(mut decoder) = Decoder::of(headers, limit)? else { return Ok(body) };
    let mut all = Vec::new();
    decoder.feed(body);
    while let Some(piece) = decoder.decoded()? {
        all.extend_from_slice(&piece);
    }
    decoder.end()?;
    Ok(all.into())
}

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn named(name: &str) -> Option<Self> {
        let known = [
            ("gzip", Self::Gzip),
            ("x-gzip", Self::Gzip),
            ("deflate", Self::Deflate),
            ("br", Self::Brotli),
            ("zstd", Self::Zstd),
        ];
        known.into_iter().find(|(one, _)| name.eq_ignore_ascii_case(one)).map(|(_, coding)| coding)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// What decodes what begins with these bytes. `deflate` means zlib, and is often sent without
    /// its two bytes of head.
    fn codec(self, begin: [u8; 2]) -> Box<dyn DecodeV2 + Send + Sync> {
        match self {
            Self::Gzip => Box::new(GzipDecoder::new()),
            Self::Deflate
                if begin[0] & 0x0f == 8 && u16::from_be_bytes(begin).is_multiple_of(31) =>
            {
                Box::new(ZlibDecoder::new())
            }
            Self::Deflate => Box::new(DeflateDecoder::new()),
            Self::Brotli => Box::new(BrotliDecoder::new()),
            Self::Zstd => {
                let window = DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX);
                Box::new(ZstdDecoder::new_with_params(&[window]))
            }
        }
    }

    /// Whether its codec takes an empty input for a mistake.
    fn is_deflated(self) -> bool {
        matches!(self, Self::Gzip | Self::Deflate)
    }

    /// Whether another body may follow the end of one.
    fn goes_on_with(self, byte: u8) -> bool {
        match self {
            Self::Gzip => byte == 0x1f,
            // A frame, or one to be skipped.
            Self::Zstd => byte == 0x28 || byte & 0xf0 == 0x50,
            Self::Deflate | Self::Brotli => false,
        }
    }
}

/// One coding of a body.
struct Layer {
    coding: Coding,
    codec: Option<Box<dyn DecodeV2 + Send + Sync>>,
    /// The first byte of `deflate`, while it is all that came.
    begun: Option<u8>,
    input: Bytes,
    /// Whether there may be output for which there was no room.
    is_full: bool,
    given: usize,
    state: State,
}

/// Where in its body a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing came.
    Fresh,
    Within,
    /// It is whole; what comes now is another one, or to be ignored.
    Whole,
}

impl Layer {
    fn new(coding: Coding) -> Self {
        let (state, input) = (State::Fresh, Bytes::new());
        Self { coding, codec: None, begun: None, input, is_full: false, given: 0, state }
    }

    /// Decodes as much as `out` takes.
    fn step(&mut self, out: &mut [u8]) -> Result<usize, Coded> {
        if self.state == State::Whole {
            self.is_full = false;
            match (self.input.first(), &mut self.codec) {
                (Some(byte), Some(codec)) if self.coding.goes_on_with(*byte) => {
                    codec.reinit().map_err(|_| Coded::Broken(self.coding.name()))?;
                    self.state = State::Within;
                }
                _ => {
                    self.input.clear();
                    return Ok(0);
                }
            }
        }
        if self.state == State::Fresh && !self.begin() {
            return Ok(0);
        }
        let Some(codec) = &mut self.codec else { return Ok(0) };
        let broken = |_| Coded::Broken(self.coding.name());
        let mut out = WriteBuffer::new_initialized(out);
        if self.input.is_empty() && self.coding.is_deflated() {
            codec.flush(&mut out).map_err(broken)?;
            self.is_full = out.has_no_spare_space();
            return Ok(out.written_len());
        }
        let mut input = PartialBuffer::new(&*self.input);
        let is_whole = loop {
            let before = (input.written_len(), out.written_len());
            let is_whole = codec.decode(&mut input, &mut out).map_err(broken)?;
            if is_whole || input.unwritten().is_empty() || out.has_no_spare_space() {
                break is_whole;
            }
            // Whoever takes nothing and gives nothing will not do so later.
            if before == (input.written_len(), out.written_len()) {
                return Err(Coded::Broken(self.coding.name()));
            }
        };
        let used = input.written_len();
        self.input = self.input.slice(used..);
        self.is_full = out.has_no_spare_space();
        if is_whole {
            self.state = State::Whole;
        }
        Ok(out.written_len())
    }

    /// Whether its body ended, though that was not seen: the last bytes were taken before the
    /// output of them was.
    fn is_at_end(&mut self) -> bool {
        let mut none = [0; 1];
        let mut out = WriteBuffer::new_initialized(&mut none);
        let ended = self.codec.as_mut().map(|codec| codec.finish(&mut out));
        matches!(ended, Some(Ok(true))) && out.written_len() == 0
    }

    /// Chooses the codec by the first bytes; false if there are too few.
    fn begin(&mut self) -> bool {
        let first = match (self.begun.take(), self.input.first()) {
            (Some(first), Some(_)) => {
                self.input = [&[first], &*self.input].concat().into();
                first
            }
            (None, Some(first)) => *first,
            (begun, None) => {
                self.begun = begun;
                return false;
            }
        };
        let second = match self.input.get(1) {
            Some(second) => *second,
            None if self.coding == Coding::Deflate => {
                self.begun = Some(first);
                self.input.clear();
                return false;
            }
            None => 0,
        };
        self.codec = Some(self.coding.codec([first, second]));
        self.state = State::Within;
        true
    }
}

/// The next piece of what the last of these layers decodes.
fn pull(
    layers: &mut [Layer],
    source: &mut Bytes,
    scratch: &mut [u8],
    limit: usize,
) -> Result<Option<Bytes>, Coded> {
    let Some((last, before)) = layers.split_last_mut() else {
        let all = std::mem::take(source);
        return Ok((!all.is_empty()).then_some(all));
    };
    loop {
        if last.input.is_empty() && !last.is_full {
            match pull(before, source, scratch, limit)? {
                Some(piece) => last.input = piece,
                None => return Ok(None),
            }
        }
        let length = last.step(scratch)?;
        last.given += length;
        if last.given > limit {
            return Err(Coded::TooLarge(limit));
        }
        if length > 0 {
            return Ok(Some(Bytes::copy_from_slice(&scratch[..length])));
        }
    }
}
