//! Installs the npm packages of the JavaScript suites.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::console::Console;

/// Installs the packages of the lock file, unless they are installed.
pub(super) fn install(console: &Console, npm: &Path, folder: &Path) -> Result<()> {
    if is_installed(folder) {
        return Ok(());
    }
    let mut install = Command::new(npm);
    // `npm ci` would refuse a lock file without the optional packages of every other system.
    install
        .current_dir(folder)
        .args(["install", "--no-save", "--no-audit", "--no-fund"]);
    console.prepare(&mut install)
}

/// Whether the packages are installed. npm writes a copy of the lock file when it is done; a copy
/// older than the lock file is out of date.
fn is_installed(folder: &Path) -> bool {
    let modified = |path: &str| {
        folder
            .join(path)
            .metadata()
            .and_then(|file| file.modified())
            .ok()
    };
    let done = modified("node_modules/.package-lock.json");
    // None is less than any time, so a missing lock file does not force an installation.
    done.is_some() && done >= modified("package-lock.json")
}
