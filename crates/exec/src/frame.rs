//! The values that an expression can see during its evaluation.
//!
//! Frames form a chain. The document is level 0; each array element, subquery row, `LET` or group
//! adds one level. The compiler has resolved names to levels, so a lookup walks up the chain. A
//! frame borrows all its values.

use orrery_json::Value;

use crate::context::Context;

/// One level of the chain. Frames are small and live on the stack of the evaluation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    value: &'a Value,
    /// The keys of a group and the results of its aggregates; a cell may be undefined.
    cells: &'a [Value],
    level: usize,
    parent: Option<&'a Frame<'a>>,
    context: &'a Context<'a>,
}

impl<'a> Frame<'a> {
    /// The frame of a document, at level 0.
    pub(crate) fn document(value: &'a Value, context: &'a Context<'a>) -> Frame<'a> {
        Frame {
            value,
            cells: &[],
            level: 0,
            parent: None,
            context,
        }
    }

    /// A frame one level up, for an array element, a subquery row or a `LET`.
    pub(crate) fn with<'b>(&'b self, value: &'b Value) -> Frame<'b> {
        Frame {
            value,
            cells: &[],
            level: self.level + 1,
            parent: Some(self),
            context: self.context,
        }
    }

    /// A frame one level up, for a group.
    pub(crate) fn with_cells<'b>(&'b self, cells: &'b [Value]) -> Frame<'b> {
        Frame {
            cells,
            ..self.with(&Value::Undefined)
        }
    }

    /// The value at a level; undefined if the chain has no such level.
    pub(crate) fn value_at(&self, level: usize) -> &'a Value {
        self.at(level).map_or(&Value::Undefined, |(value, _)| value)
    }

    pub(crate) fn cell_at(&self, level: usize, index: usize) -> &'a Value {
        self.at(level)
            .and_then(|(_, cells)| cells.get(index))
            .unwrap_or(&Value::Undefined)
    }

    pub(crate) fn context(&self) -> &'a Context<'a> {
        self.context
    }

    /// Walks up the chain to a level.
    fn at(&self, level: usize) -> Option<(&'a Value, &'a [Value])> {
        if self.level == level {
            return Some((self.value, self.cells));
        }
        let mut frame = self.parent?;
        while frame.level > level {
            frame = frame.parent?;
        }
        Some((frame.value, frame.cells))
    }
}
