//! Compressed bodies: each coding, in pieces of every size, stacked, cut, swollen and false.

use bytes::Bytes;
use compression_codecs::core::Level;
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::{
    BrotliEncoder, DeflateEncoder, EncodeV2, GzipEncoder, ZlibEncoder, ZstdEncoder,
};
use haft_fetch::limits::CODINGS_MAX;
use haft_fetch::{ACCEPTED, Coded, Decoder, decode};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, HeaderValue};

const LIMIT: usize = 1 << 20;

/// A coding, what was sent, and what it is.
type Row = (&'static str, Vec<u8>, Result<Vec<u8>, Coded>);

fn encoder(coding: &str) -> Box<dyn EncodeV2> {
    match coding {
        "gzip" => Box::new(GzipEncoder::new(Level::Default.into())),
        "deflate" => Box::new(ZlibEncoder::new(Level::Default.into())),
        "raw deflate" => Box::new(DeflateEncoder::new(Level::Default.into())),
        "br" => Box::new(BrotliEncoder::new(Default::default())),
        "zstd" => Box::new(ZstdEncoder::new(3)),
        other => unreachable!("no coding is called {other}"),
    }
}

/// Each part, so that a reader can have it before the next one comes.
fn encoded_parts(coding: &str, parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut encoder = encoder(coding);
    let mut room = vec![0; 2 * LIMIT];
    let mut all = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let mut out = WriteBuffer::new_initialized(&mut room);
        let mut input = PartialBuffer::new(*part);
        while !input.unwritten().is_empty() {
            encoder.encode(&mut input, &mut out).expect("it can be encoded");
        }
        while !encoder.flush(&mut out).expect("it can be flushed") {}
        if index + 1 == parts.len() {
            while !encoder.finish(&mut out).expect("it can be finished") {}
        }
        all.push(out.written().to_vec());
    }
    all
}

fn encoded(coding: &str, body: &[u8]) -> Vec<u8> {
    encoded_parts(coding, &[body]).concat()
}

fn headers(coding: &str) -> HeaderMap {
    let name = coding.strip_prefix("raw ").unwrap_or(coding);
    let value = HeaderValue::from_str(name).expect("a value of a header");
    HeaderMap::from_iter([(CONTENT_ENCODING, value)])
}

/// What it is, if it comes in pieces of so many bytes.
fn in_pieces(coding: &str, body: &[u8], size: usize, limit: usize) -> Result<Vec<u8>, Coded> {
    let mut decoder = Decoder::of(&headers(coding), limit)?.expect("it is encoded");
    let mut all = Vec::new();
    for piece in body.chunks(size) {
        decoder.feed(Bytes::copy_from_slice(piece));
        while let Some(piece) = decoder.decoded()? {
            all.extend_from_slice(&piece);
        }
    }
    decoder.end().map(|()| all)
}

const CODINGS: [&str; 5] = ["gzip", "deflate", "raw deflate", "br", "zstd"];

/// Text that compresses, and noise that does not.
fn bodies() -> Vec<Vec<u8>> {
    let mut seed: u32 = 7;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed.to_be_bytes()[0]
    });
    let noise: Vec<u8> = noise.take(100_000).collect();
    let mut bodies = vec![b"{}".to_vec(), b"{\"a\": 1}".repeat(40_000), noise];
    // Lengths about those of what is decoded at once.
    bodies.extend([16_383, 16_384, 16_385, 32_768].map(|length| vec![b'a'; length]));
    bodies
}

#[test]
fn each_coding_is_read_in_pieces_of_every_size() {
    for coding in CODINGS {
        for body in bodies() {
            let sent = encoded(coding, &body);
            for size in [1, 2, 3, 1000, 16_384, LIMIT] {
                let came = in_pieces(coding, &sent, size, LIMIT);
                let length = body.len();
                assert!(came.as_ref() == Ok(&body), "{coding}, {length} bytes by {size}");
            }
        }
    }
}

#[test]
fn what_was_flushed_is_there_before_more_comes() {
    let events: Vec<String> = (0..50).map(|n| format!("data: {{\"n\":{n}}}\n\n")).collect();
    let parts: Vec<&[u8]> = events.iter().map(String::as_bytes).collect();
    for coding in CODINGS {
        let decoder = Decoder::of(&headers(coding), 100).expect("a coding");
        // The limit is for each piece of a stream, so that all of them may be longer.
        let mut decoder = decoder.expect("it is encoded").for_stream();
        for (part, event) in encoded_parts(coding, &parts).into_iter().zip(&events) {
            decoder.feed(part.into());
            let mut came = Vec::new();
            while let Some(piece) = decoder.decoded().expect(coding) {
                came.extend_from_slice(&piece);
            }
            assert_eq!(String::from_utf8_lossy(&came), *event, "{coding}");
        }
        assert_eq!(decoder.end(), Ok(()), "{coding}");
    }
}

#[test]
fn what_a_body_says_of_itself_is_believed_within_bounds() {
    let body = b"[1, 2, 3]".repeat(100);
    let gzip = |body: &[u8]| encoded("gzip", body);
    let zstd = |body: &[u8]| encoded("zstd", body);
    let (broken, cut) = (Coded::Broken, Coded::Cut);
    let swollen = vec![b'a'; LIMIT + 1];
    let twice = [gzip(&body), gzip(&body)].concat();
    let padded = [gzip(&body), vec![0; 30]].concat();
    let frames = [zstd(&body), b"\x50\x2a\x4d\x18\x01\0\0\0x".to_vec(), zstd(&body)].concat();
    // A window of 16 MiB, which is four bits of exponent above the 1 MiB that all have to read.
    let wide = b"\x28\xb5\x2f\xfd\x00\x70\x01\0\0".to_vec();
    let mut false_sum = gzip(&body);
    let at = false_sum.len() - 6;
    false_sum[at] ^= 1;
    let both = [body.clone(), body.clone()].concat();
    let rows: Vec<Row> = vec![
        ("GZIP", gzip(&body), Ok(body.clone())),
        ("x-gzip", gzip(&body), Ok(body.clone())),
        ("identity", body.clone(), Ok(body.clone())),
        ("", body.clone(), Ok(body.clone())),
        ("identity, gzip", gzip(&body), Ok(body.clone())),
        ("gzip", Vec::new(), Ok(Vec::new())),
        ("gzip", twice, Ok(both.clone())),
        ("gzip", padded, Ok(body.clone())),
        ("zstd", frames, Ok(both)),
        ("br, gzip", gzip(&encoded("br", &body)), Ok(body.clone())),
        ("gzip, br, zstd", zstd(&encoded("br", &gzip(&body))), Ok(body.clone())),
        ("gzip, gzip, gzip, gzip", gzip(&body), Err(Coded::TooDeep)),
        ("compress", body.clone(), Err(Coded::Unknown("compress".to_owned()))),
        ("gzip", body.clone(), Err(broken("gzip"))),
        ("zstd", body.clone(), Err(broken("zstd"))),
        ("br", b"\xff\xff\xff\xff".to_vec(), Err(broken("br"))),
        ("gzip", false_sum, Err(broken("gzip"))),
        ("zstd", wide, Err(broken("zstd"))),
        ("gzip", gzip(&swollen), Err(Coded::TooLarge(LIMIT))),
        ("deflate", encoded("deflate", &swollen), Err(Coded::TooLarge(LIMIT))),
        ("br", encoded("br", &swollen), Err(Coded::TooLarge(LIMIT))),
        ("zstd", zstd(&swollen), Err(Coded::TooLarge(LIMIT))),
        // Its outer layer alone is too large.
        ("gzip, br", encoded("br", &vec![b'a'; 4 * LIMIT / 3]), Err(broken("gzip"))),
        ("deflate", b"\x78".to_vec(), Err(cut("deflate"))),
    ];
    for (coding, sent, right) in rows {
        let length = sent.len();
        let came = decode(&headers(coding), sent.into(), LIMIT).map(Vec::from);
        assert!(came == right, "{coding:?}, {length} bytes: {:?}", came.err());
    }
    for coding in CODINGS {
        let sent = encoded(coding, &body);
        for kept in 1..sent.len() {
            let came = decode(&headers(coding), sent[..kept].to_vec().into(), LIMIT);
            let name = coding.strip_prefix("raw ").unwrap_or(coding);
            assert_eq!(came.err(), Some(cut(name)), "{coding}, {kept} of {}", sent.len());
        }
    }
}

#[test]
fn what_is_asked_for_can_be_read_and_several_headers_are_one_list() {
    for coding in ACCEPTED.split(", ") {
        assert!(Decoder::of(&headers(coding), LIMIT).expect(coding).is_some(), "{coding}");
    }
    let value = HeaderValue::from_static("gzip");
    let mut many = HeaderMap::new();
    for _ in 0..CODINGS_MAX {
        many.append(CONTENT_ENCODING, value.clone());
    }
    assert!(Decoder::of(&many, LIMIT).is_ok_and(|decoder| decoder.is_some()));
    many.append(CONTENT_ENCODING, value);
    assert_eq!(Decoder::of(&many, LIMIT).err(), Some(Coded::TooDeep));
}
