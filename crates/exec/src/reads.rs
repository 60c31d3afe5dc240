//! What a program reads of a document, so that a scan can leave the rest unread.
//!
//! A frame of a join stands for the elements it goes through, and what is read of the frame is
//! read of them. The value of any other frame was made by an expression, which has said what it
//! reads; where that expression decides whether there is a row, it reads its value whole, because
//! a part of it cannot tell.

use orrery_json::{FieldStep, Fields};

use crate::aggregate::{Aggregate, AggregateKind};
use crate::block::Block;
use crate::projection::Selection;
use crate::scalar::{Scalar, Step};
use crate::sort_key::OrderColumn;
use crate::source::Source;

/// What the rows of a query need. The rows of `SELECT *` are stored texts and need nothing,
/// unless they are compared with each other.
pub(crate) fn of(block: &Block, order: &[OrderColumn]) -> Fields {
    let mut reads = Reads::default();
    let frames = reads.sources(block, &Frames(vec![Some(Vec::new())]));
    let over_rows = match &block.grouping {
        None => frames,
        Some(_) => reads.groups(block, &frames, &Frames(vec![None])),
    };
    match &block.selection {
        Selection::Document if block.grouping.is_none() && !block.distinct => {}
        selection => reads.selection(selection, &over_rows),
    }
    for column in order {
        reads.scalar(&column.scalar, &over_rows);
    }
    reads.fields
}

/// `COUNT(c)`, which looks at nothing of a document but that it is there.
fn counts_documents(aggregate: &Aggregate) -> bool {
    aggregate.kind == AggregateKind::Count
        && matches!(&aggregate.argument, Scalar::Path(0, steps) if steps.is_empty())
}

type Path = Vec<FieldStep<'static>>;

/// Where in the document the value of each level is, if it is there at all.
#[derive(Debug, Clone)]
struct Frames(Vec<Option<Path>>);

impl Frames {
    fn place(&self, scalar: &Scalar) -> Option<Path> {
        let Scalar::Path(level, steps) = scalar else {
            return None;
        };
        let mut path = self.0.get(*level)?.clone()?;
        path.extend(steps.iter().map(|step| match step {
            Step::Name(name) => FieldStep::Name(name.clone().into()),
            Step::Index(_) => FieldStep::Element,
        }));
        Some(path)
    }

    fn with(&self, place: Option<Path>) -> Frames {
        let mut frames = self.clone();
        frames.0.push(place);
        frames
    }
}

#[derive(Debug, Default)]
struct Reads {
    fields: Fields,
}

impl Reads {
    /// Sources and filter of a block; gives its frames.
    fn sources(&mut self, block: &Block, outer: &Frames) -> Frames {
        let mut frames = outer.clone();
        for source in &block.sources {
            let place = match source {
                Source::Defined(value) => {
                    self.scalar(value, &frames);
                    continue;
                }
                Source::Elements(array) => match frames.place(array) {
                    Some(mut path) => {
                        self.fields.want_length(path.iter().cloned());
                        path.push(FieldStep::Element);
                        Some(path)
                    }
                    None => {
                        self.scalar(array, &frames);
                        None
                    }
                },
                Source::Rows(block) | Source::ElementsOfRows(block) => {
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

    /// Keys and aggregates; gives the frames of the groups.
    fn groups(&mut self, block: &Block, rows: &Frames, outer: &Frames) -> Frames {
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

    fn block(&mut self, block: &Block, outer: &Frames) {
        let frames = self.sources(block, outer);
        let over_rows = match &block.grouping {
            None => frames,
            Some(_) => self.groups(block, &frames, outer),
        };
        self.selection(&block.selection, &over_rows);
    }

    fn selection(&mut self, selection: &Selection, frames: &Frames) {
        match selection {
            Selection::Document => self.fields.want([]),
            Selection::Value(value) => self.scalar(value, frames),
            Selection::Properties(properties) => {
                for (_, value) in properties {
                    self.scalar(value, frames);
                }
            }
        }
    }

    fn all(&mut self, scalars: &[Scalar], frames: &Frames) {
        for scalar in scalars {
            self.scalar(scalar, frames);
        }
    }

    fn scalar(&mut self, scalar: &Scalar, frames: &Frames) {
        match scalar {
            Scalar::Constant(_) | Scalar::Parameter(_) | Scalar::Cell(..) => {}
            Scalar::Path(..) => {
                if let Some(path) = frames.place(scalar) {
                    self.fields.want(path);
                }
            }
            Scalar::Part(value, _)
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
                ("DOCUMENTID", [item]) if frames.place(item).is_some() => {
                    let path = frames.place(item).into_iter().flatten();
                    let rid = FieldStep::Name("_rid".into());
                    self.fields.want(path.chain([rid]));
                }
                _ => self.all(arguments, frames),
            },
            Scalar::UserCall(_, arguments) => self.all(arguments, frames),
            Scalar::Let { value, body } => {
                let place = frames.place(value);
                if place.is_none() {
                    self.scalar(value, frames);
                }
                self.scalar(body, &frames.with(place));
            }
            Scalar::Subquery(_, block) => self.block(block, frames),
            Scalar::OfDocument(value) => self.scalar(value, &Frames(vec![Some(Vec::new())])),
        }
    }
}
