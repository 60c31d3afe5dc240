//! Texts that a client replaces before it sends a rewritten query.
//!
//! They are no part of the language: a query that still has one does not parse.

use orrery_sql::ast::Expr;

use super::tree::verbatim;

/// Where the client puts the condition to resume behind rows it already has, or `true`.
pub(super) fn order_by_filter() -> Expr {
    verbatim("({documentdb-formattableorderbyquery-filter})")
}

pub(super) fn document_count() -> Expr {
    verbatim("{documentdb-formattablehybridsearchquery-totaldocumentcount}")
}

/// The words of all documents, for the score at this place among the scores.
pub(super) fn word_count(component: usize) -> Expr {
    verbatim(format!(
        "{{documentdb-formattablehybridsearchquery-totalwordcount-{component}}}"
    ))
}

/// The documents with each term, for the score at this place among the scores.
pub(super) fn hit_counts(component: usize) -> Expr {
    verbatim(format!(
        "{{documentdb-formattablehybridsearchquery-hitcountsarray-{component}}}"
    ))
}
