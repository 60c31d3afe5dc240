//! Positions in the query text.

/// Zero-based character offsets into the query text; the end is exclusive.
///
/// All spans compare as equal, so that two syntax trees with the same meaning are equal, wherever
/// their words stand.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

/// The spans of the items of a list. All of them compare as equal, as spans do.
#[derive(Debug, Clone, Default)]
pub struct Spans(Box<[Span]>);

impl Spans {
    /// The span of one item; of a tree that was not parsed, an empty one.
    pub fn of(&self, index: usize) -> Span {
        self.0.get(index).copied().unwrap_or_default()
    }
}

impl From<Vec<Span>> for Spans {
    fn from(spans: Vec<Span>) -> Spans {
        Spans(spans.into())
    }
}

impl PartialEq for Spans {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Spans {}
