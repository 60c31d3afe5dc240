//! The data of a run: created before the measurement, deleted after it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result, bail};

use crate::connection::Connection;
use crate::driver::{MeasurementPlan, Span, drive};
use crate::report::LoadReport;
use crate::request::{RequestWriter, Target};
use crate::workload::{CONFLICT, Mix};

const CONNECTIONS_MIN: u16 = 32;
const CREATED: u16 = 201;

/// The resources that this run created, and that this run therefore deletes.
pub(crate) enum CreatedResource {
    Nothing,
    Container,
    Database,
}

pub(crate) async fn create_container(
    target: &Target,
    throughput: Option<u32>,
) -> Result<CreatedResource> {
    create(target, throughput, None).await
}

/// Creates a container with this indexing policy.
pub(crate) async fn create_indexed(target: &Target, indexing: &str) -> Result<CreatedResource> {
    create(target, None, Some(indexing)).await
}

async fn create(
    target: &Target,
    throughput: Option<u32>,
    indexing: Option<&str>,
) -> Result<CreatedResource> {
    // A connection of its own, since the measured connections are opened later.
    let mut admin = Admin::open(target).await?;
    admin.writer.create_database();
    let database = admin.create("creating the database").await?;
    admin.writer.create_container(throughput, indexing);
    let container = admin.create("creating the container").await?;
    // A database that existed before the run belongs to the user, so only the container is deleted.
    Ok(match (database, container) {
        (true, _) => CreatedResource::Database,
        (false, true) => CreatedResource::Container,
        (false, false) => CreatedResource::Nothing,
    })
}

/// Deletes what `create` created.
pub(crate) async fn delete(target: &Target, created: &CreatedResource) -> Result<()> {
    let mut admin = Admin::open(target).await?;
    match created {
        CreatedResource::Nothing => return Ok(()),
        CreatedResource::Container => admin.writer.delete_container(),
        CreatedResource::Database => admin.writer.delete_database(),
    }
    admin
        .expect(&[204], "deleting what the run created")
        .await?;
    Ok(())
}

/// Creates the items below `plan.keys.loaded()`. Items that exist already stay unchanged.
pub(crate) async fn load(plan: &MeasurementPlan) -> Result<LoadReport> {
    let plan = MeasurementPlan {
        title: "load".to_owned(),
        mix: Mix::Load(Arc::new(AtomicU64::new(0))),
        // Loading is not measured, so it uses many connections even if the measurement uses one.
        connections: plan.connections.max(CONNECTIONS_MIN),
        // The measured creates use another seed, so that their values differ from the loaded
        // values.
        seed: !plan.seed,
        span: Span::Exhausted,
        ..plan.clone()
    };
    let measured = drive(&plan).await.context("loading the items")?;
    // A conflict is an item of an earlier run that kept its container.
    let existing = measured.statistics.errors_with(CONFLICT);
    let failed = measured.statistics.errors() - existing;
    if failed > 0 {
        let failure = measured.statistics.first_failure;
        let (status, body) = failure.map_or((0, String::new()), |f| (f.status, f.body));
        // A partly loaded data set would make reads fail during the measurement.
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

    /// Sends a create and returns whether the resource is new.
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
