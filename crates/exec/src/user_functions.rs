//! Functions of the container: `udf.tax(c.price)`.
//!
//! They are written in another language, which this crate does not know: a query is compiled
//! against their names, and a page is given something that calls them by number. What they do is
//! nobody's knowledge but theirs, so a call says nothing about the documents that pass a filter
//! and is never made before a page runs.

use std::cell::RefCell;

use orrery_json::Value;
use orrery_memory::Exhausted;
use orrery_sql::ast::{Call, Identifier};

use crate::CompileError;
use crate::frame::Frame;
use crate::grouping::aggregate_in;
use crate::scalar::Scalar;
use crate::scope::Scope;

/// Calls of user-defined functions that are written in one query.
const CALLS_MAX: usize = 10;

/// Why a call gave no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionError {
    /// In the function's own words.
    Failed(String),
    OutOfTime,
    /// The memory that the server lends to clients has too little left for the client of this
    /// query.
    Exhausted(Exhausted),
}

/// The user-defined functions of a container, ready to be called from a page.
pub trait Functions {
    /// The value that a function gives, or why it failed, which ends the query. Functions are
    /// numbered as in [`Program::functions_used`](crate::Program::functions_used). Arguments are
    /// as many as the query has written and may be undefined, and so may be the result.
    fn call(&self, function: usize, arguments: &[Value]) -> Result<Value, FunctionError>;
}

/// The functions that a query may call, and those that it does.
#[derive(Debug)]
pub(crate) struct FunctionNames<'a> {
    known: &'a [String],
    used: RefCell<Used>,
}

#[derive(Debug, Default)]
struct Used {
    /// Each once, in the order of their first calls.
    names: Vec<String>,
    calls: usize,
}

impl<'a> FunctionNames<'a> {
    pub(crate) fn new(known: &'a [String]) -> FunctionNames<'a> {
        FunctionNames {
            known,
            used: RefCell::default(),
        }
    }

    pub(crate) fn into_used(self) -> Vec<String> {
        self.used.into_inner().names
    }

    /// The number of a function. Their names are ids of resources, so case counts.
    fn number(&self, name: &Identifier) -> Result<usize, CompileError> {
        let Some(name) = self.known.iter().find(|known| **known == name.name) else {
            return Err(CompileError::UnknownUserFunction {
                name: name.name.clone(),
                span: name.span,
            });
        };
        let mut used = self.used.borrow_mut();
        used.calls += 1;
        if used.calls > CALLS_MAX {
            return Err(CompileError::TooMany {
                what: "calls of user-defined functions",
                limit: CALLS_MAX,
            });
        }
        if let Some(number) = used.names.iter().position(|used| used == name) {
            return Ok(number);
        }
        used.names.push(name.clone());
        Ok(used.names.len() - 1)
    }
}

impl Scope<'_> {
    pub(crate) fn user_function(&self, call: &Call) -> Result<Scalar, CompileError> {
        let Some(functions) = self.functions() else {
            let what = format!("user-defined function '{}'", call.name.name);
            return Err(CompileError::unsupported(what));
        };
        if let Some(aggregate) = call.arguments.iter().find_map(aggregate_in) {
            return Err(CompileError::MisplacedAggregate {
                name: aggregate.name.name.clone(),
                span: aggregate.span,
            });
        }
        let number = functions.number(&call.name)?;
        let arguments = self.all(&call.arguments)?;
        Ok(Scalar::UserCall(number, arguments))
    }
}

/// One argument, which is often a whole document, is passed without a copy.
pub(crate) fn call(function: usize, arguments: &[Scalar], frame: &Frame<'_>) -> Value {
    let context = frame.context();
    if let [argument] = arguments {
        let argument = argument.evaluate(frame);
        let mut held = context.hold();
        if !held.add_made(&argument) {
            return Value::Undefined;
        }
        return context.call(function, std::slice::from_ref(argument.as_ref()));
    }
    let mut held = context.hold();
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let value = argument.evaluate(frame);
        if !held.add(&value) {
            return Value::Undefined;
        }
        values.push(value.into_owned());
    }
    context.call(function, &values)
}
