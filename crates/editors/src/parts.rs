//! A server of an editor taken apart, so that others can write it down in their own words: of each
//! text what is typed, what is a secret, and what stands for something else. Made from what
//! `discover` found; fills in nothing but directories.

use crate::discover::Found;
use crate::entry::{How, Transport};
use crate::places::Surroundings;
use crate::secrets::{self, Spot};
use crate::variables::{Piece, Syntax, Values, folder, pieces};
use std::fmt;
use std::path::{Path, PathBuf};

/// A piece of a text of a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// What a file holds.
    File(PathBuf),
    /// What its editor asks a person for, by its id.
    Input(String),
    /// What is typed.
    Plain(String),
    /// What is typed and probably secret.
    Secret {
        /// It.
        value: String,
        /// What it is called there: an option, a variable, a header; empty if it has no name.
        hint: String,
    },
    /// A variable of the environment, and what is taken if it is not set.
    Variable(String, Option<String>),
}

/// Without the secret.
impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Input(id) => f.debug_tuple("Input").field(id).finish(),
            Self::Plain(text) => f.debug_tuple("Plain").field(text).finish(),
            Self::Secret { hint, .. } => f.debug_tuple("Secret").field(hint).finish(),
            Self::Variable(name, _) => f.debug_tuple("Variable").field(name).finish(),
        }
    }
}

/// A text, part by part.
pub type Parts = Vec<Part>;

/// How a server is reached, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parted {
    /// A program.
    Command {
        /// It and its arguments.
        argv: Vec<Parts>,
        /// Its variables.
        env: Vec<(String, Parts)>,
        /// Where it runs.
        dir: Option<Parts>,
    },
    /// An address.
    Url {
        /// It.
        url: Parts,
        /// What every request carries.
        headers: Vec<(String, Parts)>,
        /// How it speaks there.
        transport: Transport,
    },
}

impl Found {
    /// The server, taken apart. Directories that its editor would fill in, like
    /// `${workspaceFolder}`, are those of these surroundings.
    #[must_use]
    pub fn parted(&self, surroundings: &Surroundings) -> Parted {
        let values = Values {
            variable: &|_| None,
            home: &surroundings.home,
            folder: self.project().unwrap_or(&surroundings.directory),
        };
        let apart = |text: &str, spots: &[Spot]| parts(text, spots, &[], self.syntax(), &values);
        let pairs = |pairs: &[(String, String)]| {
            let pair = |(name, value): &(String, String)| {
                (name.clone(), apart(value, &secrets::in_value(name, value)))
            };
            pairs.iter().map(pair).collect()
        };
        match &self.entry.how {
            How::Command { program, args, env, dir } => {
                let spots = secrets::in_args(args);
                let args = args
                    .iter()
                    .zip(&spots)
                    .map(|(argument, spots)| parts(argument, spots, env, self.syntax(), &values));
                Parted::Command {
                    argv: [apart(program, &[])].into_iter().chain(args).collect(),
                    env: pairs(env),
                    dir: dir.as_ref().map(|dir| apart(dir, &[])),
                }
            }
            How::Url { url, headers, transport } => Parted::Url {
                url: apart(url, &secrets::in_url(url)),
                headers: pairs(headers),
                transport: *transport,
            },
        }
    }
}

/// The parts of a text. What looks like a variable of these, `${NAME}`, is no matter of the editor:
/// the program has it in its own environment, and fills it in.
fn parts(
    text: &str,
    spots: &[Spot],
    env: &[(String, String)],
    syntax: Syntax,
    values: &Values<'_>,
) -> Parts {
    let pieces = pieces(text, syntax);
    // What has a variable in it is no secret: its editor does not have it in its file.
    let is_filled = |spot: &Spot| {
        let mut others = pieces.iter().filter(|(_, piece)| !matches!(piece, Piece::Text(_)));
        others.any(|(range, _)| range.start < spot.range.end && spot.range.start < range.end)
    };
    let spots: Vec<&Spot> = spots.iter().filter(|spot| !is_filled(spot)).collect();
    let mut parts = Vec::new();
    for (range, piece) in &pieces {
        match piece {
            Piece::Text(_) => {
                let mut done = range.start;
                let within =
                    |spot: &&&Spot| spot.range.start >= range.start && spot.range.end <= range.end;
                for spot in spots.iter().filter(within) {
                    plain(&mut parts, &text[done..spot.range.start]);
                    let (value, hint) = (text[spot.range.clone()].to_owned(), spot.hint.clone());
                    parts.push(Part::Secret { value, hint });
                    done = spot.range.end;
                }
                plain(&mut parts, &text[done..range.end]);
            }
            Piece::Variable(name, None)
                if text[range.clone()].starts_with(&format!("${{{name}"))
                    && env.iter().any(|(own, _)| own == name) =>
            {
                plain(&mut parts, &text[range.clone()]);
            }
            Piece::Variable(name, otherwise) => {
                parts.push(Part::Variable((*name).to_owned(), otherwise.map(str::to_owned)));
            }
            Piece::Input(id) => parts.push(Part::Input((*id).to_owned())),
            Piece::File(path) => parts.push(Part::File(file(path, values))),
            Piece::Folder(name) => plain(&mut parts, &folder(name, values)),
        }
    }
    parts
}

/// Adds what is typed to what was typed before.
fn plain(parts: &mut Parts, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Plain(before)) => before.push_str(text),
        _ => parts.push(Part::Plain(text.to_owned())),
    }
}

fn file(path: &str, values: &Values<'_>) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(inner) => values.home.join(inner),
        None => values.folder.join(Path::new(path)),
    }
}
