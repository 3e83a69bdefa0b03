//! The messages of a link: one table, which `link.proto` tells others. They lie where they were
//! read; nothing is copied.

use crate::error::Malformed;
use crate::field::{Field, Kind, StreamIds};
use crate::frame::{Read, head};
use crate::wire::{Rest, parts};

macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        $frame:literal $name:ident $(<$life:lifetime>)? {
            $($(#[$about:meta])* $number:literal $field:ident: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            pub struct $name $(<$life>)? {
                $($(#[$about])* pub $field: $type,)*
            }

            impl $(<$life>)? $name $(<$life>)? {
                /// Straight to where the frame is wanted, as copies cost more than the reading.
                #[inline(never)]
                fn framed(bytes: &[u8], length: usize) -> Result<Read<'_>, Malformed> {
                    let (mut message, mut rest) = ($name::default(), Rest(bytes));
                    while let Some(tag) = rest.tag()? {
                        $(if tag == const { $number << 3 | <$type as Field<'_>>::WIRE as u64 } {
                            let at = (stringify!($name), $number);
                            Field::read(&mut message.$field, &mut rest, at)?;
                        } else)* {
                            rest.0 = behind(tag, rest.0, stringify!($name), &[$($number),*])?;
                        }
                    }
                    Ok(Read::Frame { frame: Frame::$name(message), length })
                }

                fn length(&self) -> usize {
                    0 $(+ Field::length(&self.$field, $number))*
                }

                fn write(&self, out: &mut Vec<u8>) {
                    $(Field::write(&self.$field, $number, out);)*
                }
            }

            messages!(@from $name $($life)?);
        )*

        /// One message of any kind.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Frame<'m> {
            $($(#[$doc])* $name(messages!(@held $name 'm $($life)?)),)*
        }

        impl<'m> Frame<'m> {
            /// What the message is called in `link.proto`.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)*
                }
            }

            /// The message in a frame of that number, which has so many bytes with its head.
            #[inline]
            pub(crate) fn read(
                number: u32,
                bytes: &'m [u8],
                length: usize,
            ) -> Result<Read<'m>, Malformed> {
                match number {
                    $($frame => $name::framed(bytes, length),)*
                    _ => Ok(Read::Unknown { length }),
                }
            }

            /// Appends it, with its head.
            pub(crate) fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$name(message) => {
                        head($frame, message.length(), out);
                        message.write(out);
                    })*
                }
            }
        }
    };
    (@from $name:ident $life:lifetime) => {
        impl<$life> From<$name<$life>> for Frame<$life> {
            fn from(message: $name<$life>) -> Self {
                Self::$name(message)
            }
        }
    };
    (@from $name:ident) => {
        impl From<$name> for Frame<'_> {
            fn from(message: $name) -> Self {
                Self::$name(message)
            }
        }
    };
    (@held $name:ident $outer:lifetime $life:lifetime) => { $name<$outer> };
    (@held $name:ident $outer:lifetime) => { $name };
}

messages! {
    /// The agent's first words on the control stream.
    1 Hello<'a> {
        /// Of the protocol: [`VERSION`](crate::VERSION).
        1 version: u32,
        /// Who it is, as its certificate says too.
        2 agent: &'a str,
        /// Name and version of the program, for people.
        3 software: &'a str,
        /// 16 bytes of the agent's choice: those of before, if it still has the calls of before.
        4 session_id: &'a [u8],
        /// How long it keeps calls whose link is lost, in milliseconds.
        5 keeps_ms: u32,
        /// The replica that it expects here, as it was here last: to that one it says at once what
        /// it has. Another one does not look at that, and hears it again after its welcome.
        6 expects: &'a str,
    }

    /// The gateway's first words.
    2 Welcome<'a> {
        /// Of the protocol.
        1 version: u32,
        /// Which replica this is.
        2 gateway: &'a str,
        /// Another each time that it starts.
        3 epoch: u64,
        /// Where the others are, this one with them: `host:port`; at most
        /// [`PEERS_MAX`](crate::limits::PEERS_MAX).
        4 peers: Vec<&'a str>,
        /// It knows the session, and goes on with its calls.
        5 goes_on: bool,
        /// Name and version of the program, for people.
        6 software: &'a str,
        /// How many responses to all calls may be under way over this link: of each what was sent
        /// of it and is neither granted again nor acknowledged.
        7 messages: u64,
        /// And how many bytes of their payloads.
        8 bytes: u64,
    }

    /// It has something, and is to be asked what; again after each change.
    3 Register {
        /// How many calls it works on at once.
        1 slots: u32,
    }

    /// A call: the first frame of a stream that the gateway opens.
    4 ExecuteRequest<'a> {
        /// Whose calls these are.
        1 session_id: &'a [u8],
        /// Of the call, and no other of this session ever.
        2 stream_id: u64,
        /// How long the caller still waits, in milliseconds; 0 for no bound of its own.
        3 deadline_ms: u32,
        /// How many bytes of answers may be under way at first.
        4 window: u64,
        /// It may be done twice without harm.
        5 repeatable: bool,
        /// A JSON-RPC request, as its author wrote it.
        6 message: &'a [u8],
        /// How many responses may be under way at first.
        7 messages: u64,
    }

    /// What comes of a call.
    5 StreamResponse<'a> {
        /// The call.
        1 stream_id: u64,
        /// Of this call's responses, from 1, without a gap.
        2 sequence: u64,
        /// What it is.
        3 kind: Kind,
        /// For people, if something went wrong.
        4 detail: &'a str,
        /// A part of the result, or a JSON-RPC notification.
        5 payload: &'a [u8],
        /// With the first part of an answer: how many bytes it has in all, if that is known; or 0.
        6 total: u64,
    }

    /// What may be under way of a call: sums from its beginning, which only grow, and never by more
    /// than was sent.
    6 Credit {
        /// The call, whose stream this is on.
        1 stream_id: u64,
        /// Responses.
        2 messages: u64,
        /// Their payloads.
        3 bytes: u64,
    }

    /// What came of these calls has arrived and need not be kept.
    7 Ack<'a> {
        /// At most [`ACKED_MAX`](crate::limits::ACKED_MAX).
        1 stream_ids: StreamIds<'a>,
    }

    /// Asks for what comes of a call of a lost link: the first frame of a stream that the gateway
    /// opens.
    8 Resume<'a> {
        /// Whose calls these are.
        1 session_id: &'a [u8],
        /// The call.
        2 stream_id: u64,
        /// The sequence of the last response that arrived; 0 for none.
        3 received: u64,
        /// Up to where bytes of the call's payloads may be sent.
        4 window: u64,
        /// Up to where its responses may be.
        5 messages: u64,
    }

    /// Nobody waits for the call any more.
    9 Cancel<'a> {
        /// The call.
        1 stream_id: u64,
        /// For people.
        2 reason: &'a str,
    }

    /// Wants to hear that somebody is there.
    10 Ping {
        /// Comes back as it is.
        1 nonce: u64,
    }

    /// Somebody is.
    11 Pong {
        /// As it came.
        1 nonce: u64,
    }

    /// No new calls over this link; those that run may end.
    12 Drain<'a> {
        /// For people.
        1 reason: &'a str,
    }

    /// The last word.
    13 Close<'a> {
        /// What the reason is called.
        1 code: u32,
        /// For people.
        2 reason: &'a str,
    }

    /// Asks for a certificate: with a token for the first, without one over a link that has one.
    14 Join<'a> {
        /// What somebody was given at the gateway.
        1 token: &'a str,
        /// Who it is to be.
        2 agent: &'a str,
        /// A PKCS #10 request, as DER.
        3 request: &'a [u8],
    }

    /// The certificate.
    15 Joined<'a> {
        /// As DER.
        1 certificate: &'a [u8],
        /// Of whoever signed it, as DER.
        2 authority: &'a [u8],
        /// Until when it holds, in seconds since 1970.
        3 expires: u64,
    }
}

/// What is behind a field that a message does not have; one that it has is of another type.
#[cold]
fn behind<'m>(
    tag: u64,
    bytes: &'m [u8],
    message: &'static str,
    known: &[u32],
) -> Result<&'m [u8], Malformed> {
    let (field, wire) = parts(tag)?;
    if known.contains(&field) {
        return Err(Malformed::OtherType { message, field, wire });
    }
    let mut rest = Rest(bytes);
    rest.skip(wire)?;
    Ok(rest.0)
}
