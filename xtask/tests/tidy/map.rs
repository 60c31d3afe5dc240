//! Checks that the code map in ARCHITECTURE.md agrees with the manifests of the crates.

use crate::workspace::{
    crate_directory, crate_names, dependencies, manifest_of, read, report, root,
};

/// A row of the map: a crate and its dependencies within the workspace.
#[derive(Debug, PartialEq)]
struct MapRow {
    name: String,
    edges: Vec<String>,
}

#[test]
fn the_map_has_the_edges_of_the_manifests() {
    let rows = rows_of_map();
    let mut problems = Vec::new();
    for name in crate_names() {
        if !rows.iter().any(|row| row.name == name) {
            problems.push(format!(
                "ARCHITECTURE.md, Code map: give `{name}` a row, above the crates that lean on it"
            ));
        }
    }
    for (index, row) in rows.iter().enumerate() {
        let edges = edges_of_manifest(&row.name);
        for edge in edges.iter().filter(|edge| !row.edges.contains(edge)) {
            problems.push(format!(
                "crates/{} must not depend on {edge}: pass what it needs as a value, or add the edge \
                 to the code map of ARCHITECTURE.md and say why in the commit",
                row.name
            ));
        }
        for edge in row.edges.iter().filter(|edge| !edges.contains(edge)) {
            problems.push(format!(
                "ARCHITECTURE.md, Code map: `{}` does not depend on {edge} any more",
                row.name
            ));
        }
        for edge in &row.edges {
            if !rows[..index].iter().any(|above| above.name == *edge) {
                problems.push(format!(
                    "ARCHITECTURE.md, Code map: `{}` leans on {edge}, which must stand above it",
                    row.name
                ));
            }
        }
    }
    report(&problems);
}

#[test]
fn the_list_of_crates_is_current() {
    let text = read(&root().join("crates/README.md"));
    let listed: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    let expected: Vec<String> = rows_of_map()
        .iter()
        .map(|MapRow { name, .. }| format!("- [`{name}`]({name}): {}", purpose(name)))
        .collect();
    assert!(
        listed == expected,
        "crates/README.md does not repeat the first paragraphs of the crates; its list should be:\
         \n\n{}\n",
        expected.join("\n")
    );
}

#[test]
fn rows_are_read_from_the_table_of_the_map() {
    let text = "\n## Code map\n\nProse.\n\n| Crate | Does | Leans on | Does not know |\n|---|---|---|---|\n\
                | `a` | x, `y` | | z |\n| `b` | x | a c | |\n\n## Other\n| `d` | x | a | |\n";
    let row = |name: &str, edges: &[&str]| MapRow {
        name: name.to_owned(),
        edges: edges.iter().map(|&edge| edge.to_owned()).collect(),
    };
    assert_eq!(map_rows(text), [row("a", &[]), row("b", &["a", "c"])]);
}

fn rows_of_map() -> Vec<MapRow> {
    let rows = map_rows(&read(&root().join("ARCHITECTURE.md")));
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no code map");
    rows
}

/// The rows of the table below the heading `Code map`.
fn map_rows(text: &str) -> Vec<MapRow> {
    let (_, map) = text.split_once("\n## Code map\n").unwrap_or_default();
    let map = map.split("\n## ").next().unwrap_or_default();
    map.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
            let name = cells.next()?.trim_end_matches('`').to_owned();
            let edges = cells.nth(1)?.split_whitespace().map(str::to_owned);
            Some(MapRow {
                name,
                edges: edges.collect(),
            })
        })
        .collect()
}

fn edges_of_manifest(name: &str) -> Vec<String> {
    dependencies(&manifest_of(name), &["dependencies"])
        .iter()
        .filter_map(|dependency| dependency.name.strip_prefix("orrery-"))
        .map(str::to_owned)
        .collect()
}

/// The first paragraph of a crate's comment.
fn purpose(name: &str) -> String {
    let source = crate_directory(name).join("src");
    let file = [source.join("lib.rs"), source.join("main.rs")]
        .into_iter()
        .find(|file| file.exists())
        .unwrap_or_else(|| panic!("crates/{name} has neither lib.rs nor main.rs"));
    let text = read(&file);
    let paragraph: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//! "))
        .collect();
    paragraph.join(" ")
}
