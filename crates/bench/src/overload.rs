//! Point reads of one container while clients request far more of another container than its
//! throughput allows.
//!
//! The flood is the worst kind of client: it upserts over all its connections and does not wait
//! after a 429. The readers are measured alone and beside the flood, in turns; the report compares
//! the 99th percentiles of both.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use crate::driver::{Measurement, MeasurementPlan, OnThrottle, Span, drive};
use crate::load::{create_container, delete};
use crate::median::median;
use crate::operation::OperationKind;
use crate::options::Options;
use crate::report::{RatioReport, Report};
use crate::request::Target;
use crate::workload::Mix;

const FLOODED_THROUGHPUT: u32 = 400;
const READERS: u16 = 4;
const READ_PERCENTILE: f64 = 0.99;

pub(crate) async fn measure(
    options: &Options,
    plan: &MeasurementPlan,
    report: &mut Report,
) -> Result<()> {
    let span = Span::Timed {
        warmup: Duration::from_secs(options.warmup),
        duration: Duration::from_secs(options.duration) / u32::from(options.rounds),
    };
    let readers = MeasurementPlan {
        connections: READERS,
        span,
        ..plan.clone()
    };
    // The flood uses another container of the same server, so that only the isolation of containers
    // protects the readers.
    let flood = MeasurementPlan {
        target: Target {
            container: format!("{}-flooded", plan.target.container),
            ..plan.target.clone()
        },
        mix: Mix::UpsertUniform,
        keys: Arc::clone(&plan.keys),
        on_throttle: OnThrottle::GoOn,
        span,
        ..plan.clone()
    };
    let created = create_container(&flood.target, Some(FLOODED_THROUGHPUT)).await?;
    let measured = alternate(options, &readers, &flood, report).await;
    // The container is deleted also after a failed measurement; its error comes first.
    let deleted = delete(&flood.target, &created).await;
    measured.and(deleted)
}

async fn alternate(
    options: &Options,
    readers: &MeasurementPlan,
    flood: &MeasurementPlan,
    report: &mut Report,
) -> Result<()> {
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        let alone = drive(readers).await?;
        // Both drivers run at the same time for the same span.
        let (beside, flooding) = tokio::try_join!(drive(readers), drive(flood))?;
        // Both figures are of one round, so that a change of the machine affects both.
        rounds.push(p99_us(&beside) / p99_us(&alone));
        report.push(format!("alone {round}"), &alone);
        report.push(format!("beside {round}"), &beside);
        report.push(format!("flood {round}"), &flooding);
    }
    report.ratio = Some(RatioReport {
        of: "p99 of reads beside the flood".to_owned(),
        to: "alone".to_owned(),
        value: median(&rounds),
        rounds,
    });
    Ok(())
}

fn p99_us(measured: &Measurement) -> f64 {
    let reads = measured.statistics.kinds.get(&OperationKind::Read);
    reads.map_or(f64::NAN, |reads| {
        reads.latency_ns.value_at_quantile(READ_PERCENTILE) as f64 / 1000.0
    })
}
