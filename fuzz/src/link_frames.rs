//! Any bytes as what a link carries: frames, what is passed over, or a mistake.

use haft_link::limits::{CONTROL_FRAME_MAX, RESPONSE_FRAME_MAX};
use haft_link::{Read, read, write};

/// What is read is written and read again as the same; what is missing is told truly, and no length
/// that is claimed is believed beyond the limit.
pub fn frames_are_read_again(bytes: &[u8]) {
    for most in [CONTROL_FRAME_MAX, RESPONSE_FRAME_MAX, 64] {
        let mut rest = bytes;
        loop {
            let length = match read(rest, most) {
                Ok(Read::Frame { frame, length }) => {
                    let mut again = Vec::new();
                    write(&frame, &mut again);
                    let expected = Ok(Read::Frame { frame, length: again.len() });
                    assert_eq!(read(&again, usize::MAX), expected);
                    length
                }
                Ok(Read::Unknown { length }) => length,
                Ok(Read::More { needed }) => {
                    assert!(needed > rest.len() && needed <= most.max(rest.len()) + 20);
                    break;
                }
                Err(_) => break,
            };
            assert!((1..=rest.len()).contains(&length));
            rest = &rest[length..];
        }
    }
}
