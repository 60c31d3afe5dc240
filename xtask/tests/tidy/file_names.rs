//! Checks that docs/format.md names every file that the code may write into a data directory.

use crate::workspace::{files, is_rust, quoted, read, relative, report, root};

/// Crates that name files of a data directory.
const SOURCES: [&str; 5] = [
    "crates/account/src",
    "crates/cli/src",
    "crates/log/src",
    "crates/partition/src",
    "crates/storage/src",
];

/// Certificates in the stores of the system and its programs, not in a data directory.
const ELSEWHERE: &str = "crates/cli/src/trust/";

/// Endings of constants that hold the name of a file or of a directory.
const NAMING: [&str; 4] = ["FILE", "NAME", "DIRECTORY", "EXTENSION"];

#[test]
fn format_lists_every_file_name() {
    let format = read(&root().join("docs/format.md"));
    let listed: Vec<&str> = quoted(&format).flat_map(|span| span.split('/')).collect();
    let mut problems = Vec::new();
    for file in SOURCES.iter().flat_map(|source| files(source)) {
        let place = relative(&file);
        if !is_rust(&file) || place.ends_with("tests.rs") || place.starts_with(ELSEWHERE) {
            continue;
        }
        for name in names_in(&read(&file)) {
            let is_listed = listed
                .iter()
                .any(|listed| *listed == name || name.starts_with('.') && listed.ends_with(&name));
            if !is_listed {
                problems.push(format!(
                    "docs/format.md: say what the file or directory `{name}` is ({place})"
                ));
            }
        }
    }
    report(&problems);
}

#[test]
fn names_are_found_in_joins_and_constants() {
    let source = r#"
        const MARK: &str = "FORMAT";
        const KEY_FILE: &str = "key.pem";
        const EXTENSION: &str = "jnl";
        const KEY_FILE_VARIABLE: &str = "ORRERY_KEY_FILE";
        fn paths(dir: &Path, words: &[&str]) {
            dir.join(MARK);
            dir.join("log.durable");
            dir.join(format!("{sequence:020}.spare"));
            dir.join(format!("log.aside.{number}"));
            words.join(", ");
            words.join("\n");
        }
        mod tests {
            fn path(dir: &Path) { dir.join("other"); }
        }
    "#;
    let expected = [
        "key.pem",
        ".jnl",
        "FORMAT",
        "log.durable",
        ".spare",
        "log.aside.<n>",
    ];
    assert_eq!(names_in(source), expected);
}

/// The names that the product's part of a source file gives to files and directories.
fn names_in(source: &str) -> Vec<String> {
    let product = source.split("mod tests {").next().unwrap_or_default();
    let constants: Vec<(&str, &str)> = product.lines().filter_map(constant).collect();
    let mut found = Vec::new();
    for (name, value) in &constants {
        if NAMING.iter().any(|ending| name.ends_with(ending)) && is_file_name(value) {
            let dot = if name.ends_with("EXTENSION") { "." } else { "" };
            found.push(format!("{dot}{value}"));
        }
    }
    for argument in product.split(".join(").skip(1) {
        let argument = argument.split(')').next().unwrap_or_default();
        let argument = argument.trim_start_matches("format!(");
        let literal = argument.split('"').nth(1);
        let of_constant = constants.iter().find(|(name, _)| *name == argument);
        let name = literal.or(of_constant.map(|(_, value)| *value));
        found.extend(name.and_then(written_name));
    }
    found
}

/// `const NAME: &str = "value";`, of any visibility.
fn constant(line: &str) -> Option<(&str, &str)> {
    let (_, definition) = line.split_once("const ")?;
    let (name, value) = definition.split_once(": &str = \"")?;
    Some((name, value.strip_suffix("\";")?))
}

/// A name as documents write it: `<n>` stands for a number, and a number in front is left out.
fn written_name(literal: &str) -> Option<String> {
    let name = match (literal.find('{'), literal.rfind('}')) {
        (Some(0), Some(end)) => literal[end + 1..].to_owned(),
        (Some(start), Some(end)) => format!("{}<n>{}", &literal[..start], &literal[end + 1..]),
        _ => literal.to_owned(),
    };
    is_file_name(&name.replace("<n>", "")).then_some(name)
}

fn is_file_name(text: &str) -> bool {
    let is_part = |next: char| next.is_ascii_alphanumeric() || "._-".contains(next);
    text.chars().all(is_part)
        && text.contains(|next: char| next.is_ascii_alphabetic())
        && !text.starts_with("ORRERY_")
}
