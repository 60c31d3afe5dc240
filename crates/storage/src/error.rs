//! Failures of the storage engine.

use std::sync::Arc;

/// The disk or the engine failed. No request of a client causes these errors.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the storage engine failed")]
    Engine(#[from] fjall::Error),
    #[error("the data directory was written by a newer version of the storage engine")]
    Version,
    #[error("index entries that were not yet in the index do not decode")]
    Damaged,
    #[error("index entries could not be written to the index")]
    Flush(#[source] Arc<Error>),
    #[error("{0} is missing from the state")]
    Missing(String),
    #[error("the storage engine could not make sense of its files: {0}")]
    Panicked(String),
    #[error("no thread could be started")]
    Thread(#[source] std::io::Error),
}
