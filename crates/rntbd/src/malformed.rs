//! Why a frame cannot be read.

/// A frame that ends its connection: its sender and its reader no longer agree on where the next
/// frame begins, or did not agree on the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("a token ends beyond its frame, or a frame is shorter than its head")]
    Cut,
    #[error("the token {0:#06x} has an unknown type")]
    Type(u16),
    #[error("the token {0:#06x} has a value of another type")]
    Value(u16),
    #[error("the frame is larger than the limits")]
    TooLarge,
    #[error("the first frame does not negotiate the context of the connection")]
    NoContext,
    #[error("the negotiation lacks the token {0:#06x}")]
    Missing(u16),
    #[error("the client speaks version {0} of the protocol")]
    Version(i64),
}
