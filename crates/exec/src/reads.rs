//! Computes the fields that a program reads, so that a scan can skip the rest.
//!
//! A frame of a join stands for the array elements it visits, and reads through the frame count as
//! reads of these elements. Any other frame's value comes from an expression, whose reads have been
//! recorded. If that expression decides whether a row exists, its value is read as a whole, because
//! a part of it does not decide.

use orrery_json::{FieldMask, FieldStep};

use crate::aggregate::{Aggregate, AggregateKind};
use crate::projection::RowProjection;
use crate::query_block::QueryBlock;
use crate::row_source::RowSource;
use crate::scalar::{Scalar, ValueStep};
use crate::sort_key::OrderColumn;

/// The fields that the rows of a query need. The rows of `SELECT *` are stored texts and need no
/// field, unless rows are compared with each other.
pub(crate) fn of(block: &QueryBlock, order: &[OrderColumn]) -> FieldMask {
    let mut reads = Reads::default();
    let frames = reads.sources(block, &FramePaths(vec![Some(Vec::new())]));
    let over_rows = match &block.grouping {
        None => frames,
        Some(_) => reads.groups(block, &frames, &FramePaths(vec![None])),
    };
    match &block.projection {
        RowProjection::Document if block.grouping.is_none() && !block.distinct => {}
        selection => reads.projection(selection, &over_rows),
    }
    for column in order {
        reads.scalar(&column.scalar, &over_rows);
    }
    reads.fields
}

/// Whether the aggregate is `COUNT(c)`, which needs only the existence of a document.
fn counts_documents(aggregate: &Aggregate) -> bool {
    aggregate.kind == AggregateKind::Count
        && matches!(&aggregate.argument, Scalar::Path(0, steps) if steps.is_empty())
}

type Path = Vec<FieldStep<'static>>;

/// The document path of each level's value, if the value is part of the document.
#[derive(Debug, Clone)]
struct FramePaths(Vec<Option<Path>>);

impl FramePaths {
    /// The document path of an expression, if the expression is a path.
    fn field_path(&self, scalar: &Scalar) -> Option<Path> {
        let Scalar::Path(level, steps) = scalar else {
            return None;
        };
        let mut path = self.0.get(*level)?.clone()?;
        path.extend(steps.iter().map(|step| match step {
            ValueStep::Name(name) => FieldStep::Name(name.clone().into()),
            ValueStep::Index(_) => FieldStep::Element,
        }));
        Some(path)
    }

    fn with(&self, place: Option<Path>) -> FramePaths {
        let mut frames = self.clone();
        frames.0.push(place);
        frames
    }
}

/// Collects the fields.
#[derive(Debug, Default)]
struct Reads {
    fields: FieldMask,
}

impl Reads {
    /// Records the sources and the filter of a block; returns its frames.
    fn sources(&mut self, block: &QueryBlock, outer: &FramePaths) -> FramePaths {
        let mut frames = outer.clone();
        for source in &block.sources {
            let place = match source {
                RowSource::Defined(value) => {
                    self.scalar(value, &frames);
                    continue;
                }
                RowSource::Elements(array) => match frames.field_path(array) {
                    Some(mut path) => {
                        // The number of elements decides the number of rows, even if no element is
                        // read.
                        self.fields.include_length(path.iter().cloned());
                        path.push(FieldStep::Element);
                        Some(path)
                    }
                    None => {
                        self.scalar(array, &frames);
                        None
                    }
                },
                RowSource::Rows(block) | RowSource::ElementsOfRows(block) => {
                    self.block(block, &frames);
                    None
                }
            };
            frames.0.push(place);
        }
        if let Some(filter) = &block.filter {
            self.scalar(filter, &frames);
        }
        frames
    }

    /// Records the group keys and aggregates; returns the frames of the groups.
    fn groups(&mut self, block: &QueryBlock, rows: &FramePaths, outer: &FramePaths) -> FramePaths {
        if let Some(grouping) = &block.grouping {
            self.all(&grouping.keys, rows);
            for aggregate in &grouping.aggregates {
                if !counts_documents(aggregate) {
                    self.scalar(&aggregate.argument, rows);
                }
            }
        }
        outer.with(None)
    }

    fn block(&mut self, block: &QueryBlock, outer: &FramePaths) {
        let frames = self.sources(block, outer);
        let over_rows = match &block.grouping {
            None => frames,
            Some(_) => self.groups(block, &frames, outer),
        };
        self.projection(&block.projection, &over_rows);
    }

    fn projection(&mut self, selection: &RowProjection, frames: &FramePaths) {
        match selection {
            RowProjection::Document => self.fields.include([]),
            RowProjection::Value(value) => self.scalar(value, frames),
            RowProjection::Properties(properties) => {
                for (_, value) in properties {
                    self.scalar(value, frames);
                }
            }
        }
    }

    fn all(&mut self, scalars: &[Scalar], frames: &FramePaths) {
        for scalar in scalars {
            self.scalar(scalar, frames);
        }
    }

    /// Records the fields that an expression reads.
    fn scalar(&mut self, scalar: &Scalar, frames: &FramePaths) {
        match scalar {
            Scalar::Constant(_) | Scalar::Parameter(_) | Scalar::GroupCell(..) => {}
            Scalar::Path(..) => {
                if let Some(path) = frames.field_path(scalar) {
                    self.fields.include(path);
                }
            }
            Scalar::FieldAccess(value, _)
            | Scalar::Unary(_, value)
            | Scalar::LikeConstant { value, .. } => self.scalar(value, frames),
            Scalar::Index(left, right)
            | Scalar::Binary(_, left, right)
            | Scalar::Coalesce(left, right)
            | Scalar::Like {
                value: left,
                pattern: right,
                ..
            } => {
                self.scalar(left, frames);
                self.scalar(right, frames);
            }
            Scalar::And(terms) | Scalar::Or(terms) | Scalar::Array(terms) => {
                self.all(terms, frames);
            }
            Scalar::In { needle, list, .. } => {
                self.scalar(needle, frames);
                self.all(list, frames);
            }
            Scalar::Between {
                value: first,
                low: second,
                high: third,
                ..
            }
            | Scalar::Conditional {
                condition: first,
                then: second,
                otherwise: third,
            } => {
                for part in [first, second, third] {
                    self.scalar(part, frames);
                }
            }
            Scalar::Object(properties) => {
                for (_, value) in properties {
                    self.scalar(value, frames);
                }
            }
            Scalar::Call(function, arguments) => match (function.name(), arguments.as_slice()) {
                // The function reads only the resource id of the item.
                ("DOCUMENTID", [item]) if frames.field_path(item).is_some() => {
                    let path = frames.field_path(item).into_iter().flatten();
                    let rid = FieldStep::Name("_rid".into());
                    self.fields.include(path.chain([rid]));
                }
                _ => self.all(arguments, frames),
            },
            Scalar::UserCall(_, arguments) => self.all(arguments, frames),
            // The call fails only when it meets a document, so the documents themselves must be
            // read.
            Scalar::UnknownUserCall(_) => self.fields.include([]),
            Scalar::Let { value, body } => {
                let place = frames.field_path(value);
                // A path needs no read of its own: the body records what it reads through the name.
                if place.is_none() {
                    self.scalar(value, frames);
                }
                self.scalar(body, &frames.with(place));
            }
            Scalar::Subquery(_, block) => self.block(block, frames),
            Scalar::ComputedProperty(value) => {
                self.scalar(value, &FramePaths(vec![Some(Vec::new())]));
            }
        }
    }
}
