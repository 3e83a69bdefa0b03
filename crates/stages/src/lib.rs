//! Where the time of a request goes: the stages that it passes in a server, and how long it was in
//! each. Whoever ends a stage says so by one [`mark`]; what is not turned on costs one load of a
//! flag for each mark. Knows no message, no wire and no tool, and writes nothing anywhere.
//!
//! A request is a [`Trip`], which its wire begins and which goes with it from thread to thread.
//! Time belongs to whatever stage ends next, so that no time is lost and none counts twice: waiting
//! for a program is the handler's, waiting for a turn is the queue's.
//!
//! ```
//! use haft_stages::{Reads, Snapshot, Stage, Trip, mark};
//! haft_stages::turn_on();
//! let trip = Trip::begin(&Reads::default());
//! trip.mark(Stage::Decode);
//! let sum = trip.run(|| {
//!     let sum = 1 + 2;
//!     mark(Stage::Handler); // somewhere below, where nobody knows the trip
//!     sum
//! });
//! trip.mark(Stage::Encode);
//! trip.end();
//! let spent = Snapshot::now();
//! assert_eq!((sum, spent.all().count()), (3, 1));
//! assert!(spent.of(Stage::Handler).max_ns() > 0);
//! ```

mod histogram;
mod snapshot;
mod stage;
mod trip;

pub use snapshot::{Snapshot, Spent};
pub use stage::Stage;
pub use trip::{Reads, Trip, is_on, mark, turn_off, turn_on};
