//! Where in the text something stands.

/// Zero-based character offsets into the query text, end exclusive.
///
/// All spans are equal to each other, so that two syntax trees are equal when they say the same,
/// wherever their texts put the words.
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
