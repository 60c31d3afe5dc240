//! Errors of a region's identity, and errors of a connection.

use std::io;
use std::path::PathBuf;

/// The reason why a region cannot link to others.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] io::Error),
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, #[source] io::Error),
    #[error("{0}: {1}")]
    File(PathBuf, String),
    #[error("{0}")]
    Certificate(String),
    #[error("the region name '{0}' needs 1 to 63 letters and digits")]
    Name(String),
    #[error("'{0}' and '{1}' would have the same certificate; call one of them differently")]
    Alike(String, String),
    #[error("the certificate is not for {0}")]
    OtherName(String),
}

/// The reason why a connection ends or is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no answer within {0:?}")]
    TimedOut(std::time::Duration),
    #[error("it closed the connection")]
    Closed,
    #[error("nothing of what was sent to it is read")]
    Silent,
    #[error("the link was cut")]
    Cut,
    #[error("a newer connection takes its place")]
    Replaced,
    #[error("it is a region of the account '{0}'")]
    OtherAccount(String),
    #[error("it says it is '{0}'")]
    OtherRegion(String),
    #[error("it wants to speak to '{0}'")]
    NotMeant(String),
    #[error("its certificate is not for {0}")]
    NotCertified(String),
    #[error("a frame of {0} bytes is too large")]
    TooLarge(usize),
    #[error("it sends what this version cannot read")]
    Unreadable,
    #[error("this region stops")]
    Stopping,
}
