//! Measures the effect of other write regions on a client of one region, where each region has a
//! processor of its own, as on a separate machine.
//!
//! Each region is a process. The client, the region that it calls and the server without regions
//! share one processor, so that the other region takes no processor time from them; all processes
//! share the disk.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use anyhow::{Context, Result};

use super::RegionsBench;
use super::account::{NAMES, filled, target};
use super::local::{ITEMS_MAX, Load, LocalComparison};
use super::operator::RegionsOperator;
use super::report::LocalReport;
use crate::processors::{self, PinnedProcess};
use crate::program::ServerProgram;
use crate::server::{PeerPlan, ServerProcess, data_directory};
use crate::workload::Mix;

const CONTAINER: &str = "apart";

pub(super) async fn measure(bench: &RegionsBench<'_>) -> Result<Vec<LocalReport>> {
    let (_pinned, elsewhere) = PinnedProcess::to_first()?;
    let directory = data_directory(bench.options)?;
    let (local, _remote) = start(bench.program, directory.path(), elsewhere).await?;
    let management = local.management.as_ref();
    let management = management.context("the server does not say where operators are heard")?;
    let mut operator = RegionsOperator::connect(management).await?;
    // The region refuses to create a container before it has contact with the other region.
    operator.settle().await?;
    let items = bench.options.items().min(ITEMS_MAX);
    let regional = target(bench.options, &local.endpoint, CONTAINER)?;
    let regional = filled(bench.options, regional, items).await?;
    operator.settle().await?;
    let alone = data_directory(bench.options)?;
    let alone = ServerProcess::start(bench.program, alone.path()).await?;
    let base = target(bench.options, &alone.endpoint, CONTAINER)?;
    let base = filled(bench.options, base, items).await?;
    let mut both = LocalComparison {
        bench,
        operator: &mut operator,
        regional,
        base,
    };
    both.compare(&[
        (
            "point reads, a processor each",
            Load::Full(Mix::ReadUniform),
            true,
        ),
        ("creates, a processor each", Load::Full(Mix::Create), true),
    ])
    .await
}

/// Starts the region that the client calls, and the other region on a processor of its own.
async fn start(
    program: &ServerProgram,
    directory: &Path,
    elsewhere: u32,
) -> Result<(ServerProcess, ServerProcess)> {
    let certificates = directory.join("certificates");
    let names = [NAMES[0], NAMES[1]];
    let made = program.certificates_command(&certificates, &names).output();
    let made = made.context("making certificates")?;
    anyhow::ensure!(
        made.status.success(),
        "making certificates: {}",
        made.status
    );
    let addresses = [free_address()?, free_address()?];
    let plan = |own: usize| {
        let other = 1 - own;
        PeerPlan {
            name: names[own].to_owned(),
            listen: addresses[own],
            certificates: certificates.clone(),
            other: (names[other].to_owned(), addresses[other]),
            // The first region founds the account, and the second one joins it.
            joins: own > 0,
        }
    };
    let command = |own: usize| {
        let data = directory.join(format!("region-{own}"));
        program.peer_command(&data, &plan(own))
    };
    // The other region has another processor; this process and its own region share the first.
    let remote = processors::on(elsewhere, &command(1));
    // Both processes start together, because each process waits for the other during its start.
    tokio::try_join!(
        ServerProcess::run(program, command(0)),
        ServerProcess::run(program, remote),
    )
}

/// An address that is free now. Another process could bind this address before the server.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    listener.local_addr().context("looking for a free port")
}
