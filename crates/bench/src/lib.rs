//! Loads a server of the Model Context Protocol, checks every answer, and says how fast it was: the
//! library behind `haft bench`. A plan becomes a load, a load becomes counts, and counts become a
//! report; it never prints.
//!
//! ```no_run
//! use haft_bench::{Ask, End, Load, LoadPlan, Plan, Target};
//! use haft_client::Launch;
//! use haft_proto::version::Revision;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), haft_bench::BenchError> {
//! let plan = Plan {
//!     target: Target::Command(Launch::new("haft", ["serve", "haft.yaml", "--stdio"])),
//!     revision: Revision::LATEST,
//!     asks: vec![Ask::call("add", r#"{"a": 17, "b": 25}"#)],
//!     load: LoadPlan { connections: 1, in_flight: 64, ..LoadPlan::default() },
//!     end: End::After(Duration::from_secs(10)),
//!     warmup: Duration::from_secs(1),
//!     timeout: Duration::from_secs(30),
//!     threads: 1,
//! };
//! let (warmup, end) = (plan.warmup, plan.end);
//! let mut load = Load::open(plan)?;
//! let stretch = load.stretch(warmup, end, &mut |_| true);
//! load.close();
//! assert_eq!(stretch.tally.failures(), 0);
//! # Ok(())
//! # }
//! ```

mod answer;
mod chart;
mod cold;
mod compare;
mod connection;
mod drive;
mod error;
mod flight;
mod greeting;
mod h2;
pub mod html;
mod http1;
pub mod limits;
mod load;
mod pace;
mod plan;
mod report;
mod request;
mod run;
mod series;
mod shown;
mod stages;
mod stream;
mod tally;
mod threshold;
mod usage;
mod wrong;

pub use cold::{Cold, cold};
pub use compare::{Comparison, Ratio, compare};
pub use error::BenchError;
pub use load::{Load, Progress, Stretch};
pub use plan::{Ask, End, HttpVersion, LoadPlan, Plan, Target, spread};
pub use report::{Latency, OfRequest, Planned, Point, Report, ServerUse, WrongCount};
pub use shown::shown_time;
pub use stages::OfStage;
pub use tally::Tally;
pub use threshold::{BadThreshold, Crossed, Figure, Threshold, regressions};
pub use usage::is_near;
pub use wrong::{Wrong, WrongKind};
