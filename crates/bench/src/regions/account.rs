//! A server with several regions that the driver starts for a measurement.

use std::sync::Arc;

use anyhow::{Context, Result};
use orrery_client::Signer;
use tempfile::TempDir;

use super::RegionsBench;
use super::operator::RegionsOperator;
use crate::driver::MeasurementPlan;
use crate::endpoint::Endpoint;
use crate::item_keys::ItemKeys;
use crate::item_keys::unix_seconds;
use crate::load::{create_container, load};
use crate::options::Options;
use crate::plan::plan;
use crate::request::Target;
use crate::server::{RegionsPlan, ServerProcess, data_directory};

/// The names of the regions, in the order in which servers receive them.
pub(super) const NAMES: [&str; 3] = ["West US", "North Europe", "East Asia"];

pub(super) struct RegionsServer<'a> {
    options: &'a Options,
    // Fields drop in order: the server ends before its directory is deleted.
    server: ServerProcess,
    _directory: TempDir,
    pub(super) operator: RegionsOperator,
}

impl<'a> RegionsServer<'a> {
    /// Starts a server with the first `regions` of the names.
    pub(super) async fn start(
        bench: &RegionsBench<'a>,
        regions: usize,
        kind: RegionsPlan,
    ) -> Result<RegionsServer<'a>> {
        let directory = data_directory(bench.options)?;
        let plan = RegionsPlan {
            names: NAMES[..regions].iter().map(ToString::to_string).collect(),
            ..kind
        };
        let server = ServerProcess::start_regions(bench.program, directory.path(), &plan).await?;
        let management = server.management.as_ref();
        let management = management.context("the server does not say where operators are heard")?;
        let operator = RegionsOperator::connect(management).await?;
        Ok(RegionsServer {
            options: bench.options,
            server,
            _directory: directory,
            operator,
        })
    }

    pub(super) fn regions(&self) -> usize {
        self.server.regions.len()
    }

    /// A container, at the endpoint of one region.
    pub(super) fn target(&self, region: usize, container: &str) -> Result<Target> {
        let url = self.server.regions.get(region);
        let url = url.context("the server has fewer regions than were asked for")?;
        target(self.options, url, container)
    }

    /// Creates a container, loads the items, and waits until all regions have them.
    pub(super) async fn filled(&mut self, container: &str, items: u64) -> Result<MeasurementPlan> {
        let filled = filled(self.options, self.target(0, container)?, items).await?;
        // Measurements begin only when every region has all items.
        self.operator.settle().await?;
        Ok(filled)
    }
}

pub(super) fn target(options: &Options, url: &str, container: &str) -> Result<Target> {
    let (endpoint, signer) = (Endpoint::parse(url)?, Signer::new(&options.key));
    Target::new(endpoint, signer, [&options.database, container])
}

/// Creates a container and loads the items.
pub(super) async fn filled(
    options: &Options,
    target: Target,
    items: u64,
) -> Result<MeasurementPlan> {
    let named = Options {
        endpoint: Some(format!("http://{}", target.endpoint.authority())),
        ..options.clone()
    };
    let filled = MeasurementPlan {
        target,
        keys: Arc::new(ItemKeys::new(items, unix_seconds())),
        ..plan(&named)?
    };
    create_container(&filled.target, None).await?;
    if items > 0 {
        load(&filled).await?;
    }
    Ok(filled)
}
