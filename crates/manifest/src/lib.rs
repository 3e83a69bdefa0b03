//! haft.yaml becomes a server. [`load()`] reads and checks a file; the [`Manifest`] that it gives
//! has the server to serve and the addresses to serve it at. Opens no socket, and starts no program
//! and asks no server before a tool is called, a resource read, a prompt got or a value suggested.
//! The files of resources are read when clients read them.
//!
//! From as typed to as run: `tree` (YAML with places) → `decode` → `written` (as typed) → `meant`
//! (as run) → [`haft_server::Server`].
//!
//! ```
//! let yaml = r#"
//! server: { name: doorman }
//! tools:
//!   - name: greet
//!     description: Greets somebody.
//!     input: { name: string }
//!     text: "Hello, {{ name }}!"
//! "#;
//! let directory = std::env::current_dir()?;
//! let manifest = haft_manifest::parse(&directory.join("haft.yaml"), yaml)?;
//! assert_eq!(manifest.server()?.tool_names(), ["greet"]);
//! assert!(manifest.warnings().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod alias;
mod align;
mod amount;
mod arguments;
mod around;
mod below;
mod command;
mod complete;
mod cost;
mod decode;
mod fault;
mod feed;
mod fill;
mod filters;
mod forge;
mod hints;
mod http;
mod input;
mod json_text;
mod keys;
mod kind;
pub mod limits;
mod lint;
mod live;
mod load;
mod meant;
mod media_type;
mod offer;
mod openapi;
mod output;
mod pattern;
mod pipeline;
mod place;
mod problem;
mod prompt;
mod published;
mod reading;
mod resource;
mod rules;
mod seen;
mod shown;
mod stamp;
mod starter;
mod state;
mod tags;
mod template;
mod text;
mod tool;
mod tree;
mod upstream;
mod view;
mod walk;
mod written;

pub use address::canonical;
pub use around::{Mistake as AroundMistake, Surrounding};
pub use command::dumps::forbid_dumps;
pub use command::guardian::watch_over;
pub use command::orphans::{Adoption, Call};
pub use cost::{Cost, Part, tokens};
pub use fault::Fault;
pub use feed::mistake::FeedMistake;
pub use http::mistake::HttpMistake;
pub use lint::Warning;
pub use live::{Difference, Edit, Edits, Guest, Guests, Live, Owned, Reading, Tailor};
pub use load::{Manifest, load, parse, parse_with};
pub use meant::Listen;
pub use openapi::mistake::OpenApiMistake;
pub use pattern::Pattern;
pub use pipeline::mistake::Mistake as PipelineMistake;
pub use problem::Problem;
pub use published::json_schema;
pub use rules::{Rules, Selection, ToolRule, ToolRules, What};
pub use seen::Given;
pub use starter::starter;
pub use upstream::mistake::UpstreamMistake;
pub use upstream::{Reach, Upstream};
pub use view::View;
pub use view::mistake::ViewMistake;
pub use written::upstream::{Sessions, Start};
