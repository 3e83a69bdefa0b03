//! The library as a program uses it.

mod testing;
mod tools;
