//! The library as a program uses it.

mod given;
mod mistakes;
mod reads;
mod testing;
mod tools;
