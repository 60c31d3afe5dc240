//! What can go wrong below us.

/// The disk or the engine failed. Nothing a client did causes these.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the storage engine failed")]
    Engine(#[from] fjall::Error),
    #[error("the data directory was written by a newer version of the storage engine")]
    Version,
}
