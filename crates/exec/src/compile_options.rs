//! The container's properties against which a query is compiled.

use crate::ComputedProperties;

/// Computed properties and functions of the container. By default a container has neither.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompileOptions<'a> {
    pub computed: Option<&'a ComputedProperties>,
    /// Names of the user-defined functions; `None` where the query must not call any.
    pub functions: Option<&'a [String]>,
}
