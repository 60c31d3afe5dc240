//! Ordered pages of a container with very many items, compared with a container with few: the work
//! for one page must not depend on the number of items. Only the path of the order is indexed, so
//! that ten million items are loaded in minutes.

use std::fmt::{Display, Formatter};

use anyhow::Result;
use serde::Serialize;

use super::report::{BulkReport, CaseReport};
use super::{
    Case, Comparison, Dataset, LoadedContainer, SMALL_CONTAINER, bulk_load, few_items, load, pool,
};
use crate::load::create_indexed;
use crate::machine::{Machine, command_line};
use crate::markdown::{heading, opening, row};
use crate::options::Options;
use crate::program::ServerProgram;
use crate::progress::show_stage;
use crate::server::{ServerProcess, data_directory};

/// An indexing policy with only the path of the order.
const INDEX_ORDER: &str = "{\"indexingMode\":\"consistent\",\"automatic\":true,\
    \"includedPaths\":[{\"path\":\"/n/?\"}],\"excludedPaths\":[{\"path\":\"/*\"}]}";
/// The least size of a document of the suite.
const VALUE_BYTES: usize = 400;

/// The result of the workload for ordered pages.
#[derive(Clone, Debug, Serialize)]
pub struct OrderedReport {
    pub command_line: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    pub machine: Machine,
    pub items: u64,
    pub few_items: u64,
    pub load: BulkReport,
    pub cases: Vec<CaseReport>,
}

/// Loads both containers and measures the ordered cases in turns.
pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<OrderedReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let machine = Machine::detect(&folder);
    let data = Dataset::new(options.items(), VALUE_BYTES, options.seed)?;
    let small = Dataset::new(few_items(data.items), VALUE_BYTES, options.seed)?;
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let large_pool = pool(options, &server, &options.container)?;
    let loaded = load(&large_pool, INDEX_ORDER, data, directory.path(), options).await?;
    let small_pool = pool(options, &server, SMALL_CONTAINER)?;
    create_indexed(&small_pool.target, INDEX_ORDER).await?;
    bulk_load(&small_pool, small).await?;
    // Both containers are on one server and share its cache.
    let (large, small) = (
        LoadedContainer::new(large_pool, data),
        LoadedContainer::new(small_pool, small),
    );
    let comparison = Comparison {
        options,
        large: &large,
        small: &small,
        cluster: None,
    };
    let mut cases = Vec::new();
    for case in [Case::Top, Case::TopAfter] {
        let measured = comparison
            .case(case, options.connections, Some(&small))
            .await?;
        cases.push(measured);
    }
    show_stage(options.progress, "");
    Ok(OrderedReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine,
        items: data.items,
        few_items: small.data.items,
        load: loaded,
        cases,
    })
}

impl Display for OrderedReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        opening(f, self.date.as_deref(), &self.command_line, &self.machine)?;
        writeln!(
            f,
            "- {} items of {VALUE_BYTES} bytes with one indexed path, loaded in {:.0} s",
            self.items, self.load.seconds
        )?;
        let [small, large] = [self.few_items, self.items].map(|items| format!("{items} items/s"));
        let columns = ["Query", &small, &large, "Ratio", "p50 ms", "p99 ms"];
        heading(f, "Ordered pages by number of items", &columns)?;
        for case in &self.cases {
            let figure = |value: Option<f64>| value.unwrap_or_default();
            row(
                f,
                &[
                    case.case.title().to_owned(),
                    format!("{:.0}", figure(case.few_per_second)),
                    format!("{:.0}", case.per_second),
                    format!("{:.2}", figure(case.to_few)),
                    format!("{:.2}", case.p50_ms),
                    format!("{:.2}", case.p99_ms),
                ],
            )?;
        }
        Ok(())
    }
}
