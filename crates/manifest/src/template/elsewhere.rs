//! Templates that stand in other files than the manifest. Called by `prompt` with the texts of
//! those files; reads none itself.

use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::place::Placed;
use crate::template::origin::Origin;
use crate::template::{Compiler, Escape, Known, Template};
use minijinja::Environment;
use std::mem;

impl Compiler<'_> {
    /// Compiles the part of a file from `start` on. Nothing is filled in, and places are those in
    /// that file.
    pub(crate) fn compile_file(
        &mut self,
        typed: &Placed<String>,
        (text, start): (&str, usize),
        known: Known<'_>,
    ) -> Result<Template, Wrong> {
        let source = (text[start..].to_owned(), Origin::Verbatim { start });
        self.compile_source(Escape::None, typed.clone(), source, known)
    }

    /// Compiles what stands in another file.
    pub(crate) fn within<T>(
        &mut self,
        surroundings: &Surroundings<'_>,
        act: impl FnOnce(&mut Compiler<'_>) -> T,
    ) -> T {
        let environment = mem::replace(&mut self.environment, Environment::empty());
        let mut inner = Compiler { surroundings, environment, ..*self };
        let done = act(&mut inner);
        (self.compiled, self.filled) = (inner.compiled, inner.filled);
        self.environment = inner.environment;
        done
    }
}
