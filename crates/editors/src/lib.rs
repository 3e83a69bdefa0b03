//! The files in which editors and other hosts keep their MCP servers: where they are, what is in
//! them, and how to put a server in or take it out without changing another byte. Used by the
//! command line; starts no server, and knows neither the protocol nor haft.yaml.
//!
//! ```
//! use haft_editors::{Surroundings, System, discover};
//!
//! let home = std::env::temp_dir().join("nobody");
//! let surroundings =
//!     Surroundings { system: System::Linux, directory: home.clone(), home, variables: vec![] };
//! assert!(discover(&surroundings, None).found.is_empty());
//! ```

mod discover;
mod edit;
mod entry;
mod format;
mod host;
pub mod limits;
mod mistake;
mod normal;
mod parts;
mod places;
mod reading;
mod secrets;
mod variables;
mod written;

pub use discover::{Discovery, Fault, Found, discover, discover_file};
pub use edit::{Change, Edit};
pub use entry::{Entry, How, Transport, shown_args, shown_url};
pub use format::Format;
pub use host::{HOSTS, Host, host};
pub use mistake::Mistake;
pub use parts::{Part, Parted, Parts};
pub use places::{HostFile, Surroundings, System};
pub use variables::{Need, Values};
pub use written::{check_name, written};
