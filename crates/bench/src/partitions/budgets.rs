//! Point reads that are charged to a budget, and the same reads where nothing is counted.

use anyhow::Result;

use super::keys::{compare, reads_checked};
use super::report::BudgetReport;
use super::{Bench, SMALL_ITEMS_MAX};
use crate::workload::Mix;

/// More than can be used, so that nothing is refused.
const AMPLE: u32 = 1_000_000;

pub(super) async fn measure(free: &Bench<'_>, metered: &Bench<'_>) -> Result<BudgetReport> {
    let items = free.options.items().min(SMALL_ITEMS_MAX);
    let uncounted = free.filled("reads", items, None, None).await?;
    let charged = metered.filled("reads", items, None, Some(AMPLE)).await?;
    let mut pairs = Vec::new();
    for round in 0..free.options.rounds {
        let off = free.drive(&uncounted, &Mix::ReadUniform, round).await?;
        let on = metered.drive(&charged, &Mix::ReadUniform, round).await?;
        pairs.push([reads_checked(&on, free)?, reads_checked(&off, free)?]);
    }
    Ok(BudgetReport {
        connections: charged.connections,
        reads: compare(&pairs),
    })
}
