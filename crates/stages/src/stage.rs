//! The stages of a request, in the order in which it passes them.

/// What a server does with a request, from its bytes to the bytes of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its bytes are taken from the wire: the call that read them and, over HTTP, the rest of the
    /// body.
    Read,
    /// Envelope, `_meta`, headers, version and method.
    Decode,
    /// What is called is found, and its arguments are held against the schema; and decoded, where
    /// that is done in the same pass.
    Validate,
    /// It waits: behind the requests that were read with it, for its turn, for a thread.
    Queue,
    /// What the tool, resource or prompt itself does, waiting for others included.
    Handler,
    /// The answer is written into memory.
    Encode,
    /// Until the system has the answer's bytes, answers of the same write included.
    Write,
}

impl Stage {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Decode,
        Self::Validate,
        Self::Queue,
        Self::Handler,
        Self::Encode,
        Self::Write,
    ];

    /// What it is called in tables, labels and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Decode => "decode",
            Self::Validate => "validate",
            Self::Queue => "queue",
            Self::Handler => "handler",
            Self::Encode => "encode",
            Self::Write => "write",
        }
    }
}
