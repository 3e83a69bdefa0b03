//! Servers that parse nothing and answer constants, each as fast as this machine lets it: what
//! `cargo xtask bench limits` measures haft beside. No server of anybody's should be built on them.

mod answers;
#[cfg(target_os = "linux")]
mod epoll;
mod limits;
mod pipe;
mod said;
mod stack;

pub use answers::{Answers, Constant, Digits, UnusableAnswers, Which};
#[cfg(target_os = "linux")]
pub use epoll::serve as serve_epoll;
pub use pipe::serve as serve_pipe;
pub use said::listening;
pub use stack::serve as serve_hyper;
