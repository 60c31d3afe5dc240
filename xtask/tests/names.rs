//! Checks the names of types: within a crate each name means one thing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that the language or a common convention gives to many things.
const CONVENTIONS: [&str; 8] = [
    "Body", "Data", "Err", "Error", "Future", "IntoIter", "Item", "Output",
];

/// Types that have one form for each operating system.
const PER_SYSTEM: [(&str, &str); 1] = [("cli", "Signals")];

#[test]
fn no_type_name_is_defined_twice_in_a_crate() {
    let mut problems = Vec::new();
    for directory in directories(&root().join("crates")) {
        let name = file_name(&directory);
        let mut definitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in sources(&directory.join("src")) {
            let text = fs::read_to_string(&file).expect("a source file is text");
            for (line, defined) in defined_types(&text) {
                let place = file.strip_prefix(root()).unwrap_or(&file);
                let place = format!("{}:{line}", place.display());
                definitions.entry(defined).or_default().push(place);
            }
        }
        for (defined, places) in definitions {
            let is_per_system = PER_SYSTEM.contains(&(name.as_str(), defined.as_str()));
            if places.len() > 1 && !CONVENTIONS.contains(&defined.as_str()) && !is_per_system {
                problems.push(format!("`{defined}`: {}", places.join(", ")));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "Give each of these types a name of its own in its crate:\n{}",
        problems.join("\n")
    );
}

/// The types that a file defines outside of its tests and of implementations, with their lines.
fn defined_types(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        // Associated types are indented, and types inside functions are nobody else's.
        if line.starts_with(char::is_whitespace) {
            continue;
        }
        let mut words = line.split(|next: char| !next.is_alphanumeric() && next != '_');
        let is_visibility = |word: &str| matches!(word, "pub" | "crate" | "super" | "");
        let kind = words.find(|word| !is_visibility(word));
        if matches!(kind, Some("struct" | "enum" | "trait" | "type" | "union"))
            && let Some(name) = words.next().filter(|name| !name.is_empty())
        {
            found.push((number + 1, name.to_owned()));
        }
    }
    found
}

#[test]
fn definitions_are_found_and_tests_are_not() {
    let text = "pub(crate) struct A<T>(T);\nenum B {}\nimpl B {\n    type C = A;\n}\n#[cfg(test)]\nmod tests {\nstruct D;\n}";
    let expected = [(1, "A".to_owned()), (2, "B".to_owned())];
    assert_eq!(defined_types(text), expected);
}

/// The source files below a directory, without those of unit tests.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a crate has sources") {
        let path = entry.expect("a directory can be listed").path();
        let name = file_name(&path);
        if path.is_dir() {
            if name != "tests" {
                found.extend(sources(&path));
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the workspace has crates");
    let paths = entries.map(|entry| entry.expect("a directory can be listed").path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().expect("a path below the workspace");
    name.to_string_lossy().into_owned()
}

fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is in the workspace")
}
