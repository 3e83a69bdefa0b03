//! The library as a program uses it.

mod mistakes;
mod reads;
mod testing;
mod tools;
