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
