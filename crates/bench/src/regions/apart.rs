//! What a client of one region notices of an account in which all regions write, where each region has
//! a processor of its own, as on a machine of its own.
//!
//! Each region is a process. The client, the region that it asks and the server without regions that it
//! is compared with share one processor, which is most of what the other region cannot take from them;
//! the disk is everybody's.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use anyhow::{Context, Result};

use super::Bench;
use super::account::{NAMES, filled, target};
use super::local::{Both, ITEMS_MAX, Load};
use super::operator::Operator;
use super::report::LocalReport;
use crate::processors::{self, Pinned};
use crate::server::{PeerPlan, ServerProcess, ServerProgram, data_directory};
use crate::workload::Mix;

const CONTAINER: &str = "apart";

pub(super) async fn measure(bench: &Bench<'_>) -> Result<Vec<LocalReport>> {
    let (_pinned, elsewhere) = Pinned::to_first()?;
    let directory = data_directory(bench.options)?;
    let (here, _there) = start(bench.program, directory.path(), elsewhere).await?;
    let management = here.management.as_ref();
    let management = management.context("the server does not say where operators are heard")?;
    let mut operator = Operator::connect(management).await?;
    // Until it has heard of the other region, it makes no container.
    operator.settle().await?;
    let items = bench.options.items().min(ITEMS_MAX);
    let regional = target(bench.options, &here.endpoint, CONTAINER)?;
    let regional = filled(bench.options, regional, items).await?;
    operator.settle().await?;
    let alone = data_directory(bench.options)?;
    let alone = ServerProcess::start(bench.program, alone.path()).await?;
    let base = target(bench.options, &alone.endpoint, CONTAINER)?;
    let base = filled(bench.options, base, items).await?;
    let mut both = Both {
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

/// The region that is asked, and the other one, on a processor of its own.
async fn start(
    program: &ServerProgram,
    directory: &Path,
    elsewhere: u32,
) -> Result<(ServerProcess, ServerProcess)> {
    let certificates = directory.join("certificates");
    let names = [NAMES[0], NAMES[1]];
    let made = (program.certificates_command)(&certificates, &names).output();
    let made = made.context("making certificates")?;
    anyhow::ensure!(
        made.status.success(),
        "making certificates: {}",
        made.status
    );
    let places = [free_address()?, free_address()?];
    let plan = |own: usize| {
        let other = 1 - own;
        PeerPlan {
            name: names[own].to_owned(),
            listen: places[own],
            certificates: certificates.clone(),
            other: (names[other].to_owned(), places[other]),
            joins: own > 0,
        }
    };
    let command = |own: usize| {
        let data = directory.join(format!("region-{own}"));
        (program.peer_command)(&data, &plan(own))
    };
    let there = processors::on(elsewhere, &command(1));
    // Neither is ready without the other.
    tokio::try_join!(
        ServerProcess::run(command(0), program.settings.clone()),
        ServerProcess::run(there, program.settings.clone()),
    )
}

/// One that is free now.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    listener.local_addr().context("looking for a free port")
}
