//! Checks that every file which a Markdown document names exists, every heading that a link names, and every
//! document that source code names.

use std::path::Path;

use crate::workspace::{files, is_rust, read, relative, report, root};

/// The directories with which a path relative to the repository begins.
const TOP: [&str; 6] = [
    "crates/",
    "docs/",
    "examples/",
    "explorer/",
    "tests/",
    "xtask/",
];

/// The directory of the documents that comments and messages of source code name.
const DOCUMENTS: &str = "docs/";

/// A directory that builds create, and that a fresh clone of the repository lacks.
const BUILT: &str = "node_modules";

/// Files of other repositories.
const FOREIGN: [&str; 1] = ["hosted_emulator_ci.rs"];

#[test]
fn documents_name_files_and_headings_that_exist() {
    let all: Vec<String> = files("").iter().map(|file| relative(file)).collect();
    let mut problems = Vec::new();
    for document in all.iter().filter(|name| is_markdown(name)) {
        let directory = Path::new(document).parent().unwrap_or(Path::new(""));
        for (index, line) in read(&root().join(document)).lines().enumerate() {
            let place = format!("{document}:{}", index + 1);
            for name in paths_in(line) {
                if !exists(&all, name) && !FOREIGN.contains(&name) {
                    problems.push(format!("{place}: there is no file '{name}'"));
                }
            }
            for (path, heading) in links_in(line) {
                let target = match path {
                    "" => root().join(document),
                    path => root().join(directory).join(path),
                };
                if !target.exists() {
                    problems.push(format!("{place}: the link leads to no file '{path}'"));
                } else if !heading.is_empty() && !has_heading(&read(&target), heading) {
                    problems.push(format!("{place}: '{path}' has no heading '#{heading}'"));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn source_code_names_documents_that_exist() {
    let mut problems = Vec::new();
    for file in files("").iter().filter(|file| is_rust(file)) {
        for (index, line) in read(file).lines().enumerate() {
            let documents =
                paths_in(line).filter(|path| path.starts_with(DOCUMENTS) && is_markdown(path));
            for document in documents.filter(|document| !root().join(document).exists()) {
                let place = relative(file);
                problems.push(format!("{place}:{}: there is no '{document}'", index + 1));
            }
        }
    }
    report(&problems);
}

#[test]
fn paths_are_words_that_look_like_source_files() {
    let line = "See `crates/log/src/log.rs`, partition/apply.rs and (`tests/sdk`): `crates/*/src`, `a.md`.";
    let expected = ["crates/log/src/log.rs", "partition/apply.rs", "tests/sdk"];
    assert!(paths_in(line).eq(expected));
}

#[test]
fn a_path_may_leave_out_its_beginning_and_src() {
    let all = ["crates/log/src/log.rs".to_owned()];
    assert!(exists(&all, "log/log.rs"));
    assert!(exists(&all, "log.rs"));
    assert!(exists(&all, "crates/log/src"));
    assert!(!exists(&all, "og.rs"));
    assert!(!exists(&all, "log/frame.rs"));
}

#[test]
fn links_are_split_into_path_and_heading() {
    let line = "[a](b.md#c-d), [e](#f) and [g](https://h.example/i.md) `[k](l)`";
    assert!(links_in(line).eq([("b.md", "c-d"), ("", "f")]));
    assert!(has_heading(
        "# A\n\n## What *one* client-key may `do`?\n",
        "what-one-client-key-may-do"
    ));
    assert!(!has_heading("A\n", "a"));
}

fn is_markdown(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| extension == "md")
}

/// The words of a line that are paths of the repository, or names of Rust files.
fn paths_in(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |next: char| next.is_alphanumeric() || "_./-*<>{}$:@".contains(next);
    line.split(move |next: char| !is_part(next))
        .map(|word| word.trim_end_matches(['.', ':', '/']))
        .filter(|word| !word.contains(['*', '<', '>', '{', '}', '$', ':', '@']))
        .filter(|word| is_rust(Path::new(word)) || TOP.iter().any(|top| word.starts_with(top)))
        .filter(|word| !word.contains(BUILT))
}

/// Whether a file or directory of the repository has this path. The path may omit the `src` of a crate.
fn exists(all: &[String], path: &str) -> bool {
    all.iter().any(|file| {
        let short = file.replace("/src/", "/");
        [file, &short].into_iter().any(|file| {
            let is_end = file.strip_suffix(path);
            let is_directory = file.strip_prefix(path);
            is_end.is_some_and(|before| before.is_empty() || before.ends_with('/'))
                || is_directory.is_some_and(|after| after.starts_with('/'))
        })
    })
}

/// The links of a line that stay in the repository: path and heading, either of which may be empty.
fn links_in(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let prose = line.split('`').step_by(2);
    let targets = prose.flat_map(|text| text.split("](").skip(1));
    targets
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://"))
        .map(|target| target.split_once('#').unwrap_or((target, "")))
}

/// Whether a heading of a document has this name in links.
fn has_heading(text: &str, name: &str) -> bool {
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let is_part = |next: &char| next.is_alphanumeric() || " _-".contains(*next);
        let link: String = title.chars().filter(is_part).collect();
        link.replace(' ', "-") == name
    })
}
