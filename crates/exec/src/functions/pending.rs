//! Functions of the language that are not implemented yet: refused by name, not as unknown.

pub(super) fn contains(name: &str) -> bool {
    NAMES
        .iter()
        .any(|pending| pending.eq_ignore_ascii_case(name))
}

#[rustfmt::skip]
const NAMES: &[&str] = &[
    // full text
    "FULLTEXTCONTAINS", "FULLTEXTCONTAINSALL", "FULLTEXTCONTAINSANY", "FULLTEXTSCORE",
    "FULLTEXT_CONTAINS", "FULLTEXT_CONTAINS_ALL", "FULLTEXT_CONTAINS_ANY", "RRF", "_FULLTEXTSCORE",
    "_FULLTEXTWORDCOUNT",
    // items
    "HASH",
    // mathematics: without a seed a page could not be computed again
    "RAND",
    // vectors
    "VECTORDISTANCE", "_VECTORSCORE",
];
