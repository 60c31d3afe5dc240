//! Parameters while a query is compiled: their values, or slots for values that come later.
//!
//! A program with slots is the same for all values, except where a value decides what is read: the
//! name in `c[@name]` is part of a path, and a pattern is made ready before the first row. Such
//! programs are compiled for each set of values.

use std::cell::{Cell, RefCell};

use orrery_json::Value;
use orrery_sql::ast::Identifier;

use crate::CompileError;

#[derive(Clone, Copy)]
pub(crate) enum Parameters<'a> {
    Values(&'a [(String, Value)]),
    Slots(&'a Slots),
}

/// The parameters that a query names, each once, in the order in which they are met.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    names: RefCell<Vec<Identifier>>,
    decides_reads: Cell<bool>,
}

impl Slots {
    pub(crate) fn of(&self, name: &Identifier) -> usize {
        let mut names = self.names.borrow_mut();
        let known = names.iter().position(|known| known.name == name.name);
        known.unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        })
    }

    /// Notes that the program would be another one for another value.
    pub(crate) fn mark_decisive(&self) {
        self.decides_reads.set(true);
    }

    /// The names in the order of their slots; none if a value decides what is read.
    pub(crate) fn into_names(self) -> Option<Vec<Identifier>> {
        (!self.decides_reads.get()).then(|| self.names.into_inner())
    }
}

/// The value that was supplied for a parameter.
pub(crate) fn find<'a>(
    parameters: &'a [(String, Value)],
    name: &Identifier,
) -> Result<&'a Value, CompileError> {
    parameters
        .iter()
        .find(|(supplied, _)| *supplied == name.name)
        .map(|(_, value)| value)
        .ok_or_else(|| CompileError::MissingParameter {
            name: name.name.clone(),
            span: name.span,
        })
}
