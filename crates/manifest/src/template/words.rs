//! Names that mean something in every template, and so are no arguments. Asked by the module.

/// Names that every template has, and that are no arguments.
const FUNCTIONS: [&str; 3] = ["dict", "namespace", "range"];

/// Whether it is one of those.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// Whether a name means an argument and nothing else, neither to the language nor to the engine.
pub(super) fn is_plain(name: &str) -> bool {
    const WORDS: [&str; 15] = [
        "True", "False", "None", "true", "false", "none", "and", "or", "not", "in", "is", "if",
        "else", "loop", "self",
    ];
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_reserved = WORDS.contains(&name) || is_function(name) || name.starts_with("__");
    name.bytes().all(is_part) && !is_reserved
}
