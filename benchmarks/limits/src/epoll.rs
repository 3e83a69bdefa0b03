//! Constant answers over HTTP/1.1 by one thread and epoll alone: what the system's sockets let
//! anybody do. It understands the requests of `haft bench` and few others.

use crate::answers::{Answers, Constant, Digits, ID_DIGITS, SESSION, SESSION_HEADER, Which};
use crate::limits::{COPY_BYTES, EVENTS_MAX, MESSAGE_BYTES_MAX, READ_BYTES};
use memchr::memmem::Finder;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};

const ACCEPTED: &[u8] = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
const ENDED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
/// How a request begins that ends a session.
const END_SESSION: &[u8] = b"DELETE ";
/// The key of the listener; connections have those after it.
const LISTENER: u64 = 0;

/// Serves until the process ends.
///
/// # Errors
/// epoll or the listener fails.
pub fn serve(answers: &Answers, listener: &TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let watch = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&watch, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let (words, replies) = (Words::new(), answers.each(Reply::new));
    // By their keys less one; what was closed is used again.
    let (mut clients, mut free): (Vec<Option<Client>>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut events = Vec::with_capacity(EVENTS_MAX);
    loop {
        events.clear();
        match epoll::wait(&watch, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let key = event.data.u64();
            if key == LISTENER {
                if let Some(client) = accept(listener)? {
                    let place = free.pop().unwrap_or_else(|| {
                        clients.push(None);
                        clients.len() - 1
                    });
                    let key = EventData::new_u64(place as u64 + 1);
                    epoll::add(&watch, &client.stream, key, EventFlags::IN)?;
                    clients[place] = Some(client);
                }
                continue;
            }
            let place = usize::try_from(key - 1).map_err(io::Error::other)?;
            let Some(client) = &mut clients[place] else { continue };
            let was_stuck = client.is_stuck();
            let moved = client.go_on(answers, &replies, &words);
            match moved {
                Ok(true) if client.is_stuck() == was_stuck => {}
                Ok(true) => {
                    let flags = if client.is_stuck() { EventFlags::OUT } else { EventFlags::IN };
                    epoll::modify(&watch, &client.stream, EventData::new_u64(key), flags)?;
                }
                // The system forgets a socket that is closed.
                Ok(false) | Err(_) => {
                    clients[place] = None;
                    free.push(place);
                }
            }
        }
    }
}

/// An answer with its head, all but the id, made once.
struct Reply {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Reply {
    /// With a date, because haft's answers have one.
    fn new(which: Which, constant: &Constant) -> Self {
        let session = match which {
            Which::Greeting => format!("{SESSION_HEADER}: {SESSION}\r\n"),
            Which::Other => String::new(),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{session}content-length: {}\r\n\
             date: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n",
            constant.len()
        );
        let before = [head.as_bytes(), &constant.before].concat();
        Self { before, after: constant.after.to_vec() }
    }
}

fn accept(listener: &TcpListener) -> io::Result<Option<Client>> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let (inbox, outbox) = (vec![0; READ_BYTES], Vec::with_capacity(COPY_BYTES));
            Ok(Some(Client { stream, inbox, filled: 0, outbox, unsent: Vec::new() }))
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is looked for in a request.
struct Words {
    end: Finder<'static>,
    length: Finder<'static>,
}

const END: &[u8] = b"\r\n\r\n";
const LENGTH: &[u8] = b"content-length: ";

impl Words {
    fn new() -> Self {
        Self { end: Finder::new(END), length: Finder::new(LENGTH) }
    }

    /// Where the body begins and how long it is, once the head is there.
    fn body(&self, request: &[u8]) -> Option<(usize, usize)> {
        let end = self.end.find(request)?;
        let head = &request[..end];
        let length = self.length.find(head).map_or(0, |at| {
            let digits = head[at + LENGTH.len()..].iter().take_while(|byte| byte.is_ascii_digit());
            digits.fold(0_usize, |sum, digit| {
                sum.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
            })
        });
        Some((end + END.len(), length))
    }
}

/// A connection.
struct Client {
    stream: TcpStream,
    inbox: Vec<u8>,
    filled: usize,
    /// Where short answers are put together.
    outbox: Vec<u8>,
    /// What the system did not take at once.
    unsent: Vec<u8>,
}

impl Client {
    fn is_stuck(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Does what can be done now; false if the client is gone.
    fn go_on(
        &mut self,
        answers: &Answers,
        replies: &[Reply; 2],
        words: &Words,
    ) -> io::Result<bool> {
        if self.is_stuck() {
            let count = written(self.stream.write(&self.unsent))?;
            self.unsent.drain(..count);
            return Ok(true);
        }
        let count = match self.stream.read(&mut self.inbox[self.filled..]) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        self.filled += count;
        while let Some((begin, length)) = words.body(&self.inbox[..self.filled]) {
            let end = begin.saturating_add(length);
            if end > MESSAGE_BYTES_MAX {
                return Ok(false);
            }
            if end > self.filled {
                // With room for more than the rest, so that it is read at once.
                self.inbox.resize(self.inbox.len().max(end + READ_BYTES), 0);
                break;
            }
            match answers.to(&self.inbox[begin..end]) {
                Some((which, digits)) => self.send(&replies[which as usize], &digits)?,
                None if self.inbox.starts_with(END_SESSION) => {
                    self.send_bytes(&[IoSlice::new(ENDED)])?;
                }
                None => self.send_bytes(&[IoSlice::new(ACCEPTED)])?,
            }
            self.inbox.copy_within(end..self.filled, 0);
            self.filled -= end;
        }
        // A head of that length is none of `haft bench`.
        Ok(self.filled < self.inbox.len())
    }

    fn send(&mut self, reply: &Reply, digits: &Digits) -> io::Result<()> {
        let pieces = [&reply.before[..], digits, &reply.after];
        if reply.before.len() + ID_DIGITS + reply.after.len() > COPY_BYTES {
            return self.send_bytes(&pieces.map(IoSlice::new));
        }
        // One piece is cheaper to write than three, if it is short.
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.clear();
        pieces.iter().for_each(|piece| outbox.extend_from_slice(piece));
        let sent = self.send_bytes(&[IoSlice::new(&outbox)]);
        self.outbox = outbox;
        sent
    }

    fn send_bytes(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<()> {
        let mut sent = match pieces {
            _ if self.is_stuck() => 0,
            [piece] => written(self.stream.write(piece))?,
            pieces => written(self.stream.write_vectored(pieces))?,
        };
        for piece in pieces {
            let here = sent.min(piece.len());
            self.unsent.extend_from_slice(&piece[here..]);
            sent -= here;
        }
        Ok(())
    }
}

/// How much was taken; nothing, if there is no room at the moment.
fn written(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        other => other,
    }
}
