//! Functions of the query language that are not implemented yet. They are refused by name instead
//! of as unknown.

use super::Arity;

pub(super) fn contains(name: &str) -> bool {
    arity(name).is_some()
}

/// The permitted numbers of arguments; `None` for a function that is not pending.
pub(super) fn arity(name: &str) -> Option<Arity> {
    NAMES
        .iter()
        .find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
        .map(|(arity, _)| *arity)
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
const NAMES: &[(Arity, &[&str])] = &[
    // full text
    (Arity::Exactly(2), &["FULLTEXTCONTAINS", "FULLTEXT_CONTAINS"]),
    (Arity::AtLeast(2), &[
        "FULLTEXTCONTAINSALL", "FULLTEXTCONTAINSANY", "FULLTEXT_CONTAINS_ALL", "FULLTEXT_CONTAINS_ANY",
        "FULLTEXTSCORE",
    ]),
    (Arity::AtLeast(0), &["RRF", "_FULLTEXTSCORE"]),
    (Arity::Exactly(1), &["_FULLTEXTWORDCOUNT"]),
    // items
    (Arity::Between(1, 3), &["HASH"]),
    // mathematics: without a seed, a page could not be computed again
    (Arity::Exactly(0), &["RAND"]),
    // vectors
    (Arity::Between(2, 4), &["VECTORDISTANCE", "_VECTORSCORE"]),
];
