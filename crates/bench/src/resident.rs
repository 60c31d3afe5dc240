//! The resident memory of a process.
//!
//! Linux has the figure in a file; other Unix systems print it through `ps`. Windows has no such
//! program on every installation, so this module measures nothing there.

use std::process::Command;

const KIBIBYTE: u64 = 1024;

/// Returns the resident memory, or None on systems which do not report this figure.
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

/// The resident set in kibibytes, from the text of `/proc/PID/status`.
fn from_status(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

/// Prints bytes in units of a million, as the targets do.
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
