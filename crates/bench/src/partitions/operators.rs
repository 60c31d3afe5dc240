//! What operators ask of the partitions of a container: how they are, and to be cut anew.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::connection::Connection;
use crate::request::{RequestWriter, Target};

const OK: u16 = 200;

pub(super) struct Operator {
    connection: Connection,
    writer: RequestWriter,
}

#[derive(Debug, Deserialize)]
struct Listing {
    partitions: Vec<Part>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) items: u64,
    pub(super) bytes: u64,
    pub(super) counted: bool,
}

impl Operator {
    pub(super) async fn connect(target: Target) -> Result<Operator> {
        let connection = Connection::open(target.endpoint.clone())
            .await
            .with_context(|| format!("connecting to {}", target.endpoint.authority()))?;
        Ok(Operator {
            connection,
            writer: RequestWriter::new(target),
        })
    }

    /// The partitions in the order of their ranges.
    pub(super) async fn list(&mut self) -> Result<Vec<Part>> {
        self.writer.list_partitions();
        self.send("listing the partitions").await
    }

    /// Cuts in the middle of the data, or of the keys; how long that took, and what there is then.
    pub(super) async fn split(&mut self, id: &str, at: &str) -> Result<(Duration, Vec<Part>)> {
        let change = serde_json::json!({"split": {"id": id, "at": at}});
        self.change(&change, "splitting a partition").await
    }

    pub(super) async fn merge(&mut self, ids: [&str; 2]) -> Result<(Duration, Vec<Part>)> {
        let change = serde_json::json!({"merge": ids});
        self.change(&change, "merging two partitions").await
    }

    async fn change(
        &mut self,
        change: &serde_json::Value,
        what: &str,
    ) -> Result<(Duration, Vec<Part>)> {
        self.writer.change_partitions(change.to_string().as_bytes());
        let begun = Instant::now();
        let parts = self.send(what).await?;
        Ok((begun.elapsed(), parts))
    }

    async fn send(&mut self, what: &str) -> Result<Vec<Part>> {
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
