//! A text that is part of a longer one, which all parts keep together: what clients are told of a
//! tool stands in memory once, in the page of the list that they are sent. Knows no JSON.

use std::ops::Range;
use std::sync::Arc;

/// See above. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Text {
    whole: Arc<str>,
    start: u32,
    end: u32,
}

impl Text {
    /// A text of its own: what an encoder has written.
    pub(crate) fn new(written: &[u8]) -> Self {
        let whole: Arc<str> = text(written).into();
        let end = u32::try_from(whole.len()).expect("what a tool says is not that long");
        Self { whole, start: 0, end }
    }

    pub(crate) fn get(&self) -> &str {
        &self.whole[self.start as usize..self.end as usize]
    }

    /// Is from now on that part of `whole`, if it says the same.
    pub(crate) fn become_part(&mut self, whole: &Arc<str>, range: Range<usize>) {
        let is_same = whole.get(range.clone()) == Some(self.get());
        if let (true, Ok(start), Ok(end)) =
            (is_same, u32::try_from(range.start), u32::try_from(range.end))
        {
            *self = Self { whole: Arc::clone(whole), start, end };
        }
    }
}

/// What an encoder has written.
pub(crate) fn text(written: &[u8]) -> &str {
    std::str::from_utf8(written).expect("encoders write text")
}
