//! A server with regions that was started to be measured.

use std::sync::Arc;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::Bench;
use super::operator::Operator;
use crate::date::unix_seconds;
use crate::driver::Drive;
use crate::endpoint::Endpoint;
use crate::keyspace::KeySpace;
use crate::load::{create_container, load};
use crate::options::Options;
use crate::plan::plan;
use crate::request::Target;
use crate::server::{RegionsPlan, ServerProcess, data_directory};
use crate::signature::Signer;

/// In the order in which they are named to servers.
pub(super) const NAMES: [&str; 3] = ["West US", "North Europe", "East Asia"];

pub(super) struct Account<'a> {
    options: &'a Options,
    // Before the directory, so that it ends first.
    server: ServerProcess,
    _directory: TempDir,
    pub(super) operator: Operator,
}

impl<'a> Account<'a> {
    /// With the first so many of the regions.
    pub(super) async fn start(
        bench: &Bench<'a>,
        regions: usize,
        kind: RegionsPlan,
    ) -> Result<Account<'a>> {
        let directory = data_directory(bench.options)?;
        let plan = RegionsPlan {
            names: NAMES[..regions].iter().map(ToString::to_string).collect(),
            ..kind
        };
        let server = ServerProcess::start_regions(bench.program, directory.path(), &plan).await?;
        let management = server.management.as_ref();
        let management = management.context("the server does not say where operators are heard")?;
        let operator = Operator::connect(management).await?;
        Ok(Account {
            options: bench.options,
            server,
            _directory: directory,
            operator,
        })
    }

    pub(super) fn regions(&self) -> usize {
        self.server.regions.len()
    }

    /// A container, as it is reached in a region.
    pub(super) fn target(&self, region: usize, container: &str) -> Result<Target> {
        let url = self.server.regions.get(region);
        let url = url.context("the server has fewer regions than were asked for")?;
        target(self.options, url, container)
    }

    /// A new container with so many items, in all regions.
    pub(super) async fn filled(&mut self, container: &str, items: u64) -> Result<Drive> {
        let filled = filled(self.options, self.target(0, container)?, items).await?;
        self.operator.settle().await?;
        Ok(filled)
    }
}

pub(super) fn target(options: &Options, url: &str, container: &str) -> Result<Target> {
    let (endpoint, signer) = (Endpoint::parse(url)?, Signer::new(&options.key)?);
    Target::new(endpoint, signer, [&options.database, container])
}

/// A new container with so many items.
pub(super) async fn filled(options: &Options, target: Target, items: u64) -> Result<Drive> {
    let named = Options {
        endpoint: Some(format!("http://{}", target.endpoint.authority())),
        ..options.clone()
    };
    let filled = Drive {
        target,
        keys: Arc::new(KeySpace::new(items, unix_seconds())),
        ..plan(&named)?
    };
    create_container(&filled.target, None).await?;
    if items > 0 {
        load(&filled).await?;
    }
    Ok(filled)
}
