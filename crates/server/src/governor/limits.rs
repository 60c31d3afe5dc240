//! How much is too much.

/// Memory for requests where nobody says how much there is.
const MEMORY_BYTES: usize = 256 * 1024 * 1024;

/// The defaults are those of a small machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// What all requests and their answers may make the process hold.
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: MEMORY_BYTES,
        }
    }
}
