//! The machine that was measured. Properties that the system does not report are omitted.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

/// The compiler, set at build time: `RUSTC_VERSION="$(rustc --version)" cargo build --release`.
const COMPILER: Option<&str> = option_env!("RUSTC_VERSION");

#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub cores: usize,
    pub processor: Option<String>,
    pub memory_bytes: Option<u64>,
    pub system: String,
    /// The file system of the folder with the data: on `tmpfs` durable writes look free.
    pub file_system: Option<String>,
    pub compiler: Option<&'static str>,
}

impl Machine {
    /// Reads the properties of this machine.
    pub(crate) fn detect(data: &Path) -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: field(&read("/proc/cpuinfo"), "model name")
                // macOS has no `/proc`.
                .or_else(|| output("sysctl", &["-n", "machdep.cpu.brand_string"])),
            memory_bytes: field(&read("/proc/meminfo"), "MemTotal")
                .and_then(|text| text.strip_suffix("kB")?.trim_end().parse::<u64>().ok())
                .map(|kibibytes| kibibytes * 1024),
            system: output("uname", &["-srm"]).unwrap_or_else(|| std::env::consts::OS.to_owned()),
            file_system: output("stat", &["-f", "-c", "%T", &data.to_string_lossy()]),
            compiler: COMPILER,
        }
    }
}

/// The command line of the user, without the path of the program and without the key, because
/// reports are published.
pub(crate) fn command_line(arguments: impl IntoIterator<Item = String>) -> String {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default();
    let program = Path::new(&program).file_stem().unwrap_or_default();
    let mut words = vec![program.to_string_lossy().into_owned()];
    while let Some(argument) = arguments.next() {
        // The key is a separate argument or follows an equals sign.
        if argument == "--key" {
            arguments.next();
        } else if !argument.starts_with("--key=") {
            words.push(argument);
        }
    }
    words.join(" ")
}

/// The first value of a name in a file of `name : value` lines.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let text = "processor\t: 0\nmodel name\t: A: fast one\n\nmodel name\t: B\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A: fast one"));
        assert_eq!(field(text, "model"), None);
    }

    #[test]
    fn the_key_is_not_repeated() {
        for (typed, expected) in [
            (
                "/usr/bin/orrery-bench --workload suite",
                "orrery-bench --workload suite",
            ),
            (
                "orrery-bench --key c2VjcmV0 --items 5",
                "orrery-bench --items 5",
            ),
            ("orrery-bench --key=c2VjcmV0", "orrery-bench"),
        ] {
            let arguments = typed.split(' ').map(str::to_owned);
            assert_eq!(command_line(arguments), expected);
        }
    }
}
