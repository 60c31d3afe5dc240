//! The operator orders on the partitions of a container: list, split and merge.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::connection::Connection;
use crate::request::{RequestWriter, Target};

const OK: u16 = 200;

pub(super) struct PartitionsOperator {
    connection: Connection,
    writer: RequestWriter,
}

#[derive(Debug, Deserialize)]
struct Listing {
    partitions: Vec<PartitionStatus>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct PartitionStatus {
    pub(super) id: String,
    pub(super) items: u64,
    pub(super) bytes: u64,
    pub(super) counted: bool,
}

impl PartitionsOperator {
    pub(super) async fn connect(target: Target) -> Result<PartitionsOperator> {
        let connection = Connection::open(target.endpoint.clone())
            .await
            .with_context(|| format!("connecting to {}", target.endpoint.authority()))?;
        Ok(PartitionsOperator {
            connection,
            writer: RequestWriter::new(target),
        })
    }

    /// The partitions in the order of their key ranges.
    pub(super) async fn list(&mut self) -> Result<Vec<PartitionStatus>> {
        self.writer.list_partitions();
        self.send("listing the partitions").await
    }

    /// Splits a partition at the middle of its data or of its keys. Returns the time of the split,
    /// and the partitions after it.
    pub(super) async fn split(
        &mut self,
        id: &str,
        at: &str,
    ) -> Result<(Duration, Vec<PartitionStatus>)> {
        let change = serde_json::json!({"split": {"id": id, "at": at}});
        self.change(&change, "splitting a partition").await
    }

    pub(super) async fn merge(
        &mut self,
        ids: [&str; 2],
    ) -> Result<(Duration, Vec<PartitionStatus>)> {
        let change = serde_json::json!({"merge": ids});
        self.change(&change, "merging two partitions").await
    }

    /// Sends a split or a merge. The server answers when the new partitions serve requests.
    async fn change(
        &mut self,
        change: &serde_json::Value,
        what: &str,
    ) -> Result<(Duration, Vec<PartitionStatus>)> {
        self.writer.change_partitions(change.to_string().as_bytes());
        let begun = Instant::now();
        let parts = self.send(what).await?;
        Ok((begun.elapsed(), parts))
    }

    async fn send(&mut self, what: &str) -> Result<Vec<PartitionStatus>> {
        let exchange = self.connection.exchange(self.writer.bytes()).await;
        let response = exchange.with_context(|| what.to_owned())?;
        if response.head.status != OK {
            let body = String::from_utf8_lossy(response.body);
            bail!("{what} was answered {}: {body}", response.head.status);
        }
        let listing: Listing = serde_json::from_slice(response.body).context(what.to_owned())?;
        Ok(listing.partitions)
    }
}
