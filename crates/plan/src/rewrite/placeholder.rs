//! Placeholders that a client replaces before it sends a rewritten query.
//!
//! Placeholders are not valid query syntax: a query that still contains one fails to parse.

use orrery_sql::ast::Expr;

use super::tree::verbatim;

/// The condition by which the client resumes after the rows it has received, or `true`.
pub(super) fn order_by_filter() -> Expr {
    verbatim("({documentdb-formattableorderbyquery-filter})")
}

pub(super) fn document_count() -> Expr {
    verbatim("{documentdb-formattablehybridsearchquery-totaldocumentcount}")
}

/// The number of words in all documents, for the component with this index.
pub(super) fn word_count(component: usize) -> Expr {
    verbatim(format!(
        "{{documentdb-formattablehybridsearchquery-totalwordcount-{component}}}"
    ))
}

/// The number of documents with each term, for the component with this index.
pub(super) fn hit_counts(component: usize) -> Expr {
    verbatim(format!(
        "{{documentdb-formattablehybridsearchquery-hitcountsarray-{component}}}"
    ))
}
