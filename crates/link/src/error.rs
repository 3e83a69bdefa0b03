//! What is wrong with bytes that came over a link, named after the mistake.

/// Why bytes are no frame, or a frame is none that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A frame is longer than it may be.
    #[error("a frame of {bytes} bytes, where {most} is the most")]
    FrameTooLong {
        /// What it claims to be.
        bytes: u64,
        /// What it may be.
        most: usize,
    },
    /// A number has more than 64 bits, or goes on for more than ten bytes.
    #[error("a number of more than 64 bits")]
    NumberTooLong,
    /// A number is larger than its field may be.
    #[error("field {field} of {message} is larger than it may be")]
    NumberTooLarge {
        /// The message.
        message: &'static str,
        /// The number of the field.
        field: u32,
    },
    /// A field is of another type than that field is.
    #[error("field {field} of {message} has wire type {wire}")]
    OtherType {
        /// The message.
        message: &'static str,
        /// The number of the field.
        field: u32,
        /// What came.
        wire: u8,
    },
    /// A text is not UTF-8.
    #[error("field {field} of {message} is not UTF-8")]
    NotUtf8 {
        /// The message.
        message: &'static str,
        /// The number of the field.
        field: u32,
    },
    /// A list has more than it may.
    #[error("field {field} of {message} has more than {most}")]
    TooMany {
        /// The message.
        message: &'static str,
        /// The number of the field.
        field: u32,
        /// How many there may be.
        most: usize,
    },
    /// A message ends within a field.
    #[error("a message that ends within a field")]
    CutShort,
    /// A field has the number 0 or one past the largest, or is of a type that there is not.
    #[error("a field that no message can have")]
    NoField,
}
