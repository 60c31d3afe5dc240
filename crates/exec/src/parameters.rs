//! Parameters during compilation: their values, or slots for values that a request supplies later.
//!
//! A program with slots serves all values, unless a value decides what is read: the name in
//! `c[@name]` is part of a path, and a pattern is parsed before the first row. Such a query is
//! compiled for each set of values.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use orrery_json::Value;
use orrery_sql::ast::Identifier;

/// The parameters that the compiler sees.
#[derive(Clone, Copy)]
pub(crate) enum Parameters<'a> {
    Values(&'a [(String, Value)]),
    Slots(&'a Slots),
}

/// The parameters that a query names, each once, in the order of their first use.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    names: RefCell<Vec<Identifier>>,
    by_name: RefCell<HashMap<String, usize>>,
    decides_reads: Cell<bool>,
}

impl Slots {
    /// The slot of a parameter; a new name gets the next slot.
    pub(crate) fn of(&self, name: &Identifier) -> usize {
        let mut names = self.names.borrow_mut();
        let mut by_name = self.by_name.borrow_mut();
        *by_name.entry(name.name.clone()).or_insert_with(|| {
            names.push(name.clone());
            names.len() - 1
        })
    }

    /// Records that another value would give another program.
    pub(crate) fn mark_values_needed(&self) {
        self.decides_reads.set(true);
    }

    /// The names in slot order; `None` if a value decides what is read.
    pub(crate) fn into_names(self) -> Option<Vec<Identifier>> {
        (!self.decides_reads.get()).then(|| self.names.into_inner())
    }
}

/// The supplied value of a parameter, or undefined.
pub(crate) fn find<'a>(parameters: &'a [(String, Value)], name: &Identifier) -> &'a Value {
    parameters
        .iter()
        .find(|(supplied, _)| *supplied == name.name)
        .map_or(&Value::Undefined, |(_, value)| value)
}

/// Supplied values, indexed for lookups by many names.
pub(crate) enum ParameterLookup<'a> {
    Few(&'a [(String, Value)]),
    Many(HashMap<&'a str, &'a Value>),
}

/// In a list of this length, comparing names is cheaper than hashing them.
const FEW: usize = 16;

impl<'a> ParameterLookup<'a> {
    pub(crate) fn of(parameters: &'a [(String, Value)]) -> ParameterLookup<'a> {
        if parameters.len() <= FEW {
            return ParameterLookup::Few(parameters);
        }
        // The first value of a repeated name counts, and a map keeps the last insertion: so the
        // list is inserted backwards.
        let by_name = parameters.iter().rev();
        ParameterLookup::Many(
            by_name
                .map(|(name, value)| (name.as_str(), value))
                .collect(),
        )
    }

    pub(crate) fn find(&self, name: &Identifier) -> &'a Value {
        match self {
            ParameterLookup::Few(parameters) => find(parameters, name),
            ParameterLookup::Many(by_name) => by_name
                .get(name.name.as_str())
                .copied()
                .unwrap_or(&Value::Undefined),
        }
    }
}
