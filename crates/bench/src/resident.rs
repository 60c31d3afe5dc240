//! How much memory a process holds.
//!
//! Linux says it in a file; other Unix systems say it through `ps`. Windows has no program to ask
//! that is always there, so nothing is measured.

use std::process::Command;

const KIBIBYTE: u64 = 1024;

/// Resident memory, or nothing where it cannot be measured.
pub(crate) fn resident_bytes(process: u32) -> Option<u64> {
    let kibibytes = if cfg!(target_os = "linux") {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        from_status(&status)
    } else if cfg!(unix) {
        let mut ps = Command::new("ps");
        let output = ps
            .args(["-o", "rss=", "-p", &process.to_string()])
            .output()
            .ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    } else {
        None
    };
    kibibytes.map(|count| count * KIBIBYTE)
}

fn from_status(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

/// In units of a million bytes, as the targets are.
pub(crate) fn megabytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "not measured".to_owned(),
        |bytes| format!("{:.1} MB", bytes as f64 / 1e6),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_of_a_process() {
        let status = "Name:\torrery\nVmHWM:\t  2000 kB\nVmRSS:\t    1500 kB\nThreads:\t3\n";
        assert_eq!(from_status(status), Some(1500));
        assert_eq!(from_status("Name:\tkthreadd\n"), None);
    }

    #[cfg(unix)]
    #[test]
    fn this_process_holds_memory() {
        assert!(resident_bytes(std::process::id()) > Some(100_000));
    }

    #[test]
    fn text() {
        assert_eq!(megabytes(Some(268_435_456)), "268.4 MB");
        assert_eq!(megabytes(None), "not measured");
    }
}
