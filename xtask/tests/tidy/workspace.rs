//! The files of the workspace, as the checks read them.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories without source code of this repository.
const SKIPPED: [&str; 6] = [
    "target",
    "node_modules",
    ".git",
    "__pycache__",
    ".venv",
    "orrery-data",
];

pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) from_workspace: bool,
}

/// The dependencies in these sections of a manifest, platform sections included.
pub(crate) fn dependencies(manifest: &Path, sections: &[&str]) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in read(manifest).lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            inside = sections
                .iter()
                .any(|wanted| section == *wanted || section.ends_with(&format!(".{wanted}")));
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside) else {
            continue;
        };
        let key = key.trim();
        let name = key.strip_suffix(".workspace").unwrap_or(key);
        let value = value.trim();
        found.push(Dependency {
            name: name.to_owned(),
            from_workspace: name != key && value.starts_with("true")
                || value.contains("workspace = true"),
        });
    }
    found
}

pub(crate) fn crate_names() -> Vec<String> {
    let mut names: Vec<String> = entries(&root().join("crates"))
        .into_iter()
        .filter(|path| path.join("Cargo.toml").exists())
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "there are no crates");
    names
}

pub(crate) fn crate_directory(name: &str) -> PathBuf {
    root().join("crates").join(name)
}

pub(crate) fn manifest_of(name: &str) -> PathBuf {
    crate_directory(name).join("Cargo.toml")
}

/// Every file below a directory of the repository.
pub(crate) fn files(directory: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join(directory)];
    while let Some(directory) = waiting.pop() {
        for path in entries(&directory) {
            let name = path.file_name().and_then(|name| name.to_str());
            // A work tree of git has a file `.git` instead of a directory.
            if name.is_some_and(|name| SKIPPED.contains(&name)) {
                continue;
            }
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", directory.display()));
    entries
        .map(|entry| entry.expect("a directory can be listed").path())
        .collect()
}

pub(crate) fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

pub(crate) fn read(file: &Path) -> String {
    fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()))
}

pub(crate) fn relative(file: &Path) -> String {
    let path = file.strip_prefix(root()).unwrap_or(file);
    path.to_string_lossy().replace('\\', "/")
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the repository")
}

pub(crate) fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// The texts between back-ticks.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
