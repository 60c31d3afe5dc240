//! The metrics of single queries, collected apart from the measurements, because the collection of
//! metrics slows queries.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::case::Case;
use super::client::{Answer, CheckLevel, QueryClient};
use super::report::{CompileReport, MetricsReport};
use super::{LoadedContainer, slice_duration};
use crate::client_pool::ClientPool;
use crate::median::median;
use crate::options::Options;
use crate::random::Random;

const ANSWERS_MAX: usize = 300;
/// Slow queries are not repeated after this time.
const TIME_MAX: Duration = Duration::from_secs(1);
/// The metrics of the time before a query reads data.
const COMPILE_METRICS: [&str; 4] = [
    "queryCompileTimeInMs",
    "queryLogicalPlanBuildTimeInMs",
    "queryPhysicalPlanBuildTimeInMs",
    "queryOptimizationTimeInMs",
];

/// Runs every case once with all of its rows checked, before the measurements.
pub(crate) async fn probe(
    large: &LoadedContainer,
    small: &LoadedContainer,
    options: &Options,
) -> Result<(Vec<MetricsReport>, Vec<CompileReport>)> {
    let (mut metrics, mut compiles) = (Vec::new(), Vec::new());
    let time_max = TIME_MAX.min(slice_duration(options));
    // One seed for all cases, so that a run can be repeated.
    let seed = options.seed;
    for case in Case::ALL {
        let answers = answers(large, case, seed, time_max, Texts::Same).await?;
        metrics.push(report(large, case, &answers)?);
        if matches!(case, Case::Top | Case::TopAfter) {
            let answers = self::answers(small, case, seed, time_max, Texts::Same).await?;
            metrics.push(report(small, case, &answers)?);
        }
        let new = self::answers(large, case, seed, time_max, Texts::New).await?;
        compiles.push(CompileReport {
            case,
            server_new_us: server_us(&new),
            server_us: server_us(&answers),
        });
    }
    Ok((metrics, compiles))
}

/// Whether the queries of a case share one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Texts {
    Same,
    New,
}

/// Repeats a query on one connection, and returns its answers with their metrics.
async fn answers(
    side: &LoadedContainer,
    case: Case,
    seed: u64,
    time_max: Duration,
    texts: Texts,
) -> Result<Vec<Answer>> {
    let one = ClientPool {
        connections: 1,
        ..side.pool.clone()
    };
    let (data, facts) = (side.data, side.facts);
    let answers = one.work(move |client| async move {
        let mut query_client = QueryClient::new(client, data);
        let mut random = Random::new(seed, u64::MAX);
        let mut answers = Vec::new();
        let began = Instant::now();
        while answers.is_empty() || answers.len() < ANSWERS_MAX && began.elapsed() < time_max {
            let mut bound = case.bind(&data, facts, &mut random);
            if texts == Texts::New {
                // Another number of spaces makes a text that is not in the server's plan cache.
                bound.spaces = answers.len() + 1;
            }
            answers.push(
                query_client
                    .run(case, &bound, CheckLevel::RowsAndMetrics)
                    .await?,
            );
        }
        Ok(answers)
    });
    answers.await?.pop().context("nobody asked")
}

fn report(side: &LoadedContainer, case: Case, answers: &[Answer]) -> Result<MetricsReport> {
    let last = answers.last().context("no answer")?;
    let bound = case.bind(&side.data, side.facts, &mut Random::new(0, 0));
    Ok(MetricsReport {
        case,
        items: side.data.items,
        rows: bound.expected.rows(&side.data),
        pages: last.pages,
        charge: last.charge,
        metrics: last.metrics.clone(),
    })
}

/// The median time before data is read, from the server's metrics. None if the server sends none.
fn server_us(answers: &[Answer]) -> Option<f64> {
    let times: Option<Vec<f64>> = answers
        .iter()
        .map(|answer| {
            let known = COMPILE_METRICS.iter();
            let parts: Vec<_> = known.filter_map(|name| answer.metrics.get(*name)).collect();
            (!parts.is_empty()).then(|| parts.into_iter().sum::<f64>() * 1000.0)
        })
        .collect();
    times.map(|times| median(&times))
}
