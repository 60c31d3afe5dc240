//! What the server says about single queries, asked for apart from the measurements so that its
//! bookkeeping is not in them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::asker::{Answer, Asker, Keep};
use super::case::Case;
use super::compile::compile_us;
use super::report::{CompileReport, MetricsReport};
use super::{INDEX_ALL, Side, slice_duration};
use crate::crew::Crew;
use crate::median::median;
use crate::options::Options;
use crate::random::Random;
use crate::server::ServerProgram;

const ANSWERS_MAX: usize = 300;
/// After which slow queries are not asked again.
const TIME_MAX: Duration = Duration::from_secs(1);
/// What a query costs before data is read, in the words of the server's metrics.
const COMPILE_METRICS: [&str; 4] = [
    "queryCompileTimeInMs",
    "queryLogicalPlanBuildTimeInMs",
    "queryPhysicalPlanBuildTimeInMs",
    "queryOptimizationTimeInMs",
];

/// Every case with all of its rows compared, before anything is measured.
pub(crate) async fn probe(
    whole: &Side,
    few: &Side,
    options: &Options,
    program: &ServerProgram,
) -> Result<(Vec<MetricsReport>, Vec<CompileReport>)> {
    let (mut metrics, mut compiles) = (Vec::new(), Vec::new());
    let time_max = TIME_MAX.min(slice_duration(options));
    let seed = options.seed;
    let container = format!(
        "{{\"id\":\"c\",\"partitionKey\":{{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}},\
         \"indexingPolicy\":{INDEX_ALL}}}"
    );
    for case in Case::ALL {
        let answers = answers(whole, case, seed, time_max, Texts::Same).await?;
        metrics.push(report(whole, case, &answers)?);
        if matches!(case, Case::Top | Case::TopAfter) {
            let answers = self::answers(few, case, seed, time_max, Texts::Same).await?;
            metrics.push(report(few, case, &answers)?);
        }
        let new = self::answers(whole, case, seed, time_max, Texts::New).await?;
        let asked = case.ask(&whole.data, whole.facts, &mut Random::new(seed, 0));
        let in_process_us = match &program.compiler {
            Some(compiler) => Some(compile_us(compiler, &container, case, &asked)?),
            None => None,
        };
        compiles.push(CompileReport {
            case,
            in_process_us,
            server_new_us: server_us(&new),
            server_us: server_us(&answers),
        });
    }
    Ok((metrics, compiles))
}

/// Whether all questions have one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Texts {
    Same,
    New,
}

async fn answers(
    side: &Side,
    case: Case,
    seed: u64,
    time_max: Duration,
    texts: Texts,
) -> Result<Vec<Answer>> {
    let one = Crew {
        connections: 1,
        ..side.crew.clone()
    };
    let (data, facts) = (side.data, side.facts);
    let answers = one.work(move |member| async move {
        let mut asker = Asker::new(member, data);
        let mut random = Random::new(seed, u64::MAX);
        let mut answers = Vec::new();
        let began = Instant::now();
        while answers.is_empty() || answers.len() < ANSWERS_MAX && began.elapsed() < time_max {
            let mut asked = case.ask(&data, facts, &mut random);
            if texts == Texts::New {
                asked.spaces = answers.len() + 1;
            }
            answers.push(asker.ask(case, &asked, Keep::RowsAndMetrics).await?);
        }
        Ok(answers)
    });
    answers.await?.pop().context("nobody asked")
}

fn report(side: &Side, case: Case, answers: &[Answer]) -> Result<MetricsReport> {
    let last = answers.last().context("no answer")?;
    let asked = case.ask(&side.data, side.facts, &mut Random::new(0, 0));
    Ok(MetricsReport {
        case,
        items: side.data.items,
        rows: asked.expected.rows(&side.data),
        pages: last.pages,
        charge: last.charge,
        metrics: last.metrics.clone(),
    })
}

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
