//! Scripts compared with the same work without scripts, and other requests beside hostile scripts.
//!
//! Both sides of a comparison take turns on one connection, so that a disturbance of the machine
//! meets both. A procedure is compared with the transactional batch that an application would send
//! instead; a function is compared with the same condition in the query.

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
use crate::program::ServerProgram;
use crate::progress::show_stage;
use crate::request::Target;
use crate::server::{ServerProcess, data_directory};

use client::ScriptClient;
use orrery_client::Signer;
pub use report::{
    FunctionReport, ImportReport, InterferenceReport, ReadReplaceReport, ReadsReport, ScriptReport,
};

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<ScriptReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    // One server runs all parts, with a separate container per part.
    let bench = ScriptsBench { options, server };
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
        machine: Machine::detect(&folder),
        settings: program.settings(),
        value_bytes: options.value_bytes,
        rounds: options.rounds,
        targets: report::judge(&read_replace, &import, &function),
        read_replace,
        import,
        function,
        interference,
    })
}

/// A running server, and the options of the measurements on it.
struct ScriptsBench<'a> {
    options: &'a Options,
    server: ServerProcess,
}

impl ScriptsBench<'_> {
    /// Opens a connection to a new container.
    async fn client(&self, container: &str) -> Result<ScriptClient> {
        ScriptClient::open(self.target(container)?).await
    }

    fn target(&self, container: &str) -> Result<Target> {
        let endpoint = Endpoint::parse(&self.server.endpoint)?;
        let signer = Signer::new(&self.options.key);
        Target::new(endpoint, signer, [&self.options.database, container])
    }

    fn slice(&self) -> Duration {
        let all = Duration::from_secs(self.options.duration);
        let slice = self.options.slice_ms.map(Duration::from_millis);
        slice.unwrap_or(all / u32::from(self.options.rounds))
    }
}

/// Writes an item of about the requested size.
fn write_item(out: &mut Vec<u8>, id: &str, pk: &str, n: u64, value_bytes: usize) {
    let head = format!(r#"{{"id":"{id}","pk":"{pk}","n":{n},"fill":""#);
    let fill = value_bytes.saturating_sub(head.len() + 2);
    out.extend_from_slice(head.as_bytes());
    out.extend(std::iter::repeat_n(b'x', fill));
    out.extend_from_slice(b"\"}");
}
