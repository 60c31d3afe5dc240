//! Functions of the query language that are not implemented yet. They are refused by name instead
//! of as unknown.

pub(super) fn contains(name: &str) -> bool {
    NAMES
        .iter()
        .any(|pending| pending.eq_ignore_ascii_case(name))
}

/// The name of a pending function in its refusal. A client's query plan may call functions that the
/// query text does not contain.
pub(super) fn named(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    if upper.contains("FULLTEXT") {
        format!("full-text search ({name})")
    } else if upper.contains("VECTOR") {
        format!("vector search ({name})")
    } else {
        format!("function {name}")
    }
}

#[rustfmt::skip]
const NAMES: &[&str] = &[
    // full text
    "FULLTEXTCONTAINS", "FULLTEXTCONTAINSALL", "FULLTEXTCONTAINSANY", "FULLTEXTSCORE",
    "FULLTEXT_CONTAINS", "FULLTEXT_CONTAINS_ALL", "FULLTEXT_CONTAINS_ANY", "RRF", "_FULLTEXTSCORE",
    "_FULLTEXTWORDCOUNT",
    // items
    "HASH",
    // mathematics: without a seed, a page could not be computed again
    "RAND",
    // vectors
    "VECTORDISTANCE", "_VECTORSCORE",
];
