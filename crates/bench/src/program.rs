//! The program of the server under test: the command lines that start it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::options::{Options, Workload};
use crate::server::{PeerPlan, RegionsPlan, ServerSettings};

const PREFIX: &str = "ORRERY_";
const KEY: &str = "ORRERY_KEY";
const THROUGHPUT: &str = "ORRERY_THROUGHPUT";
const PARTITION_THROUGHPUT: &str = "ORRERY_PARTITION_THROUGHPUT";

/// Settings that belong to one server and that the measured server must not inherit. Settings of
/// its speed are inherited.
const NOT_INHERITED: [&str; 4] = [
    "ORRERY_CONFIG",
    "ORRERY_KEY_FILE",
    "ORRERY_SEED",
    "ORRERY_ADVERTISE",
];

/// Request units a second that any container may have. With this limit one physical partition can
/// take the whole throughput of a container.
const ANY_THROUGHPUT: &str = "1000000";

/// An `orrery` program, of this version or of an earlier one.
pub struct ServerProgram {
    path: PathBuf,
    key: String,
    workload: Workload,
    /// Settings of the server, as environment variables.
    variables: Vec<(String, String)>,
    /// What the server that started last announced.
    settings: Mutex<ServerSettings>,
}

impl ServerProgram {
    /// The program that the options name, else the program `orrery` beside this one.
    pub fn find(options: &Options) -> Result<ServerProgram> {
        let path = match &options.server {
            Some(path) => path.clone(),
            None => neighbour()?,
        };
        Ok(ServerProgram::new(path, options))
    }

    pub fn new(path: PathBuf, options: &Options) -> ServerProgram {
        ServerProgram {
            path,
            key: options.key.base64(),
            workload: options.workload,
            variables: Vec::new(),
            settings: Mutex::default(),
        }
    }

    /// Gives every server of this program a setting, whatever this process has in its environment.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> ServerProgram {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The settings of the server that started last, as far as its version announces them.
    pub(crate) fn settings(&self) -> ServerSettings {
        let settings = self.settings.lock();
        settings.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_settings(&self, announced: ServerSettings) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = announced;
    }

    /// The command of a server that keeps its data in a directory.
    pub(crate) fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.path);
        // The ORRERY variables of this process would change the measured server.
        for name in own_variables().filter(|name| !is_inherited(self.workload, name)) {
            command.env_remove(name);
        }
        if !self.inherits(THROUGHPUT) {
            // Throttled requests would measure the throughput limit and not the server. Earlier
            // versions refuse an unknown flag and ignore an unknown variable.
            let enforced = self.workload == Workload::Overload;
            command.env(THROUGHPUT, if enforced { "on" } else { "off" });
        }
        command
            // The key travels in the environment: flags are visible in the list of processes.
            .env(KEY, &self.key)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            // Port 0 and --ready-json: the server picks a free port and prints it for the load
            // driver.
            .args(["serve", "--listen=127.0.0.1:0", "--tls=off"])
            .args(["--ready-json", "--log=warn"])
            .arg("--data")
            .arg(directory);
        command
    }

    /// The command of a server that enforces throughput, with no throughput limit on a physical
    /// partition.
    pub(crate) fn metered_command(&self, directory: &Path) -> Command {
        let mut command = self.command(directory);
        command
            .env(THROUGHPUT, "on")
            .env(PARTITION_THROUGHPUT, ANY_THROUGHPUT);
        command
    }

    /// The command of a server with an account in several regions.
    pub(crate) fn regions_command(&self, directory: &Path, plan: &RegionsPlan) -> Command {
        let mut command = self.command(directory);
        for name in &plan.names {
            command.arg("--region").arg(name);
        }
        if plan.is_strong {
            command.args(["--consistency", "strong"]);
        }
        if plan.is_multi_write {
            command.arg("--multi-write");
        }
        command
    }

    /// The command of one region of an account whose other region is another process.
    pub(crate) fn peer_command(&self, directory: &Path, plan: &PeerPlan) -> Command {
        let (other, address) = &plan.other;
        let mut command = self.command(directory);
        command
            .args(["--multi-write", "--region"])
            .arg(&plan.name)
            .arg(format!("--peer-listen={}", plan.listen))
            .arg("--peer-identity")
            .arg(plan.certificates.join(certificate_directory(&plan.name)))
            .arg(format!("--peer={other}={address}"))
            .arg(format!("--join={}", plan.joins));
        command
    }

    /// The command that writes certificates for regions into a directory.
    pub(crate) fn certificates_command(&self, directory: &Path, regions: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(["region", "certificates", "--out"])
            .arg(directory);
        for region in regions {
            command.arg("--region").arg(region);
        }
        command
    }

    fn inherits(&self, name: &str) -> bool {
        is_inherited(self.workload, name) && std::env::var_os(name).is_some()
    }
}

/// Both programs of a build are in one directory.
fn neighbour() -> Result<PathBuf> {
    let this = std::env::current_exe().context("cannot find the running program")?;
    let path = this.with_file_name(format!("orrery{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        bail!(
            "there is no server at {}; build it with `cargo build --release`, or name it with --server",
            path.display()
        );
    }
    Ok(path)
}

/// `orrery region certificates` writes the certificate of each region into a directory whose name
/// is the region's name in lower case, with a hyphen for every other character.
fn certificate_directory(region: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '-',
    };
    region.chars().map(plain).collect()
}

/// Published workloads measure the default settings, so these workloads inherit no variable.
fn is_inherited(workload: Workload, name: &str) -> bool {
    let published = [
        Workload::Suite,
        Workload::QuerySuite,
        Workload::Partitions,
        Workload::Regions,
    ];
    !published.contains(&workload) && !NOT_INHERITED.contains(&name)
}

fn own_variables() -> impl Iterator<Item = String> {
    std::env::vars_os()
        .filter_map(|(name, _)| OsString::into_string(name).ok())
        .filter(|name| name.starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Driver {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_server_for_the_suite_has_default_settings() {
        let arguments = ["bench", "--workload=suite", "--server=s", "--key=c2VjcmV0"];
        let options = Driver::try_parse_from(arguments).unwrap().options;
        let program = ServerProgram::find(&options).unwrap();
        let command = program.command(Path::new("d"));
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        let expected = "serve --listen=127.0.0.1:0 --tls=off --ready-json --log=warn --data d";
        assert_eq!(words.join(" "), expected);
        assert_eq!(command.get_program(), "s");
        let metered = program.metered_command(Path::new("d"));
        for (command, name, expected) in [
            (&command, THROUGHPUT, "off"),
            (&command, KEY, "c2VjcmV0"),
            (&metered, THROUGHPUT, "on"),
            (&metered, PARTITION_THROUGHPUT, ANY_THROUGHPUT),
        ] {
            let mut variables = command.get_envs();
            let value = variables.find(|(variable, _)| *variable == name).unwrap().1;
            assert_eq!(value.unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn speed_is_inherited_and_identity_is_not() {
        for (workload, name, expected) in [
            (Workload::Read, "ORRERY_CACHE", true),
            (Workload::Read, "ORRERY_KEY_FILE", false),
            (Workload::Suite, "ORRERY_CACHE", false),
            (Workload::QuerySuite, "ORRERY_CACHE", false),
            (Workload::Partitions, "ORRERY_CACHE", false),
            (Workload::Regions, "ORRERY_REGION", false),
        ] {
            assert_eq!(is_inherited(workload, name), expected, "{name}");
        }
    }

    #[test]
    fn certificates_of_a_region_are_in_a_directory_with_its_name() {
        for (region, expected) in [("West US 2", "west-us-2"), ("US_(East)", "us--east-")] {
            assert_eq!(certificate_directory(region), expected);
        }
    }
}
