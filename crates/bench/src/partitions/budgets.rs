//! Point reads that are charged to a budget, and the same reads on a server without budgets.

use anyhow::Result;

use super::keys::{compare, reads_checked};
use super::report::BudgetReport;
use super::{PartitionsBench, SMALL_ITEMS_MAX};
use crate::workload::Mix;

/// More throughput than the clients can use, so that the server refuses nothing.
const AMPLE: u32 = 1_000_000;

pub(super) async fn measure(
    unmetered: &PartitionsBench<'_>,
    metered: &PartitionsBench<'_>,
) -> Result<BudgetReport> {
    let items = unmetered.options.items().min(SMALL_ITEMS_MAX);
    let uncounted = unmetered.filled("reads", items, None, None).await?;
    // The same items on another server, because enforcement is a setting of the whole server.
    let charged = metered.filled("reads", items, None, Some(AMPLE)).await?;
    let mut pairs = Vec::new();
    // The two servers take turns, so that a change of the machine affects both.
    for round in 0..unmetered.options.rounds {
        let off = unmetered
            .drive(&uncounted, &Mix::ReadUniform, round)
            .await?;
        let on = metered.drive(&charged, &Mix::ReadUniform, round).await?;
        pairs.push([
            reads_checked(&on, unmetered)?,
            reads_checked(&off, unmetered)?,
        ]);
    }
    Ok(BudgetReport {
        connections: charged.connections,
        reads: compare(&pairs),
    })
}
