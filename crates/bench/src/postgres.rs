//! The same inserts into `PostgreSQL`, as Debian ships it and with the settings that `initdb`
//! writes.
//!
//! A temporary cluster holds `items(id text primary key, doc jsonb)` with a GIN index over the
//! whole document (`jsonb_path_ops`), the nearest relative of a container that indexes every path.
//! `pgbench` inserts documents of the size and shape of `item`, one per transaction, committed
//! durably, over a Unix socket with prepared statements.
//!
//!
//! `pgbench` cannot make random text, and making ten random fields in SQL would charge the server
//! for the client's work. So the documents come from templates: variables (`-D`) that every
//! execution sends as a text parameter, as an application would, so that the server parses the JSON
//! each time. To keep values distinct, which decides the cost of an index entry, each field of a
//! template contains a mark that the statement replaces with one fresh 32-digit key, at the price
//! of one `md5` and one `replace`. The key is also the id: random, as hashed partition keys are. A
//! script file per template (`pgbench` allows 128) draws the templates with equal weight.
//!
//! What is left out in favour of `PostgreSQL`: no HTTP, no signature, no answer with the stored
//! document.

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tempfile::TempDir;

use crate::options::Options;
use crate::random::Random;

const DEBIAN_BINARIES: &str = "/usr/lib/postgresql/15/bin";
const DEBIAN_PACKAGE: &str = "postgresql-15";
/// The server refuses to run as root; Debian's package creates this user.
const SYSTEM_USER: &str = "postgres";
const TEMPLATES: usize = 100;
const START_TIMEOUT: Duration = Duration::from_secs(30);
const CLIENT_THREADS: &str = "2";
const FIELDS: usize = 10;
const MARK: &str = "~";
const KEY_BYTES: usize = 32;
const SCHEMA: &str = "CREATE TABLE items (id text PRIMARY KEY, doc jsonb); \
    CREATE INDEX items_doc ON items USING gin (doc jsonb_path_ops);";

/// The figures that `pgbench` printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PostgresReport {
    pub version: String,
    pub connections: u16,
    pub transactions: u64,
    pub failed: u64,
    pub per_second: f64,
    pub mean_ms: f64,
    /// Average length of the stored documents as text, counted by the server.
    pub document_bytes: f64,
}

impl fmt::Display for PostgresReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} inserts of {:.0} bytes over {} connections, {:.0}/s, mean {:.3} ms, {} failed",
            self.version,
            self.transactions,
            self.document_bytes,
            self.connections,
            self.per_second,
            self.mean_ms,
            self.failed
        )
    }
}

/// Creates the cluster, inserts for the duration of the options, and deletes the cluster. This call
/// blocks.
pub(crate) fn run(options: &Options) -> Result<PostgresReport> {
    Cluster::start(options)?.measure(options)
}

struct Binaries {
    initdb: PathBuf,
    postgres: PathBuf,
    pg_ctl: PathBuf,
    psql: PathBuf,
    pgbench: PathBuf,
}

impl Binaries {
    /// Finds all programs, or fails with the package that contains them.
    fn find() -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // The versioned folder is first, so that all programs come from the same release.
        let folders: Vec<PathBuf> = std::iter::once(DEBIAN_BINARIES.into())
            .chain(std::env::split_paths(&path))
            .collect();
        let find = |name: &str| {
            let found = folders
                .iter()
                .map(|folder| folder.join(name))
                .find(|path| path.is_file());
            found.with_context(|| {
                format!(
                    "{name} was found neither in {DEBIAN_BINARIES} nor in PATH: \
                     install the Debian package {DEBIAN_PACKAGE}"
                )
            })
        };
        Ok(Self {
            initdb: find("initdb")?,
            postgres: find("postgres")?,
            pg_ctl: find("pg_ctl")?,
            psql: find("psql")?,
            pgbench: find("pgbench")?,
        })
    }
}

/// A running cluster in a folder of its own. Dropping the value stops and deletes the cluster.
/// Every call blocks.
pub(crate) struct Cluster {
    binaries: Binaries,
    folder: TempDir,
    as_system_user: bool,
    server: Option<Child>,
}

/// A script for `pgbench`, with the number of connections and the time.
#[derive(Clone, Copy)]
pub(crate) struct Script<'a> {
    pub(crate) text: &'a str,
    pub(crate) connections: u16,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
}

impl Cluster {
    /// Starts a cluster with an empty table, on the file system that the options name.
    pub(crate) fn start(options: &Options) -> Result<Self> {
        let binaries = Binaries::find()?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("pg-bench-");
        let folder = match &options.data_dir {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        }
        .context("creating a folder for the cluster")?;
        let as_system_user = is_root()?;
        if as_system_user {
            let mut command = Command::new("chown");
            execute(command.arg(SYSTEM_USER).arg(folder.path()))
                .context("giving the folder to the user of PostgreSQL")?;
        }
        let mut cluster = Self {
            binaries,
            folder,
            as_system_user,
            server: None,
        };
        let mut initdb = cluster.command(&cluster.binaries.initdb);
        initdb.args(["--auth", "trust", "--username", SYSTEM_USER, "--pgdata"]);
        execute(initdb.arg(cluster.data())).context("creating the cluster")?;
        // From here on dropping `cluster` stops the server, also if the schema fails.
        cluster.serve()?;
        cluster.sql(SCHEMA)?;
        Ok(cluster)
    }

    /// Inserts for the warm-up and then for the duration of the options. Rows of earlier rounds
    /// stay.
    pub(crate) fn measure(&self, options: &Options) -> Result<PostgresReport> {
        if options.warmup > 0 {
            // The warm-up inserts too: the first inserts into an empty index are cheaper than later
            // ones.
            self.insert(options, options.warmup).context("warming up")?;
        }
        let output = self.insert(options, options.duration)?;
        let mut report = parse_pgbench(&output, options.connections)
            .with_context(|| format!("reading the output of pgbench: {output}"))?;
        report.version = self.version()?;
        // The server prints jsonb with a space after each colon and comma; the statement removes
        // these spaces.
        let average = self.sql(
            "SELECT avg(length(replace(replace(doc::text, ': ', ':'), ', ', ','))) \
             FROM (SELECT doc FROM items LIMIT 1000) AS sample",
        )?;
        report.document_bytes = average.parse().context("the average document length")?;
        Ok(report)
    }

    /// Starts the server. The server is a child and not a daemon, so that an interrupt from the
    /// terminal reaches it.
    fn serve(&mut self) -> Result<()> {
        let log = fs::File::create(self.folder.path().join("log")).context("creating the log")?;
        let mut server = self.command(&self.binaries.postgres);
        server
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(self.folder.path());
        // Only the Unix socket is used, so no TCP port has to be free.
        server.args(["-c", "listen_addresses="]);
        server
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        self.server = Some(server.spawn().context("starting the cluster")?);
        let began = Instant::now();
        loop {
            // The server has no other sign that it is ready than a statement that succeeds.
            match self.sql("SELECT 1") {
                Ok(_) => return Ok(()),
                Err(error) if began.elapsed() > START_TIMEOUT => {
                    return Err(error).context("waiting for the cluster to start");
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A command that runs a program as a user that the server accepts.
    fn command(&self, program: &Path) -> Command {
        let mut command = if self.as_system_user {
            let mut command = Command::new("runuser");
            command.args(["-u", SYSTEM_USER, "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path());
        command
    }

    /// A client program with the arguments of a connection to this cluster.
    fn connect(&self, program: &Path) -> Command {
        let mut command = self.command(program);
        command
            .arg("--host")
            .arg(self.folder.path())
            .args(["--username", SYSTEM_USER]);
        command
    }

    /// Runs a statement and returns its output.
    pub(crate) fn sql(&self, statement: &str) -> Result<String> {
        execute(&mut self.psql(statement)).with_context(|| format!("running {statement}"))
    }

    pub(crate) fn version(&self) -> Result<String> {
        self.sql("SELECT split_part(version(), ' (', 1)")
    }

    /// Runs a statement that reads what the function writes, such as `COPY FROM STDIN`.
    pub(crate) fn copy(
        &self,
        statement: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let mut psql = self.psql(statement);
        psql.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = psql.spawn().context("starting psql")?;
        let stdin = child.stdin.take().context("psql has no standard input")?;
        let mut out = BufWriter::new(stdin);
        let written = write(&mut out).and_then(|()| out.flush());
        // Closing the pipe ends the input; psql waits for this end.
        drop(out);
        // A failed psql also breaks the pipe, so its status is the better error.
        let status = child.wait().context("waiting for psql")?;
        if !status.success() {
            bail!("psql ended with {status} when running {statement}");
        }
        written.with_context(|| format!("sending rows for {statement}"))
    }

    /// Runs a script again and again on some connections.
    pub(crate) fn repeat(&self, script: &Script<'_>) -> Result<PostgresReport> {
        let file = self.folder.path().join("query.sql");
        fs::write(&file, script.text).with_context(|| format!("writing {}", file.display()))?;
        let mut pgbench = self.pgbench(script.connections, script.seconds, script.seed);
        pgbench.arg("--file").arg(file);
        let output = execute(pgbench.arg("postgres")).context("running pgbench")?;
        let report = parse_pgbench(&output, script.connections)
            .with_context(|| format!("reading the output of pgbench: {output}"))?;
        if report.failed > 0 || report.transactions == 0 {
            bail!("pgbench failed to run {}: {output}", script.text);
        }
        Ok(report)
    }

    fn psql(&self, statement: &str) -> Command {
        let mut psql = self.connect(&self.binaries.psql);
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args([
            "--set",
            // Without this variable psql succeeds although a statement failed.
            "ON_ERROR_STOP=1",
            "--command",
            statement,
            "postgres",
        ]);
        psql
    }

    fn pgbench(&self, connections: u16, seconds: u64, seed: u64) -> Command {
        let mut pgbench = self.connect(&self.binaries.pgbench);
        pgbench.args([
            // The tables are not those of pgbench, which it would vacuum first.
            "--no-vacuum",
            "--protocol",
            "prepared",
            "--jobs",
            CLIENT_THREADS,
        ]);
        pgbench.args(["--client", &connections.to_string()]);
        pgbench.args(["--time", &seconds.to_string()]);
        pgbench.args(["--random-seed", &seed.to_string()]);
        pgbench
    }

    /// Runs the insert scripts for some seconds, and returns the output of pgbench.
    fn insert(&self, options: &Options, seconds: u64) -> Result<String> {
        let mut pgbench = self.pgbench(options.connections, seconds, options.seed);
        let mut random = Random::new(options.seed, 0);
        for number in 0..TEMPLATES {
            let document = template(options.value_bytes, &mut random)?;
            let script = self.folder.path().join(format!("insert-{number}.sql"));
            fs::write(&script, insert_statement(number))
                .with_context(|| format!("writing {}", script.display()))?;
            pgbench
                .arg("--define")
                .arg(format!("doc{number}={document}"));
            pgbench.arg("--file").arg(script);
        }
        execute(pgbench.arg("postgres")).context("running pgbench")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        let mut stop = self.command(&self.binaries.pg_ctl);
        // The data is deleted next, so the server need not write it out.
        stop.args(["stop", "--mode", "immediate", "--pgdata"])
            .arg(self.data());
        // The server may have ended before, and a destructor has no caller to report an error to.
        let stopped = stop.output().is_ok_and(|output| output.status.success());
        // Without the kill the wait below could last forever.
        if !stopped {
            let _ = server.kill();
        }
        let _ = server.wait();
    }
}

fn insert_statement(number: usize) -> String {
    format!(
        "INSERT INTO items SELECT fresh.key, replace(:doc{number}, '{MARK}', fresh.key)::jsonb \
         FROM (SELECT md5(random()::text) AS key) AS fresh;\n"
    )
}

/// A document that has the given size once its marks are replaced by keys.
fn template(value_bytes: usize, random: &mut Random) -> Result<String> {
    let frame = "{\"id\":\"\",\"pk\":\"\"}".len() + FIELDS * ",\"field0\":\"\"".len();
    // The id, the partition key and each field contain the key once.
    let keys = (2 + FIELDS) * KEY_BYTES;
    let padding = value_bytes
        .checked_sub(frame + keys)
        .with_context(|| format!("items must have at least {} bytes here", frame + keys))?;
    let mut text = format!("{{\"id\":\"{MARK}\",\"pk\":\"{MARK}\"").into_bytes();
    for field in 0..FIELDS {
        text.extend_from_slice(format!(",\"field{field}\":\"{MARK}").as_bytes());
        random.alphanumeric(
            &mut text,
            padding / FIELDS + usize::from(field < padding % FIELDS),
        );
        text.push(b'"');
    }
    text.push(b'}');
    String::from_utf8(text).context("a template is text")
}

/// Reads the figures from the summary that ends a run of `pgbench`.
fn parse_pgbench(output: &str, connections: u16) -> Result<PostgresReport> {
    let value = |name: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(name));
        let word = line.and_then(|rest| rest.split_whitespace().next());
        word.with_context(|| format!("no line beginning with {name:?}"))
    };
    Ok(PostgresReport {
        version: String::new(),
        connections,
        transactions: value("number of transactions actually processed:")?.parse()?,
        failed: value("number of failed transactions:")?.parse()?,
        per_second: value("tps =")?.parse()?,
        mean_ms: value("latency average =")?.parse()?,
        document_bytes: 0.0,
    })
}

fn is_root() -> Result<bool> {
    Ok(execute(Command::new("id").arg("-u"))? == "0")
}

/// Runs a program and returns its standard output; fails if the program fails.
fn execute(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .output()
        .with_context(|| format!("starting {program}"))?;
    if !status.success() {
        bail!(
            "{program} ended with {status}: {}",
            String::from_utf8_lossy(&stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_grow_to_the_asked_size() {
        let mut random = Random::new(1, 0);
        for value_bytes in [600, 1024, 1027] {
            let template = template(value_bytes, &mut random).unwrap();
            let document = template.replace(MARK, &"0".repeat(KEY_BYTES));
            assert_eq!(document.len(), value_bytes);
            let fields: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(&document).unwrap();
            assert_eq!(fields.len(), 2 + FIELDS);
        }
        assert!(template(100, &mut random).is_err());
    }

    #[test]
    fn summary_of_pgbench() {
        let output = "transaction type: multiple scripts\nnumber of clients: 16\n\
            number of transactions actually processed: 1234\n\
            number of failed transactions: 2 (0.162%)\nlatency average = 3.210 ms\n\
            initial connection time = 9.1 ms\ntps = 4984.500000 (without initial connection time)\n\
            SQL script 1: insert-0.sql\n - weight: 1\n - latency average = 9.9 ms\n";
        let report = parse_pgbench(output, 16).unwrap();
        assert_eq!((report.transactions, report.failed), (1234, 2));
        assert!((report.per_second - 4984.5).abs() < 1e-9 && (report.mean_ms - 3.21).abs() < 1e-9);
        assert!(parse_pgbench("", 16).is_err());
    }
}
