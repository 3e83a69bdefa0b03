//! An `.mcpb` bundle: a zip with a manifest, a haft binary, the file and all that it refers to. The
//! same input makes the same bytes. Format: <https://github.com/anthropics/mcpb>, manifest 0.3.

use super::gathered::{self, Gathered};
use super::{Described, slug};
use crate::exit::{Exit, Failure};
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::io::{self, Cursor, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A bundle that is ready to be written.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) manifest: Value,
    pub(crate) bytes: Vec<u8>,
    pub(crate) gathered: Gathered,
}

/// The longest binary that is bundled, in bytes.
const BINARY_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Makes a bundle that starts `binary`.
pub(crate) fn bundle(
    described: &Described,
    binary: &Path,
    more: &[PathBuf],
    author: Option<&str>,
) -> Result<Bundle, Failure> {
    let program = read(binary, BINARY_BYTES_MAX)?;
    let platform = platform(&program).ok_or_else(|| {
        let message = format!("{} is no program of Linux, macOS or Windows", binary.display());
        Failure::usage(message).hint("--binary names a haft that was built for the bundle's system")
    })?;
    let mut gathered = gathered::gather(&described.directory, &described.written, more)?;
    let file = PathBuf::from(described.file.file_name().unwrap_or_default());
    gathered.files.insert(file.clone());
    let manifest = manifest(described, &file, platform, author);
    let pretty = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    let mut zip = Zip::new();
    zip.add("manifest.json", pretty.as_bytes(), 0o644)?;
    zip.add(&format!("server/{}", program_name(platform)), &program, 0o755)?;
    for inner in &gathered.files {
        let path = described.directory.join(inner);
        let content = read(&path, gathered::BYTES_MAX)?;
        let meta = fs::metadata(&path).map_err(|error| cannot("read", &path, &error))?;
        let mode = if meta.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 };
        zip.add(&format!("server/{}", inner.display()), &content, mode)?;
    }
    let bytes = zip.finish()?;
    Ok(Bundle { manifest, bytes, gathered })
}

fn manifest(described: &Described, file: &Path, platform: &str, author: Option<&str>) -> Value {
    let inside = |name: &str| format!("${{__dirname}}/server/{name}");
    let program = program_name(platform);
    let env: Map<String, Value> = described
        .variables
        .iter()
        .map(|name| (name.clone(), json!(format!("${{user_config.{name}}}"))))
        .collect();
    let settings: Map<String, Value> =
        described.variables.iter().map(|name| (name.clone(), setting(name))).collect();
    let description =
        described.description.clone().or_else(|| described.title.clone()).unwrap_or_else(|| {
            let names: Vec<&str> = described.tools.iter().map(|(name, _)| &**name).collect();
            format!("Tools: {}", names.join(", "))
        });
    let tool = |(name, description): &(String, String)| match &**description {
        "" => json!({ "name": name }),
        description => json!({ "name": name, "description": description }),
    };
    let tools: Vec<Value> = described.tools.iter().map(tool).collect();
    let mut manifest = json!({
        "manifest_version": "0.3",
        "name": slug(&described.name),
        "version": described.version,
        "description": description,
        "author": { "name": author.unwrap_or(&described.name) },
        "server": {
            "type": "binary",
            "entry_point": format!("server/{program}"),
            "mcp_config": {
                "command": inside(program),
                "args": ["serve", inside(&file.to_string_lossy()), "--stdio"],
                "env": env,
            },
        },
        "tools": tools,
        "compatibility": { "platforms": [platform] },
    });
    if let Some(title) = &described.title {
        manifest["display_name"] = json!(title);
    }
    if let Some(url) = &described.website_url {
        manifest["homepage"] = json!(url);
    }
    if !settings.is_empty() {
        manifest["user_config"] = Value::Object(settings);
    }
    manifest
}

/// What a desktop asks a person for, in a form.
fn setting(variable: &str) -> Value {
    json!({
        "type": "string",
        "title": variable,
        "description": format!("The value of {variable}"),
        "sensitive": true,
        "required": true,
    })
}

/// Which system a program is for, in the words of Node, by its first bytes.
fn platform(program: &[u8]) -> Option<&'static str> {
    match program {
        [0x7f, b'E', b'L', b'F', ..] => Some("linux"),
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => Some("darwin"),
        [b'M', b'Z', ..] => Some("win32"),
        _ => None,
    }
}

fn program_name(platform: &str) -> &'static str {
    if platform == "win32" { "haft.exe" } else { "haft" }
}

fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| cannot("read", path, &error))?;
    let read = file.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| cannot("read", path, &error))?;
    if bytes.len() as u64 > limit {
        let message = format!("{} is longer than {limit} bytes", path.display());
        return Err(Failure::new(Exit::Other, message));
    }
    Ok(bytes)
}

fn cannot(act: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Other, format!("cannot {act} {}: {error}", path.display()))
}

/// A zip in memory, whose entries have no time of their own.
struct Zip {
    writer: ZipWriter<Cursor<Vec<u8>>>,
}

impl Zip {
    fn new() -> Self {
        Self { writer: ZipWriter::new(Cursor::new(Vec::new())) }
    }

    fn add(&mut self, name: &str, content: &[u8], mode: u32) -> Result<(), Failure> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(mode);
        let added = self.writer.start_file(name, options).map_err(io::Error::from);
        added
            .and_then(|()| self.writer.write_all(content))
            .map_err(|error| Failure::new(Exit::Other, format!("cannot pack {name}: {error}")))
    }

    fn finish(self) -> Result<Vec<u8>, Failure> {
        let done = self.writer.finish().map_err(io::Error::from);
        let done =
            done.map_err(|error| Failure::new(Exit::Other, format!("cannot pack: {error}")))?;
        Ok(done.into_inner())
    }
}
