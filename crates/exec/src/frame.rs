//! What an expression can see while it is evaluated.
//!
//! Frames form a chain: the document is at level 0, and every element, row of a subquery, `LET`
//! or group adds one level. Names were resolved to levels when compiling, so a lookup is a short
//! walk up the chain, and everything is borrowed from where it already is.

use orrery_json::Value;

use crate::context::Context;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    value: &'a Value,
    /// The keys of a group and the results of its aggregates; they may be undefined.
    cells: &'a [Value],
    level: usize,
    parent: Option<&'a Frame<'a>>,
    context: &'a Context<'a>,
}

impl<'a> Frame<'a> {
    pub(crate) fn document(value: &'a Value, context: &'a Context<'a>) -> Frame<'a> {
        Frame {
            value,
            cells: &[],
            level: 0,
            parent: None,
            context,
        }
    }

    pub(crate) fn with<'b>(&'b self, value: &'b Value) -> Frame<'b> {
        Frame {
            value,
            cells: &[],
            level: self.level + 1,
            parent: Some(self),
            context: self.context,
        }
    }

    pub(crate) fn with_cells<'b>(&'b self, cells: &'b [Value]) -> Frame<'b> {
        Frame {
            cells,
            ..self.with(&Value::Undefined)
        }
    }

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
