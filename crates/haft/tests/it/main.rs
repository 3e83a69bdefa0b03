//! The library as a program uses it.

mod mistakes;
mod testing;
mod tools;
