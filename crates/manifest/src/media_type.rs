//! What kind of data a file has: by the end of its name, or by its bytes where that says nothing.
//! Called for resources without a `mime_type` of their own.

use haft_proto::spec::content::Body;

/// By extension, in small letters.
const KINDS: [(&str, &[&str]); 46] = [
    ("application/gzip", &["gz", "tgz"]),
    ("application/json", &["json", "map"]),
    ("application/ld+json", &["jsonld"]),
    ("application/msword", &["doc"]),
    ("application/octet-stream", &["bin", "dat"]),
    ("application/pdf", &["pdf"]),
    ("application/sql", &["sql"]),
    ("application/toml", &["toml"]),
    ("application/vnd.ms-excel", &["xls"]),
    ("application/vnd.ms-powerpoint", &["ppt"]),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", &["pptx"]),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", &["xlsx"]),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", &["docx"]),
    ("application/wasm", &["wasm"]),
    ("application/x-ndjson", &["jsonl", "ndjson"]),
    ("application/x-sh", &["bash", "sh"]),
    ("application/xml", &["xml", "xsd", "xsl"]),
    ("application/yaml", &["yaml", "yml"]),
    ("application/zip", &["zip"]),
    ("audio/flac", &["flac"]),
    ("audio/mp4", &["m4a"]),
    ("audio/mpeg", &["mp3"]),
    ("audio/ogg", &["oga", "ogg", "opus"]),
    ("audio/wav", &["wav"]),
    ("font/woff2", &["woff2"]),
    ("image/avif", &["avif"]),
    ("image/bmp", &["bmp"]),
    ("image/gif", &["gif"]),
    ("image/jpeg", &["jpeg", "jpg"]),
    ("image/png", &["png"]),
    ("image/svg+xml", &["svg"]),
    ("image/tiff", &["tif", "tiff"]),
    ("image/webp", &["webp"]),
    ("text/calendar", &["ics"]),
    ("text/css", &["css"]),
    ("text/csv", &["csv"]),
    ("text/html", &["htm", "html"]),
    ("text/javascript", &["cjs", "js", "mjs"]),
    ("text/markdown", &["markdown", "md"]),
    ("text/plain", &["cfg", "conf", "diff", "ini", "log", "patch", "text", "txt"]),
    ("text/tab-separated-values", &["tsv"]),
    ("text/x-c", &["c", "cc", "cpp", "h", "hpp"]),
    ("text/x-python", &["py"]),
    ("text/x-rust", &["rs"]),
    ("video/mp4", &["mp4"]),
    ("video/webm", &["webm"]),
];

/// The kind that a file's name tells.
pub(crate) fn of_name(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let known = KINDS.iter().find(|(_, extensions)| extensions.contains(&&*extension));
    known.filter(|_| !stem.is_empty()).map(|(kind, _)| *kind)
}

/// How the name of a file of this kind ends, without the dot.
pub(crate) fn extension(kind: &str) -> Option<&'static str> {
    match &*essence(kind) {
        // The first of them is nobody's choice.
        "application/octet-stream" => None,
        "image/jpeg" => Some("jpg"),
        "text/html" => Some("html"),
        "text/markdown" => Some("md"),
        "text/plain" => Some("txt"),
        essence => {
            let known = KINDS.iter().find(|(kind, _)| *kind == essence)?;
            known.1.first().copied()
        }
    }
}

/// `type/subtype` without parameters.
pub(crate) fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether data of this kind is JSON.
pub(crate) fn is_json(kind: &str) -> bool {
    let essence = essence(kind);
    essence.ends_with("/json") || essence.ends_with("+json")
}

/// The kind of data whose name tells nothing.
pub(crate) fn of_body(body: &Body) -> &'static str {
    match body {
        Body::Blob(_) => "application/octet-stream",
        Body::Text(_) => "text/plain",
    }
}

/// Whether a text is `type/subtype`, perhaps with parameters (RFC 6838, 4.2).
pub(crate) fn is_one(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let essence = text.split(';').next().unwrap_or(text).trim_end();
    let is_printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    is_printable
        && essence.split_once('/').is_some_and(|(kind, part)| is_name(kind) && is_name(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_kind_by_its_end() {
        for (path, kind) in [
            ("a/b.md", Some("text/markdown")),
            ("a.tar.GZ", Some("application/gzip")),
            ("photo.JPG", Some("image/jpeg")),
            ("docs.md/readme", None),
            (".json", None),
            ("a.unheard-of", None),
            ("a.", None),
            ("", None),
        ] {
            assert_eq!(of_name(path), kind, "{path}");
        }
    }

    #[test]
    fn the_table_is_in_order_and_says_nothing_twice() {
        assert!(KINDS.is_sorted_by(|a, b| a.0 < b.0));
        let mut extensions: Vec<_> = KINDS.iter().flat_map(|(_, extensions)| *extensions).collect();
        let count = extensions.len();
        extensions.sort_unstable();
        extensions.dedup();
        assert_eq!(extensions.len(), count);
        assert!(KINDS.iter().all(|(kind, _)| is_one(kind)));
    }

    #[test]
    fn what_is_no_kind_is_known() {
        for text in ["text/plain", "text/html;profile=mcp-app", "text/plain; charset=utf-8"] {
            assert!(is_one(text), "{text}");
        }
        for text in ["", "text", "/plain", "text/", "text plain", "a/b/c", "text/plain;\n"] {
            assert!(!is_one(text), "{text}");
        }
    }
}
