//! Walks the workspace and checks what no compiler checks: the dependencies between crates, the size
//! and language of files, and that documents still describe the present code.
//!
//! Each test collects all problems, and its message names a remedy for each problem.

mod documents;
mod file_names;
mod map;
mod workspace;

use std::fs;

use workspace::{
    crate_names, dependencies, files, is_rust, manifest_of, quoted, read, relative, report, root,
};

const FILE_LINES_MAX: usize = 700;

/// Files of source that may be longer, and why.
const LONG_FILES: [(&str, &str); 1] = [(
    "crates/model/src/definition/tests.rs",
    "tables of container definitions, one row a rule",
)];

const LINE_COLUMNS_MAX: usize = 120;

/// Files with lines of prose that may be wider, and why.
const WIDE_FILES: [(&str, &str); 1] = [(
    "crates/cli/src/layer.rs",
    "the comment of a flag is its help, which the terminal breaks",
)];

/// Forbidden texts, assembled from parts so that this file does not contain them.
const FORBIDDEN: [(&str, &str); 9] = [
    (
        concat!("/wo", "rk/"),
        "name a path relative to the repository",
    ),
    (
        concat!("registry.", "npmjs.org"),
        "leave the registry to npm",
    ),
    (
        concat!("registry.", "yarnpkg.com"),
        "leave the registry to npm",
    ),
    (concat!("py", "pi.org"), "leave the index to pip"),
    (
        concat!("files.", "pythonhosted.org"),
        "leave the index to pip",
    ),
    (
        concat!("repo.maven.", "apache.org"),
        "leave the repository to Maven",
    ),
    (
        concat!("repo1.", "maven.org"),
        "leave the repository to Maven",
    ),
    (concat!("proxy.", "golang.org"), "leave the proxy to Go"),
    (concat!("index.", "crates.io"), "leave the index to Cargo"),
];

/// The module in which the server decides what a request may touch.
const AUTHORITY: &str = "crates/server/src/authority/";

/// Types that select items. Outside of `authority` the server uses `AuthorizedScope` and `AuthorizedKey`.
const SELECTING: [&str; 4] = ["FeedScope", "PartitionKey", "Selection", "take_selection"];

/// The token of a frame with the name of such a type. It is text that becomes a header.
const NOT_SELECTING: &str = "RequestToken::PartitionKey";

/// The functions of the engine on items. Only `ItemAccess` calls them.
const ITEM_FUNCTIONS: [&str; 15] = [
    "bulk",
    "changes",
    "conflict",
    "conflicts",
    "delete_conflict",
    "delete_partition_key",
    "execute",
    "feed",
    "item_id",
    "partitions_of",
    "read_item",
    "transact",
    "write_item",
    "write_item_with_triggers",
    "script",
];

const UNDONE: [&str; 3] = [
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("db", "g!("),
];

#[test]
fn versions_are_declared_once() {
    let mut problems = Vec::new();
    let mut manifests: Vec<_> = crate_names().iter().map(|name| manifest_of(name)).collect();
    manifests.push(root().join("xtask/Cargo.toml"));
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    for manifest in manifests {
        for dependency in dependencies(&manifest, &sections) {
            if !dependency.from_workspace {
                problems.push(format!(
                    "{}: declare {} in [workspace.dependencies] with its reason, and write \
                     `{}.workspace = true` here",
                    relative(&manifest),
                    dependency.name,
                    dependency.name
                ));
            }
        }
    }
    report(&problems);
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    let mut problems = Vec::new();
    for file in files("") {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            for (word, instead) in FORBIDDEN {
                if line.contains(word) {
                    let place = relative(&file);
                    problems.push(format!("{place}:{}: '{word}': {instead}", number + 1));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn files_hold_one_idea() {
    let mut problems = Vec::new();
    for file in files("crates")
        .iter()
        .filter(|file| is_rust(file) && relative(file).contains("/src/"))
    {
        let (place, lines) = (relative(file), read(file).lines().count());
        let listed = LONG_FILES.iter().any(|(name, _)| *name == place);
        if lines > FILE_LINES_MAX && !listed {
            problems.push(format!(
                "{place} has {lines} lines of at most {FILE_LINES_MAX}: split it by idea, or list \
                 it in LONG_FILES of xtask/tests/tidy/main.rs with the reason"
            ));
        }
        if lines <= FILE_LINES_MAX && listed {
            problems.push(format!("{place} is short again: take it out of LONG_FILES"));
        }
    }
    report(&problems);
}

/// A route that had a key or a scope from elsewhere could forget what a resource token covers.
#[test]
fn items_are_reached_through_an_authority() {
    let mut problems = Vec::new();
    for file in files("crates/server/src")
        .iter()
        .filter(|file| is_rust(file) && !relative(file).starts_with(AUTHORITY))
    {
        let (place, text) = (relative(file), read(file));
        let text = text.replace(NOT_SELECTING, "");
        let words = |word: &&&str| {
            let mut words = text.split(|next: char| !next.is_alphanumeric() && next != '_');
            words.any(|other| other == **word)
        };
        for word in SELECTING.iter().filter(words) {
            problems.push(format!(
                "{place}: `{word}`: take an `AuthorizedScope` or an `AuthorizedKey` from `ItemAccess`, which \
                 asks what the request may touch"
            ));
        }
        let packed: String = text.split_whitespace().collect();
        let called = |name: &&&str| {
            let callers = ["engine().", "engine.", "Engine::"];
            let mut calls = callers.iter().map(|engine| format!("{engine}{name}("));
            calls.any(|call| packed.contains(&call))
        };
        for name in ITEM_FUNCTIONS.iter().filter(called) {
            problems.push(format!(
                "{place}: calls `{name}` of the engine: call it through `ItemAccess` ({AUTHORITY}item_access.rs)"
            ));
        }
    }
    report(&problems);
}

/// Lines with a string literal may be longer: protocol bodies and messages are not broken.
#[test]
fn lines_fit_a_screen() {
    let mut problems = Vec::new();
    for file in files("").iter().filter(|file| is_rust(file)) {
        let place = relative(file);
        let listed = WIDE_FILES.iter().any(|(name, _)| *name == place);
        for (number, line) in read(file).lines().enumerate() {
            let columns = line.chars().count();
            if columns > LINE_COLUMNS_MAX && !line.contains('"') && !listed {
                problems.push(format!(
                    "{place}:{}: {columns} columns of at most {LINE_COLUMNS_MAX}: break the line",
                    number + 1
                ));
            }
        }
    }
    report(&problems);
}

#[test]
fn crates_and_modules_say_what_they_are_for() {
    let mut problems = Vec::new();
    for file in files("crates")
        .iter()
        .chain(&files("xtask"))
        .filter(|file| is_rust(file))
    {
        let place = relative(file);
        let tests_of_a_module = place.ends_with("/tests.rs") || place.contains("/tests/");
        let opens = read(file).starts_with("//! ");
        if !opens && !tests_of_a_module {
            problems.push(format!(
                "{place}: begin with a `//!` comment that says what this part is for"
            ));
        }
    }
    report(&problems);
}

#[test]
fn nothing_is_left_undone() {
    let mut problems = Vec::new();
    for file in files("").iter().filter(|file| is_rust(file)) {
        for (number, line) in read(file).lines().enumerate() {
            for word in UNDONE.iter().filter(|word| line.contains(**word)) {
                let place = relative(file);
                problems.push(format!(
                    "{place}:{}: '{word}': finish it, or answer Failure::NotImplemented and list \
                     it in COMPAT.md",
                    number + 1
                ));
            }
        }
    }
    report(&problems);
}

#[test]
fn compat_lists_every_header() {
    let compat = read(&root().join("COMPAT.md"));
    let names = read(&root().join("crates/wire/src/headers/names.rs"));
    let problems: Vec<String> = strings(&names)
        .filter(|name| !compat.contains(&format!("`{name}`")))
        .map(|name| format!("COMPAT.md: say in a table of headers what happens with `{name}`"))
        .collect();
    report(&problems);
}

#[test]
fn compat_lists_every_failure() {
    let compat = read(&root().join("COMPAT.md"));
    let errors = section(&compat, "## Errors");
    let source = read(&root().join("crates/model/src/failure.rs"));
    let (_, variants) = source
        .split_once("pub enum Failure {")
        .expect("failure.rs defines Failure");
    let (variants, _) = variants.split_once("\n}").expect("an enum ends");
    let problems: Vec<String> = variants
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()))
        .filter_map(|line| line.split(|next: char| !next.is_alphanumeric()).next())
        .filter(|variant| !errors.contains(&format!("| `{variant}` |")))
        .map(|variant| format!("COMPAT.md, Errors: give `{variant}` a row"))
        .collect();
    report(&problems);
}

#[test]
fn compat_lists_every_function_under_its_state() {
    let compat = read(&root().join("COMPAT.md"));
    let (run, refused) = (
        section(&compat, "### Functions that run"),
        section(&compat, "### Functions that are refused"),
    );
    let mut problems = Vec::new();
    let mut check = |names: &[String], right: &str, wrong: &str, state: &str| {
        for name in names {
            let quoted = format!("`{name}`");
            if !right.contains(&quoted) {
                problems.push(format!(
                    "COMPAT.md: list {quoted} under 'Functions that {state}'"
                ));
            }
            if wrong.contains(&quoted) {
                problems.push(format!(
                    "COMPAT.md: {quoted} belongs only under 'Functions that {state}'"
                ));
            }
        }
    };
    let mut implemented = Vec::new();
    let mut pending = Vec::new();
    for file in files("crates/exec/src/functions") {
        let text = read(&file);
        match file.file_name().and_then(|name| name.to_str()) {
            Some("mod.rs") => {}
            Some("pending.rs") => {
                let (_, names) = text.split_once("const NAMES").expect("a list of names");
                pending.extend(strings(names).map(str::to_owned));
            }
            _ => implemented.extend(registered(&text)),
        }
    }
    assert!(
        implemented.len() > 50 && !pending.is_empty(),
        "the function tables of crates/exec are written in another way; teach this test to read them"
    );
    check(&implemented, run, refused, "run");
    check(&pending, refused, run, "are refused");
    for (names, listed) in [(&implemented, run), (&pending, refused)] {
        let stale = quoted(listed).filter(|listed| !names.iter().any(|name| name == listed));
        problems
            .extend(stale.map(|name| format!("COMPAT.md: `{name}` is not a function any more")));
    }
    report(&problems);
}

/// Names of the functions in `FUNCTIONS`, each the first argument of the call that makes its row.
fn registered(text: &str) -> Vec<String> {
    let Some((_, table)) = text.split_once("FUNCTIONS: &[Function] = &[") else {
        return Vec::new();
    };
    let (table, _) = table.split_once("\n];").expect("a table ends");
    table
        .split("(\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"'))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The string literals of a text without escapes and without quotes outside of literals.
fn strings(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// The text below a heading, up to the next heading of its rank or higher.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("COMPAT.md needs the heading '{heading}'"));
    let rank = heading.chars().take_while(|first| *first == '#').count();
    let end = (1..=rank)
        .filter_map(|rank| rest.find(&format!("\n{} ", "#".repeat(rank))))
        .min();
    end.map_or(rest, |end| &rest[..end])
}
