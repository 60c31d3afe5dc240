//! Scripts beside the same work without them, and other requests beside hostile scripts.
//!
//! Both sides of a comparison take turns on one connection, so that whatever else the machine does
//! meets both. A procedure is compared with the transactional batch that an application would send
//! in its place; a function with the same condition written in the query.

mod client;
mod function;
mod import;
mod interference;
mod read_replace;
mod report;

use std::time::Duration;

use anyhow::Result;

use crate::endpoint::Endpoint;
use crate::machine::{Machine, command_line};
use crate::options::Options;
use crate::progress::show_stage;
use crate::request::Target;
use crate::server::{ServerProcess, ServerProgram, data_directory};
use crate::signature::Signer;

use client::Client;
pub use report::{
    FunctionReport, ImportReport, InterferenceReport, ReadReplaceReport, ReadsReport, ScriptReport,
};

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<ScriptReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let bench = Bench { options, server };
    let stage = |title| show_stage(options.progress, title);
    stage("read and replace");
    let read_replace = read_replace::measure(&bench).await?;
    stage("bulk import");
    let import = import::measure(&bench).await?;
    stage("functions");
    let function = function::measure(&bench).await?;
    stage("point reads beside endless scripts");
    let interference = interference::measure(&bench).await?;
    stage("");
    Ok(ScriptReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine: Machine::look(&folder),
        settings: program.settings.clone(),
        value_bytes: options.value_bytes,
        rounds: options.rounds,
        targets: report::judge(&read_replace, &import, &function),
        read_replace,
        import,
        function,
        interference,
    })
}

/// A server, and how to measure it.
struct Bench<'a> {
    options: &'a Options,
    server: ServerProcess,
}

impl Bench<'_> {
    /// A connection to a new container.
    async fn client(&self, container: &str) -> Result<Client> {
        Client::open(self.target(container)?).await
    }

    fn target(&self, container: &str) -> Result<Target> {
        let endpoint = Endpoint::parse(&self.server.endpoint)?;
        let signer = Signer::new(&self.options.key)?;
        Target::new(endpoint, signer, [&self.options.database, container])
    }

    fn slice(&self) -> Duration {
        let all = Duration::from_secs(self.options.duration);
        let slice = self.options.slice_ms.map(Duration::from_millis);
        slice.unwrap_or(all / u32::from(self.options.rounds))
    }
}

/// An item of about the size that was asked for.
fn write_item(out: &mut Vec<u8>, id: &str, pk: &str, n: u64, value_bytes: usize) {
    let head = format!(r#"{{"id":"{id}","pk":"{pk}","n":{n},"fill":""#);
    let fill = value_bytes.saturating_sub(head.len() + 2);
    out.extend_from_slice(head.as_bytes());
    out.extend(std::iter::repeat_n(b'x', fill));
    out.extend_from_slice(b"\"}");
}
