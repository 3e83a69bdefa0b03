//! Constant answers over stdin and stdout: as many lines as a read brings, and one write for all of
//! their answers.

use crate::answers::Answers;
use crate::limits::{MESSAGE_BYTES_MAX, READ_BYTES};
use memchr::{memchr, memrchr};
use rustix::io::{Errno, read, write};
use rustix::stdio::{stdin, stdout};
use std::io;

/// Serves until stdin ends.
///
/// # Errors
/// A pipe fails, or a line is too long.
pub fn serve(answers: &Answers) -> io::Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    let mut out = Vec::with_capacity(READ_BYTES);
    let mut filled = 0;
    loop {
        let count = match read(stdin(), &mut buffer[filled..]) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        // No line ends in what was there before.
        let whole = memrchr(b'\n', &buffer[filled..filled + count]).map(|at| filled + at + 1);
        filled += count;
        if let Some(whole) = whole {
            answer_all(answers, &buffer[..whole], &mut out);
            write_all(&out)?;
            out.clear();
            buffer.copy_within(whole..filled, 0);
            filled -= whole;
        }
        if filled == buffer.len() {
            if filled >= MESSAGE_BYTES_MAX {
                return Err(io::Error::other("a line is too long"));
            }
            buffer.resize(filled * 2, 0);
        }
    }
}

fn answer_all(answers: &Answers, mut lines: &[u8], out: &mut Vec<u8>) {
    while let Some(end) = memchr(b'\n', lines) {
        let (line, rest) = lines.split_at(end + 1);
        if let Some((which, digits)) = answers.to(line) {
            let constant = answers.constant(which);
            out.extend_from_slice(&constant.before);
            out.extend_from_slice(&digits);
            out.extend_from_slice(&constant.after);
            out.push(b'\n');
        }
        lines = rest;
    }
}

fn write_all(mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match write(stdout(), rest) {
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
