//! Ordered pages of a container with very many items beside one with few: what a page reads should
//! not depend on what is stored. Only the path of the order is indexed, so that ten million items
//! are loaded in minutes.

use std::fmt::{Display, Formatter};

use anyhow::Result;
use serde::Serialize;

use super::report::{BulkReport, CaseReport};
use super::{Case, Dataset, FEW_CONTAINER, Side, Turns, bulk_load, crew, few_items, load};
use crate::load::create_indexed;
use crate::machine::{Machine, command_line};
use crate::markdown::{heading, opening, row};
use crate::options::Options;
use crate::progress::show_stage;
use crate::server::{ServerProcess, ServerProgram, data_directory};

const INDEX_ORDER: &str = "{\"indexingMode\":\"consistent\",\"automatic\":true,\
    \"includedPaths\":[{\"path\":\"/n/?\"}],\"excludedPaths\":[{\"path\":\"/*\"}]}";
/// The least that the documents of the suite need.
const VALUE_BYTES: usize = 400;

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

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<OrderedReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let machine = Machine::look(&folder);
    let data = Dataset::new(options.items(), VALUE_BYTES, options.seed)?;
    let few = Dataset::new(few_items(data.items), VALUE_BYTES, options.seed)?;
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let whole_crew = crew(options, &server, &options.container)?;
    let loaded = load(&whole_crew, INDEX_ORDER, data, directory.path(), options).await?;
    let few_crew = crew(options, &server, FEW_CONTAINER)?;
    create_indexed(&few_crew.target, INDEX_ORDER).await?;
    bulk_load(&few_crew, few).await?;
    let (whole, few) = (Side::new(whole_crew, data), Side::new(few_crew, few));
    let turns = Turns {
        options,
        whole: &whole,
        few: &few,
        cluster: None,
    };
    let mut cases = Vec::new();
    for case in [Case::Top, Case::TopAfter] {
        let measured = turns.case(case, options.connections, Some(&few)).await?;
        cases.push(measured);
    }
    show_stage(options.progress, "");
    Ok(OrderedReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine,
        items: data.items,
        few_items: few.data.items,
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
        let [few, whole] = [self.few_items, self.items].map(|items| format!("{items} items/s"));
        let columns = ["Query", &few, &whole, "Ratio", "p50 ms", "p99 ms"];
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
