//! Bodies in each content coding: whole, in pieces, cut short, broken, one upon the other, and such
//! as are a thousand times as large as they come.

use crate::origin::{Origin, Reply};
use crate::reach::get;
use compression_codecs::core::Level;
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::zstd::params::CParameter;
use compression_codecs::{
    BrotliEncoder, DeflateEncoder, EncodeV2, GzipEncoder, ZlibEncoder, ZstdEncoder,
};
use haft_fetch::limits::CODINGS_MAX;
use haft_fetch::{CodingError, Codings, FetchError, Reach};

/// What servers call it, and what makes it.
type Row = (&'static str, fn() -> Box<dyn EncodeV2>);

const ROWS: [Row; 5] = [
    ("gzip", || Box::new(GzipEncoder::new(Level::Default.into()))),
    ("deflate", || Box::new(ZlibEncoder::new(Level::Default.into()))),
    ("deflate", || Box::new(DeflateEncoder::new(Level::Default.into()))),
    ("br", || Box::new(BrotliEncoder::new(Default::default()))),
    ("zstd", || Box::new(ZstdEncoder::new(3))),
];

fn encoded(mut encoder: Box<dyn EncodeV2>, text: &[u8]) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; text.len() + 65_536]);
    let mut unread = PartialBuffer::new(text);
    let mut is_over = false;
    while !is_over {
        let mut room = WriteBuffer::new_initialized(&mut buffer);
        if unread.unwritten().is_empty() {
            is_over = encoder.finish(&mut room).expect("it is encoded");
        } else {
            encoder.encode(&mut unread, &mut room).expect("it is encoded");
        }
        let written = room.written_len();
        all.extend_from_slice(&buffer[..written]);
    }
    all
}

fn codings(header: &str) -> Codings {
    let mut codings = Codings::default();
    codings.add(header.as_bytes()).unwrap_or_else(|error| panic!("{header}: {error}"));
    codings
}

/// The body that comes in pieces of so many bytes.
fn decoded(header: &str, body: &[u8], piece: usize, limit: usize) -> Result<Vec<u8>, CodingError> {
    let (mut decoder, mut all) = (codings(header).decoder(), Vec::new());
    let decoded = body.chunks(piece).try_for_each(|piece| {
        let decoded = decoder.decode(piece, &mut all, limit);
        assert!(all.len() <= limit, "{header}");
        decoded
    });
    decoded.and_then(|()| decoder.finish()).map(|()| all)
}

/// Text that is long enough for several buffers, and not only repetition.
fn sample() -> Vec<u8> {
    (0..20_000_u32)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_string().into_bytes())
        .collect()
}

#[test]
fn a_body_is_read_in_each_coding_however_it_comes() {
    let text = sample();
    for (name, encoder) in ROWS {
        let body = encoded(encoder(), &text);
        for piece in [1, 7, 4096, body.len()] {
            let read = decoded(name, &body, piece, text.len());
            assert!(read.as_ref() == Ok(&text), "{name}, {piece}: {:?}", read.map(|all| all.len()));
        }
        let empty = encoded(encoder(), b"");
        assert_eq!(decoded(name, &empty, 1, 10), Ok(Vec::new()), "{name}");
        assert_eq!(decoded(name, b"", 1, 10), Ok(Vec::new()), "{name}");
    }
    assert_eq!(decoded("Identity, ", b"text", 1, 4), Ok(b"text".to_vec()));
}

#[test]
fn a_body_in_two_codings_or_of_two_members_is_read() {
    let text = &sample()[..20_000];
    for (inner, first) in ROWS {
        for (outer, second) in ROWS {
            let body = encoded(second(), &encoded(first(), text));
            let read = decoded(&format!("{inner}, {outer}"), &body, 1000, text.len());
            assert!(read.as_deref() == Ok(text), "{inner}, {outer}");
        }
    }
    for (name, encoder) in ROWS.into_iter().filter(|(name, _)| ["gzip", "zstd"].contains(name)) {
        let two = [encoded(encoder(), b"one "), encoded(encoder(), b"two")].concat();
        for piece in [1, two.len()] {
            assert_eq!(decoded(name, &two, piece, 7), Ok(b"one two".to_vec()), "{name}");
        }
    }
}

#[test]
fn a_body_that_is_cut_short_or_broken_is_an_error() {
    let text = b"a text that is long enough to be cut in many places, again and again".repeat(3);
    for (name, encoder) in ROWS {
        let body = encoded(encoder(), &text);
        for end in 1..body.len() {
            let read = decoded(name, &body[..end], 5, text.len());
            assert!(read.is_err(), "{name}: {end} of {}", body.len());
        }
        for place in 0..body.len() {
            let mut broken = body.clone();
            broken[place] ^= 0x40;
            // Not every coding has a checksum; what matters is that it ends, within its bound.
            _ = decoded(name, &broken, 16, text.len());
        }
    }
    for (name, _) in ROWS {
        let read = decoded(name, b"{\"jsonrpc\":\"2.0\"}", 100, 100);
        assert!(read.is_err(), "{name}: {read:?}");
    }
    let cut = decoded("gzip", &encoded(ROWS[0].1(), &text)[..30], 30, text.len());
    assert_eq!(cut, Err(CodingError::CutShort { coding: "gzip" }));
}

#[test]
fn a_body_grows_no_larger_than_its_limit() {
    let (zeros, limit) = (vec![0; 30_000_000], 100_000);
    for (name, encoder) in ROWS {
        let bomb = encoded(encoder(), &zeros);
        assert!(bomb.len() < limit, "{name}: {}", bomb.len());
        let read = decoded(name, &bomb, bomb.len(), limit);
        assert_eq!(read, Err(CodingError::TooLarge { limit }), "{name}");
        let twice = encoded(encoder(), &bomb);
        let read = decoded(&format!("{name}, {name}"), &twice, twice.len(), limit);
        assert_eq!(read, Err(CodingError::TooLarge { limit }), "{name} twice");
    }
}

#[test]
fn what_would_take_too_much_memory_is_refused() {
    let window = [CParameter::window_log(27), CParameter::content_size_flag(false)];
    let wide = encoded(Box::new(ZstdEncoder::new_with_params(3, &window)), &sample().repeat(60));
    let read = decoded("zstd", &wide, wide.len(), 100_000_000);
    assert!(matches!(read, Err(CodingError::Broken { coding: "zstd", .. })), "{:?}", read.err());
}

#[test]
fn codings_that_nothing_reads_are_named() {
    let add = |header: &str| Codings::default().add(header.as_bytes());
    let unknown = |name: &str| Err(CodingError::Unknown { name: name.to_owned() });
    assert_eq!(add("compress"), unknown("compress"));
    assert_eq!(add("gzip, \u{1b}[31m"), unknown("\\u{1b}[31m"));
    assert_eq!(add(&["gzip"; CODINGS_MAX].join(",")), Ok(()));
    assert_eq!(add(&["gzip"; CODINGS_MAX + 1].join(",")), Err(CodingError::TooMany));
}

#[tokio::test]
async fn an_answer_is_decoded_within_the_limit_of_its_reader() {
    let origin = Origin::serve(|seen| {
        let (name, make) = match &*seen.target {
            "/plain" => return Reply::text("hello"),
            "/unknown" => return Reply::text("hello").with("content-encoding", "lzw"),
            "/lie" => return Reply::text("hello").with("content-encoding", "gzip"),
            target => ROWS[target[1..].parse::<usize>().expect("a row")],
        };
        Reply::text("").with("content-encoding", name).body(encoded(make(), b"hello"))
    })
    .await;
    for (row, (name, _)) in ROWS.iter().enumerate() {
        let answer = || async {
            get(&origin.url(&format!("/{row}")), &Reach::Anywhere).await.expect("an answer")
        };
        assert_eq!(answer().await.bytes(5).await.expect("a body"), "hello", "{name}");
        assert_eq!(answer().await.beginning(3).await, b"hel", "{name}");
        let long = answer().await.bytes(4).await;
        assert!(matches!(long, Err(FetchError::TooLarge { limit: 4, .. })), "{name}: {long:?}");
    }
    for (path, words) in [("/unknown", "coding `lzw`"), ("/lie", "no gzip")] {
        let answer = get(&origin.url(path), &Reach::Anywhere).await.expect("an answer");
        let error = answer.bytes(100).await.expect_err("it cannot be read").to_string();
        assert!(error.contains(words), "{error}");
    }
    let asked = origin.seen();
    let accepted = asked.iter().filter_map(|seen| seen.header("accept-encoding"));
    assert!(accepted.eq(vec!["gzip, br, zstd, deflate"; asked.len()]));
}
