//! The data a run works on: made before, deleted after.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result, bail};

use crate::connection::Connection;
use crate::driver::{Drive, Span, drive};
use crate::report::LoadReport;
use crate::request::{RequestWriter, Target};
use crate::workload::{CONFLICT, Mix};

const CONNECTIONS_MIN: u16 = 32;
const CREATED: u16 = 201;

/// What this run created, and therefore deletes.
pub(crate) enum Created {
    Nothing,
    Container,
    Database,
}

pub(crate) async fn create_container(target: &Target, throughput: Option<u32>) -> Result<Created> {
    create(target, throughput, None).await
}

/// A container with this indexing policy.
pub(crate) async fn create_indexed(target: &Target, indexing: &str) -> Result<Created> {
    create(target, None, Some(indexing)).await
}

async fn create(
    target: &Target,
    throughput: Option<u32>,
    indexing: Option<&str>,
) -> Result<Created> {
    let mut admin = Admin::open(target).await?;
    admin.writer.create_database();
    let database = admin.create("creating the database").await?;
    admin.writer.create_container(throughput, indexing);
    let container = admin.create("creating the container").await?;
    Ok(match (database, container) {
        (true, _) => Created::Database,
        (false, true) => Created::Container,
        (false, false) => Created::Nothing,
    })
}

pub(crate) async fn delete(target: &Target, created: &Created) -> Result<()> {
    let mut admin = Admin::open(target).await?;
    match created {
        Created::Nothing => return Ok(()),
        Created::Container => admin.writer.delete_container(),
        Created::Database => admin.writer.delete_database(),
    }
    admin
        .expect(&[204], "deleting what the run created")
        .await?;
    Ok(())
}

/// Creates the items below `plan.keys.loaded()`; those that exist already stay as they are.
pub(crate) async fn load(plan: &Drive) -> Result<LoadReport> {
    let plan = Drive {
        title: "load".to_owned(),
        mix: Mix::Load(Arc::new(AtomicU64::new(0))),
        connections: plan.connections.max(CONNECTIONS_MIN),
        // Not the values a measured create draws again.
        seed: !plan.seed,
        span: Span::Exhausted,
        ..plan.clone()
    };
    let measured = drive(&plan).await.context("loading the items")?;
    let existing = measured.statistics.errors_with(CONFLICT);
    let failed = measured.statistics.errors() - existing;
    if failed > 0 {
        let failure = measured.statistics.first_failure;
        let (status, body) = failure.map_or((0, String::new()), |f| (f.status, f.body));
        bail!("{failed} items could not be loaded; the first was answered {status}: {body}");
    }
    Ok(LoadReport {
        created: measured.statistics.successes(),
        existing,
        seconds: measured.elapsed.as_secs_f64(),
        per_second: measured.per_second(),
    })
}

struct Admin {
    connection: Connection,
    writer: RequestWriter,
}

impl Admin {
    async fn open(target: &Target) -> Result<Self> {
        let connection = Connection::open(target.endpoint.clone())
            .await
            .with_context(|| format!("connecting to {}", target.endpoint.authority()))?;
        Ok(Self {
            connection,
            writer: RequestWriter::new(target.clone()),
        })
    }

    /// Whether the resource is new.
    async fn create(&mut self, what: &str) -> Result<bool> {
        Ok(self.expect(&[CREATED, CONFLICT], what).await? == CREATED)
    }

    async fn expect(&mut self, statuses: &[u16], what: &str) -> Result<u16> {
        let exchange = self.connection.exchange(self.writer.bytes()).await;
        let response = exchange.with_context(|| what.to_owned())?;
        let status = response.head.status;
        if !statuses.contains(&status) {
            bail!(
                "{what}: answer {status}: {}",
                String::from_utf8_lossy(response.body)
            );
        }
        Ok(status)
    }
}
