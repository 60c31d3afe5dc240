//! What a planner asks about a compiled query beside its filter.

use orrery_sql::ast::Direction;

use crate::aggregate::AggregateKind;
use crate::predicate::{DocumentPath, PathStep};
use crate::program::Program;
use crate::scalar::{Scalar, Step};
use crate::source::Source;

/// Which operator makes the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Rows in the order of the scan.
    Stream,
    /// Rows in the order of `ORDER BY`.
    Sorted,
    /// Different rows, in the order of their hashes.
    Distinct,
    /// Groups, or one row of aggregates.
    Grouped,
}

/// A column of `ORDER BY` that an index can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm {
    pub path: DocumentPath,
    pub direction: Direction,
}

impl Program {
    /// The columns of `ORDER BY`, if each is a path of names and every document gives at most one
    /// row: documents fed in this order come in the order of the rows. Otherwise there are none.
    pub fn order_terms(&self) -> Vec<OrderTerm> {
        if self.shape() != Shape::Sorted || !has_one_row_per_document(self) {
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

    /// How many rows `TOP` or `OFFSET` and `LIMIT` look at, those that are passed over included.
    pub fn rows_max(&self) -> Option<u64> {
        let window = self.window();
        window.take.map(|take| take.saturating_add(window.skip))
    }

    /// The path whose smallest value going up, or largest going down, is all that the query asks
    /// for: one `MIN` or `MAX` without groups and joins.
    ///
    /// Only documents that pass the filter and have the path count, and of them only those with
    /// the first value in this direction, which may be several where a key holds less than the
    /// value. An array or an object in any of them makes the result undefined. Going down these
    /// come first, so that the first value still decides; going up they come last, and whoever
    /// stops at the first value has to know that there are none.
    pub fn extreme(&self) -> Option<(DocumentPath, Direction)> {
        let block = self.block();
        let grouping = block.grouping.as_ref()?;
        let [aggregate] = grouping.aggregates.as_slice() else {
            return None;
        };
        if !grouping.keys.is_empty() || !block.sources.is_empty() {
            return None;
        }
        let direction = match aggregate.kind {
            AggregateKind::Min => Direction::Ascending,
            AggregateKind::Max => Direction::Descending,
            _ => return None,
        };
        Some((plain_path(&aggregate.argument)?, direction))
    }

    /// Whether only the number of documents matters: `SELECT VALUE COUNT(1) FROM c`.
    pub fn reads_nothing(&self) -> bool {
        let has_no_fields = self.fields().is_some_and(orrery_json::Fields::is_empty);
        has_no_fields
            && self.shape() == Shape::Grouped
            && self.reads_documents()
            && self.functions_used().is_empty()
    }

    /// The path whose value is all that the program looks at: not even the text or the number of
    /// the document matters. `SELECT DISTINCT VALUE c.a FROM c` is such a program.
    pub fn reads_only(&self) -> Option<DocumentPath> {
        let needs_document = self.selects_whole_document() || self.shape() == Shape::Sorted;
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

fn has_one_row_per_document(program: &Program) -> bool {
    let mut sources = program.block().sources.iter();
    sources.all(|source| matches!(source, Source::Defined(_)))
}

/// A path of names into the document.
fn plain_path(scalar: &Scalar) -> Option<DocumentPath> {
    let Scalar::Path(0, steps) = scalar else {
        return None;
    };
    let names = steps.iter().map(|step| match step {
        Step::Name(name) => Some(PathStep::Name(name.clone())),
        Step::Index(_) => None,
    });
    let names = names.collect::<Option<Vec<_>>>()?;
    (!names.is_empty()).then_some(DocumentPath(names))
}
