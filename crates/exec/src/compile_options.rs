//! What a query is compiled against, besides its text and its parameters.

use crate::ComputedProperties;

/// What the container has beyond documents. By default it has nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompileOptions<'a> {
    pub computed: Option<&'a ComputedProperties>,
    /// The names of its user-defined functions; `None` when they cannot be called at all.
    pub functions: Option<&'a [String]>,
}
