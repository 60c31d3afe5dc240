//! Finds the toolchains of the SDK suites on this machine.

use std::env;
use std::path::PathBuf;

/// The first of these programs on the path. Windows adds an extension to some of them.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let extensions: &[&str] = if cfg!(windows) {
        &[".exe", ".cmd", ".bat"]
    } else {
        &[""]
    };
    names.iter().find_map(|name| {
        env::split_paths(&path).find_map(|folder| {
            extensions
                .iter()
                .map(|extension| folder.join(format!("{name}{extension}")))
                .find(|candidate| candidate.is_file())
        })
    })
}
