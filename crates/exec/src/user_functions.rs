//! User-defined functions of the container: `udf.tax(c.price)`.
//!
//! This crate does not know the language of these functions. A query is compiled against their
//! names, and a page receives an object that calls them by number. The effect of a call is unknown,
//! so a call implies nothing about the documents that pass a filter, and no call happens before a
//! page runs.

use std::cell::RefCell;

use orrery_json::Value;
use orrery_memory::LoanError;
use orrery_sql::ast::Call;

use crate::CompileError;
use crate::frame::Frame;
use crate::grouping::aggregate_in;
use crate::scalar::Scalar;
use crate::scope::Scope;

/// Limit of user-defined function calls in one query text.
const CALLS_MAX: usize = 10;

/// The reason for which a call has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserFunctionError {
    /// The message and optional error number of the function.
    Failed {
        message: String,
        number: Option<u32>,
    },
    OutOfTime,
    /// The server's memory for clients has too little left for this query's client.
    Exhausted(LoanError),
}

/// The user-defined functions of a container, ready for calls from a page.
pub trait UserFunctions {
    /// Calls a function. An error ends the query. Functions are numbered as in
    /// [`Program::functions_used`](crate::Program::functions_used). The number of arguments is that
    /// of the query text; arguments and the result may be undefined.
    fn call(&self, function: usize, arguments: &[Value]) -> Result<Value, UserFunctionError>;
}

/// The functions that a query may call, and those that it calls.
#[derive(Debug)]
pub(crate) struct FunctionNames<'a> {
    known: &'a [String],
    used: RefCell<CalledFunctions>,
}

#[derive(Debug, Default)]
struct CalledFunctions {
    /// Each name once, in the order of first calls.
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

    /// The number of a function, if the container has a function of this name. Names are resource
    /// ids, so case counts.
    fn number(&self, name: &str) -> Result<Option<usize>, CompileError> {
        let mut used = self.used.borrow_mut();
        used.calls += 1;
        if used.calls > CALLS_MAX {
            return Err(CompileError::TooMany {
                what: "calls of user-defined functions",
                limit: CALLS_MAX,
            });
        }
        let Some(name) = self.known.iter().find(|known| **known == name) else {
            return Ok(None);
        };
        if let Some(number) = used.names.iter().position(|used| used == name) {
            return Ok(Some(number));
        }
        used.names.push(name.clone());
        Ok(Some(used.names.len() - 1))
    }
}

impl Scope<'_> {
    pub(crate) fn user_function(&self, call: &Call) -> Result<Scalar, CompileError> {
        let Some(functions) = self.functions() else {
            let what = format!("user-defined function '{}'", call.name.name);
            return Err(CompileError::unsupported(what));
        };
        // Aggregates are computed over groups, and a function is called per row.
        if let Some(aggregate) = call.arguments.iter().find_map(aggregate_in) {
            return Err(CompileError::MisplacedAggregate {
                name: aggregate.name.name.clone(),
                span: aggregate.span,
            });
        }
        let number = functions.number(&call.name.name)?;
        let arguments = self.all(&call.arguments)?;
        Ok(match number {
            Some(number) => Scalar::UserCall(number, arguments),
            None => Scalar::UnknownUserCall(call.name.name.clone()),
        })
    }
}

/// Evaluates the arguments and calls the function. A single argument, often a whole document, is
/// passed without a copy.
pub(crate) fn call(function: usize, arguments: &[Scalar], frame: &Frame<'_>) -> Value {
    let context = frame.context();
    if let [argument] = arguments {
        let argument = argument.evaluate(frame);
        let mut held = context.scoped_lease();
        if !held.add_made(&argument) {
            return Value::Undefined;
        }
        return context.call(function, std::slice::from_ref(argument.as_ref()));
    }
    let mut held = context.scoped_lease();
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
