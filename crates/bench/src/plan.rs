//! Turns options into a measurement plan.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use orrery_client::Signer;

use crate::driver::{MeasurementPlan, OnThrottle, Span};
use crate::endpoint::Endpoint;
use crate::item::ItemShape;
use crate::item_keys::unix_seconds;
use crate::item_keys::{ID_BYTES_MAX, ItemKeys};
use crate::options::{Options, Workload};
use crate::request::Target;
use crate::workload::Mix;

pub(crate) fn plan(options: &Options) -> Result<MeasurementPlan> {
    let url = options
        .endpoint
        .as_deref()
        .context("no endpoint: pass --endpoint URL")?;
    let endpoint = Endpoint::parse(url)?;
    let signer = Signer::new(&options.key);
    let target = Target::new(endpoint, signer, [&options.database, &options.container])?;
    Ok(MeasurementPlan {
        title: options.workload.name(),
        target,
        mix: mix(options.workload),
        keys: Arc::new(ItemKeys::new(loaded_items(options), unix_seconds())),
        shape: ItemShape::new(options.value_bytes, ID_BYTES_MAX)?,
        connections: options.connections,
        threads: threads(options),
        seed: options.seed,
        on_throttle: OnThrottle::Wait,
        span: Span::Timed {
            warmup: Duration::from_secs(options.warmup),
            duration: Duration::from_secs(options.duration),
        },
        progress: options.progress,
    })
}

/// The mix of a workload. Workloads with measurements of their own use it only for their creates.
fn mix(workload: Workload) -> Mix {
    match workload {
        Workload::Read | Workload::Bare | Workload::ReadVsBare | Workload::Overload => {
            Mix::ReadUniform
        }
        Workload::Create
        | Workload::GroupCommit
        | Workload::Postgres
        | Workload::Start
        | Workload::Suite
        | Workload::QuerySuite
        | Workload::Ordered
        | Workload::Scripts
        | Workload::Partitions
        | Workload::Regions => Mix::Create,
        Workload::Upsert => Mix::UpsertUniform,
        Workload::YcsbA => Mix::ReadReplace(50),
        Workload::YcsbB => Mix::ReadReplace(95),
        Workload::YcsbC => Mix::ReadReplace(100),
        Workload::YcsbD => Mix::ReadLatestCreate(95),
        Workload::YcsbE => Mix::ScanCreate(95),
        Workload::YcsbF => Mix::ReadModifyWrite(50),
    }
}

/// The number of items to load. Pure inserts begin with an empty container; the bare server needs
/// one item to repeat.
pub(crate) fn loaded_items(options: &Options) -> u64 {
    match options.workload {
        Workload::Create | Workload::GroupCommit | Workload::Postgres => 0,
        Workload::Bare => 1,
        _ => options.items(),
    }
}

/// The number of client threads.
pub(crate) fn threads(options: &Options) -> u16 {
    options.threads.unwrap_or_else(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // The other half of the cores is left to the server.
        u16::try_from(cores / 2).unwrap_or(u16::MAX).max(1)
    })
}
