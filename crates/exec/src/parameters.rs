//! Parameters while a query is compiled: their values, or slots for values that come later.
//!
//! A program with slots is the same for all values, except where a value decides what is read: the
//! name in `c[@name]` is part of a path, and a pattern is made ready before the first row. Such
//! programs are compiled for each set of values.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

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
    by_name: RefCell<HashMap<String, usize>>,
    decides_reads: Cell<bool>,
}

impl Slots {
    pub(crate) fn of(&self, name: &Identifier) -> usize {
        let mut names = self.names.borrow_mut();
        let mut by_name = self.by_name.borrow_mut();
        *by_name.entry(name.name.clone()).or_insert_with(|| {
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

/// Supplied values that are asked for by many names.
pub(crate) enum Supplied<'a> {
    Few(&'a [(String, Value)]),
    Many(HashMap<&'a str, &'a Value>),
}

/// In a list this short, comparing names is cheaper than hashing them.
const FEW: usize = 16;

impl<'a> Supplied<'a> {
    pub(crate) fn of(parameters: &'a [(String, Value)]) -> Supplied<'a> {
        if parameters.len() <= FEW {
            return Supplied::Few(parameters);
        }
        // Of one name the first value counts.
        let by_name = parameters.iter().rev();
        Supplied::Many(
            by_name
                .map(|(name, value)| (name.as_str(), value))
                .collect(),
        )
    }

    pub(crate) fn find(&self, name: &Identifier) -> Result<&'a Value, CompileError> {
        match self {
            Supplied::Few(parameters) => find(parameters, name),
            Supplied::Many(by_name) => by_name.get(name.name.as_str()).copied().ok_or_else(|| {
                CompileError::MissingParameter {
                    name: name.name.clone(),
                    span: name.span,
                }
            }),
        }
    }
}
