//! A key-value store with times to live, in memory or in a file that survives a crash: what is
//! acknowledged is kept. Tools keep their state in it. It knows no protocol and no tool.
//!
//! ```
//! use haft_store::Store;
//! use std::time::Duration;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store = Store::memory()?;
//! store.set("city", b"Paris", Some(Duration::from_secs(60))).await?;
//! assert_eq!(store.get("city")?.as_deref(), Some(&b"Paris"[..]));
//! assert_eq!(store.add("visits", 2, None).await?, 2);
//! # Ok::<(), haft_store::StoreError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
#[cfg(test)]
mod disk_tests;
mod error;
mod kept;
pub mod limits;
mod opened;
mod store;
mod table;
mod writer;

pub use error::StoreError;
pub use store::Store;
