//! The parts of a region's task that only an account with one write region needs.

mod copies;
mod stream_replication;

pub(crate) use self::stream_replication::{StreamReplication, refusal};
