//! RNTBD, the binary protocol of clients in direct mode: frames, tokens, the negotiation of a connection.
//!
//! A frame is a head with numbers, a list of typed tokens, and a payload for some frames. All token
//! names are rows of one table ([`RequestToken`], [`ResponseToken`]). Reading is total: every
//! sequence of bytes is a frame, the begin of one, or [`Malformed`], and a reader needs no more
//! bytes than its limits allow. Payloads are not copied.
//!
//! This crate does no I/O, and knows neither HTTP nor the meaning of a token.

mod context;
mod frame;
mod guid;
mod malformed;
mod operation;
mod table;
mod token;
mod token_type;

pub use context::{ContextRequest, ContextResponse, refuse_context};
pub use frame::{
    FrameLimits, HEAD_BYTES, RequestHead, RequestReader, Response, ResponseHead, Step,
};
pub use guid::Guid;
pub use malformed::Malformed;
pub use operation::{OperationType, ResourceType};
pub use table::{
    ContextRequestToken, ContextResponseToken, RequestToken, ResponseToken, TokenName,
};
pub use token::{Token, TokenWriter, Tokens};
pub use token_type::TokenType;
