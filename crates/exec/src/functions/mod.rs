//! Built-in functions: one function family per file, each with a table of its functions.

mod aggregate_array;
mod array;
mod canonical;
mod conditional;
mod conversion;
mod date_time;
mod integer;
mod item;
mod lookup;
mod math;
mod pending;
mod regex;
mod set;
mod spatial;
mod string;
mod string_part;
mod string_search;
mod type_check;

use std::borrow::Cow;
use std::fmt;
use std::iter;

use orrery_json::Value;
use orrery_sql::ast::Call;

use crate::CompileError;
use crate::aggregate::AggregateKind;
use crate::context::Context;
pub use lookup::{evaluate_function, function_arity};

/// The tables of all families; no name occurs twice.
const FAMILIES: &[&[Function]] = &[
    aggregate_array::FUNCTIONS,
    array::FUNCTIONS,
    conditional::FUNCTIONS,
    conversion::FUNCTIONS,
    date_time::CLOCK_FUNCTIONS,
    date_time::FUNCTIONS,
    integer::FUNCTIONS,
    item::FUNCTIONS,
    math::FUNCTIONS,
    regex::FUNCTIONS,
    set::FUNCTIONS,
    spatial::FUNCTIONS,
    string::FUNCTIONS,
    string_part::FUNCTIONS,
    string_search::FUNCTIONS,
    type_check::FUNCTIONS,
];

/// One built-in function.
#[derive(Debug)]
pub(crate) struct Function {
    /// The name; calls match it in any case.
    name: &'static str,
    arity: Arity,
    on_undefined: OnUndefined,
    /// Whether the query's time precedes the written arguments.
    takes_now: bool,
    /// Upper bound of the result's bytes, for a function whose result can exceed its arguments.
    memory_bound: Option<MemoryBound>,
    /// The step count of a function that takes longer than reading its arguments.
    steps: Option<Steps>,
    evaluate: Evaluate,
}

/// Computes the maximal memory of a call from its arguments, before the function makes its result.
type MemoryBound = fn(&[Argument<'_>]) -> usize;

/// Computes the number of loop rows that would take about as long as the call.
type Steps = fn(&[Argument<'_>]) -> u64;

/// An argument: borrowed from a document, or computed.
pub(crate) type Argument<'a> = Cow<'a, Value>;

/// Evaluates a call. The number of arguments fits the arity. Arguments of a wrong type give `None`,
/// which means `Undefined`; functions have no errors.
type Evaluate = fn(&[Argument<'_>]) -> Option<Value>;

/// The treatment of undefined arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnUndefined {
    /// An undefined argument makes the result undefined.
    Propagate,
    /// The function handles undefined arguments itself.
    Evaluate,
}

/// The permitted numbers of arguments.
#[derive(Debug, Clone, Copy)]
enum Arity {
    Exactly(usize),
    Between(usize, usize),
    AtLeast(usize),
}

impl Function {
    const fn new(name: &'static str, arity: Arity, evaluate: Evaluate) -> Function {
        Function {
            name,
            arity,
            on_undefined: OnUndefined::Propagate,
            takes_now: false,
            memory_bound: None,
            steps: None,
            evaluate,
        }
    }

    const fn seeing_undefined(name: &'static str, arity: Arity, evaluate: Evaluate) -> Function {
        Function {
            on_undefined: OnUndefined::Evaluate,
            ..Function::new(name, arity, evaluate)
        }
    }

    /// A function that receives the query's time. The arity counts the written arguments only.
    const fn given_now(name: &'static str, arity: Arity, evaluate: Evaluate) -> Function {
        Function {
            takes_now: true,
            ..Function::new(name, arity, evaluate)
        }
    }

    const fn with_memory_bound(self, made_bytes: MemoryBound) -> Function {
        Function {
            memory_bound: Some(made_bytes),
            ..self
        }
    }

    const fn with_step_cost(self, steps: Steps) -> Function {
        Function {
            steps: Some(steps),
            ..self
        }
    }

    /// The name as its table spells it.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the result depends on the query's time.
    pub(crate) fn takes_now(&self) -> bool {
        self.takes_now
    }

    /// Evaluates a call. Argument evaluation stops at the first undefined one if that decides the
    /// result.
    fn call_with<'a>(
        &self,
        context: &Context<'_>,
        arguments: impl Iterator<Item = Argument<'a>>,
    ) -> Value {
        let mut values = Vec::with_capacity(arguments.size_hint().0);
        for value in arguments {
            if value.is_undefined() && self.on_undefined == OnUndefined::Propagate {
                return Value::Undefined;
            }
            values.push(value);
        }
        // Time and memory are reserved before the function runs, because it cannot be interrupted.
        let mut held = context.scoped_lease();
        let sizes = values.iter().map(|value| size_to_work_on(value));
        let has_time = match self.steps {
            Some(steps) => context.work(steps(&values)),
            None => context.work_on_text(sizes.sum()),
        };
        let has_room = |bytes: MemoryBound| held.add_bytes(bytes(&values));
        if !has_time || !self.memory_bound.is_none_or(has_room) {
            return Value::Undefined;
        }
        (self.evaluate)(&values).unwrap_or_default()
    }

    /// Evaluates a call with the time of the evaluation. An evaluation that has failed gets
    /// undefined.
    pub(crate) fn call_in<'a>(
        &self,
        context: &Context<'_>,
        arguments: impl Iterator<Item = Argument<'a>>,
    ) -> Value {
        if !self.takes_now {
            return self.call_with(context, arguments);
        }
        let now = Cow::Owned(Value::from(context.now_ticks()));
        self.call_with(context, iter::once(now).chain(arguments))
    }
}

impl Arity {
    fn accepts(self, count: usize) -> bool {
        match self {
            Arity::Exactly(expected) => count == expected,
            Arity::Between(low, high) => (low..=high).contains(&count),
            Arity::AtLeast(low) => count >= low,
        }
    }
}

impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arity::Exactly(count) => write!(f, "{count}"),
            Arity::Between(low, high) => write!(f, "{low} to {high}"),
            Arity::AtLeast(low) => write!(f, "at least {low}"),
        }
    }
}

/// Finds the function of a call; refuses a wrong number of arguments and functions of the query's
/// time.
pub(crate) fn find(call: &Call) -> Result<&'static Function, CompileError> {
    let function = named(call)?;
    if function.takes_now {
        let what = format!("function {} without a clock", call.name.name);
        return Err(CompileError::unsupported(what));
    }
    Ok(function)
}

/// Finds the function of a call; refuses a wrong number of arguments.
pub(crate) fn find_with_clock(call: &Call) -> Result<&'static Function, CompileError> {
    named(call)
}

/// Finds the function of a call. A name that is known but unusable here gets its own refusal
/// instead of the one for unknown names.
fn named(call: &Call) -> Result<&'static Function, CompileError> {
    let name = &call.name;
    let function = FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .find(|function| function.name.eq_ignore_ascii_case(&name.name));
    match function {
        Some(function) if function.arity.accepts(call.arguments.len()) => Ok(function),
        Some(function) => Err(CompileError::ArgumentCount {
            name: name.name.clone(),
            expected: function.arity.to_string(),
            span: call.span,
        }),
        None if AggregateKind::named(&name.name).is_some() => {
            let what = format!("aggregate {} in this place", name.name);
            Err(CompileError::unsupported(what))
        }
        None if pending::contains(&name.name) => {
            Err(CompileError::unsupported(pending::named(&name.name)))
        }
        None => Err(CompileError::UnknownFunction {
            name: name.name.clone(),
            span: name.span,
        }),
    }
}

/// The approximate bytes that a function reads of a value, without the contents of array elements.
fn size_to_work_on(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.len() * ELEMENT_BYTES,
        Value::Object(properties) => properties.len() * ELEMENT_BYTES,
        _ => 0,
    }
}

/// Reading an element takes as long as this many bytes of text.
const ELEMENT_BYTES: usize = 32;

/// A count as a value.
fn count(count: usize) -> Option<Value> {
    i64::try_from(count).ok().map(Value::from)
}

#[cfg(test)]
mod tests {
    use orrery_sql::ast::{Expr, Literal, Projection};

    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<String> = FAMILIES
            .iter()
            .flat_map(|family| family.iter())
            .map(|function| function.name.to_ascii_uppercase())
            .collect();
        for name in &names {
            assert!(!pending::contains(name), "{name} is implemented");
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// The value of one call with constant arguments at a given time.
    fn value_at(now: &str, text: &str) -> Value {
        let query = orrery_sql::parse(&format!("SELECT VALUE {text}")).unwrap();
        let Projection::Value(Expr::Call(call)) = &query.select.projection else {
            panic!("{text} is no call");
        };
        let constant = |argument: &Expr| match argument {
            Expr::Literal(Literal::Number(number)) => Cow::Owned(Value::Number(*number)),
            Expr::Literal(Literal::String(text)) => Cow::Owned(Value::from(text.as_str())),
            other => panic!("{other:?} is no constant"),
        };
        let now = named_ticks(now);
        let function = find_with_clock(call).unwrap();
        let context = Context::new(None, now);
        function.call_in(&context, call.arguments.iter().map(constant))
    }

    fn named_ticks(text: &str) -> i64 {
        let arguments = [Cow::Owned(Value::from(text))];
        let function = FAMILIES.iter().flat_map(|family| family.iter());
        let mut function = function.filter(|function| function.name == "DATETIMETOTICKS");
        let context = Context::untimed();
        let ticks = function.next().unwrap();
        let ticks = ticks.call_in(&context, arguments.into_iter());
        ticks.as_number().unwrap().as_i64().unwrap()
    }

    #[test]
    fn functions_of_the_moment() {
        let now = "2024-10-14T14:20:30.6668888Z";
        for (text, expected) in [
            ("GetCurrentDateTime()", Value::from(now)),
            ("GetCurrentDateTimeStatic()", Value::from(now)),
            ("GetCurrentTicks()", Value::from(17_289_156_306_668_888)),
            (
                "GetCurrentTicksStatic()",
                Value::from(17_289_156_306_668_888),
            ),
            ("GetCurrentTimestamp()", Value::from(1_728_915_630_666)),
            (
                "GetCurrentTimestampStatic()",
                Value::from(1_728_915_630_666),
            ),
            ("NOW()", Value::from(now)),
            (
                "NOW('yyyy', 1)",
                Value::from("2025-10-14T14:20:30.6668888Z"),
            ),
            ("NOW('yyyy')", Value::Undefined),
            ("AGO('ms', 4)", Value::from("2024-10-14T14:20:30.6628888Z")),
            ("AGO('yyyy', 3000)", Value::Undefined),
            ("AGO('fortnight', 1)", Value::Undefined),
            ("ABS(1)", Value::from(1)),
        ] {
            assert_eq!(value_at(now, text), expected, "{text}");
        }
    }
}
