//! The host names and addresses for the certificate of this machine.

use std::fs;
use std::process::{Command, Stdio};

/// All names of this machine, and `others`: the names and addresses that the server advertises.
pub(crate) fn host_names(others: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"]
        .into_iter()
        .map(str::to_owned)
        .collect();
    for name in machine().into_iter().chain(others) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn machine() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(ask_system)?;
    let name = name.trim().to_ascii_lowercase();
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    // Names with other characters cannot stand in a certificate as a DNS name.
    (!name.is_empty() && name.chars().all(valid)).then_some(name)
}

/// Runs the `hostname` program, on systems without the Linux file of the host name.
fn ask_system() -> Option<String> {
    let output = Command::new("hostname")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let names = host_names(["db.example".to_owned()]);
        assert!(names.starts_with(&["localhost".to_owned(), "127.0.0.1".to_owned()]));
        assert!(names.contains(&"db.example".to_owned()));
        assert_eq!(host_names(["localhost".to_owned()]), host_names([]));
    }
}
