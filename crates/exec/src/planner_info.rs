//! Facts about a compiled query for the planner, in addition to its filter.

use orrery_sql::ast::SortDirection;

use crate::aggregate::AggregateKind;
use crate::predicate::{DocumentPath, PathStep};
use crate::program::Program;
use crate::row_source::RowSource;
use crate::scalar::{Scalar, ValueStep};

/// The operator that makes the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultShape {
    /// Rows in scan order.
    Stream,
    /// Rows in the order of `ORDER BY`.
    Sorted,
    /// Different rows in hash order.
    Distinct,
    /// Groups, or one row of aggregates.
    Grouped,
}

/// A column of `ORDER BY` that an index can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm {
    pub path: DocumentPath,
    pub direction: SortDirection,
}

impl Program {
    /// The columns of `ORDER BY`, provided that each is a path of names and that every document
    /// gives at most one row. Documents in this order then produce ordered rows. Otherwise the list
    /// is empty.
    pub fn order_terms(&self) -> Vec<OrderTerm> {
        if self.shape() != ResultShape::Sorted || !has_one_row_per_document(self) {
            return Vec::new();
        }
        let terms = self.order().iter().map(|column| {
            Some(OrderTerm {
                path: plain_path(&column.scalar)?,
                direction: column.direction,
            })
        });
        terms.collect::<Option<_>>().unwrap_or_default()
    }

    /// The number of rows that `TOP` or `OFFSET` and `LIMIT` examine, including the skipped ones.
    pub fn rows_max(&self) -> Option<u64> {
        let window = self.skip_take();
        window.take.map(|take| take.saturating_add(window.skip))
    }

    /// The path whose extreme value is the whole result: one `MIN` or `MAX` without groups and
    /// joins. The direction says from which end of an ordered index the value comes.
    ///
    /// Only documents that pass the filter and have the path count. The extreme is among the
    /// documents with the first value in this direction; these can be several, because an index key
    /// can hold less than the value. An array or object in any counted document makes the result
    /// undefined. In descending order such documents come first, so the first value still decides.
    /// In ascending order they come last, so a caller that stops at the first value must know that
    /// none exist.
    pub fn extreme(&self) -> Option<(DocumentPath, SortDirection)> {
        let block = self.block();
        let grouping = block.grouping.as_ref()?;
        let [aggregate] = grouping.aggregates.as_slice() else {
            return None;
        };
        if !grouping.keys.is_empty() || !block.sources.is_empty() {
            return None;
        }
        let direction = match aggregate.kind {
            AggregateKind::Min => SortDirection::Ascending,
            AggregateKind::Max => SortDirection::Descending,
            _ => return None,
        };
        Some((plain_path(&aggregate.argument)?, direction))
    }

    /// Whether the query needs only the number of documents, as `SELECT VALUE COUNT(1) FROM c`
    /// does.
    pub fn reads_nothing(&self) -> bool {
        let has_no_fields = self.fields().is_some_and(orrery_json::FieldMask::is_empty);
        has_no_fields
            && self.shape() == ResultShape::Grouped
            && self.reads_documents()
            && self.functions_used().is_empty()
    }

    /// The single path that the program reads, if it needs neither the text nor the resource id of
    /// the document. `SELECT DISTINCT VALUE c.a FROM c` is such a program.
    pub fn covering_path(&self) -> Option<DocumentPath> {
        let needs_document = self.selects_whole_document() || self.shape() == ResultShape::Sorted;
        let names = self.fields()?.only_path()?;
        if needs_document || names.is_empty() {
            return None;
        }
        let steps = names
            .into_iter()
            .map(|name| PathStep::Name(name.to_owned()));
        Some(DocumentPath(steps.collect()))
    }
}

/// Whether no source multiplies the document: only then is the order of documents that of the rows.
fn has_one_row_per_document(program: &Program) -> bool {
    let mut sources = program.block().sources.iter();
    sources.all(|source| matches!(source, RowSource::Defined(_)))
}

/// A path of property names in the document.
fn plain_path(scalar: &Scalar) -> Option<DocumentPath> {
    let Scalar::Path(0, steps) = scalar else {
        return None;
    };
    let names = steps.iter().map(|step| match step {
        ValueStep::Name(name) => Some(PathStep::Name(name.clone())),
        ValueStep::Index(_) => None,
    });
    let names = names.collect::<Option<Vec<_>>>()?;
    (!names.is_empty()).then_some(DocumentPath(names))
}
