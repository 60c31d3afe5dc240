//! Runs a test in a process of its own, so that a crash of that process fails one test and does not
//! end all tests.

use std::process::Command;
use std::{env, fs};

/// The environment variable that tells the child process which test it runs.
const CHILD: &str = "ORRERY_SURVIVAL_CHILD";

/// Runs `work` in another process, which must end successfully.
pub fn survives(test: &str, work: impl FnOnce()) {
    if env::var(CHILD).is_ok_and(|name| name == test) {
        return work();
    }
    let child = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, test)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{}\n{text}{errors}", child.status);
    assert!(text.contains("1 passed"), "{text}");
}

/// Resident memory of this process, if the operating system reports it.
pub fn resident_bytes() -> Option<usize> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
