//! What the suites in JavaScript need from npm.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::console::Console;

/// Installs what the lock file of the folder says, unless that is done.
pub(super) fn install(console: &Console, npm: &Path, folder: &Path) -> Result<()> {
    if is_installed(folder) {
        return Ok(());
    }
    let mut install = Command::new(npm);
    // Not `ci`: it refuses a lock file without the optional packages of every other system.
    install
        .current_dir(folder)
        .args(["install", "--no-save", "--no-audit", "--no-fund"]);
    console.prepare(&mut install)
}

/// npm writes a copy of the lock file when it is done; an older one is out of date.
fn is_installed(folder: &Path) -> bool {
    let modified = |path: &str| {
        folder
            .join(path)
            .metadata()
            .and_then(|file| file.modified())
            .ok()
    };
    let done = modified("node_modules/.package-lock.json");
    done.is_some() && done >= modified("package-lock.json")
}
