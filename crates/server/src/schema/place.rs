//! Where a check or a repair stands inside a value, and how that is written for people. Read by
//! everything that walks a value.

use super::wording::shorten;

/// A chain of steps on the stack, written out only if there is something to say.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Root,
    Key(&'a Self, &'a str),
    Index(&'a Self, u64),
}

impl Place<'_> {
    /// Like `filter.tags[2]`.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        self.write(&mut path);
        path
    }

    fn write(&self, path: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(parent, key) => {
                parent.write(path);
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&shorten(key));
            }
            Self::Index(parent, index) => {
                parent.write(path);
                path.push_str(&format!("[{index}]"));
            }
        }
    }
}
