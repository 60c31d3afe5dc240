//! The reasons why a request has no answer, or only a refusal.

use crate::Refusal;

pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot connect to {authority}")]
    Connect { authority: String, source: Cause },
    /// The connection broke after the request was sent. The server may have carried the request
    /// out.
    #[error("the connection broke before the answer was there")]
    Broken(#[source] hyper::Error),
    #[error(transparent)]
    Refused(Box<Refusal>),
    #[error("cannot read the answer of the server: {0}")]
    Answer(String),
    /// A name or a value in the request cannot be part of an HTTP message.
    #[error("{0} cannot be sent")]
    Unsendable(String),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(Box::new(refusal))
    }
}
