//! A process that ends with its test, however that one ends. It asks nobody to end: what is to be
//! seen of an orderly end, a test does itself.

use std::process::Child;

pub(crate) struct Guard(pub(crate) Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}
