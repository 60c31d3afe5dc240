//! Built-in functions: one family per file, each with a table of what it has.

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

/// The tables, in no particular order; no name occurs twice.
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
    /// Found in any case.
    name: &'static str,
    arity: Arity,
    on_undefined: OnUndefined,
    /// Whether the moment of the query stands before the written arguments.
    takes_now: bool,
    /// Bounds the bytes of the result, for a function whose result may be larger than its
    /// arguments.
    made_bytes: Option<MadeBytes>,
    /// Of a function that takes longer than reading its arguments.
    steps: Option<Steps>,
    evaluate: Evaluate,
}

/// Gives the most bytes of memory that a call with these arguments takes, before the function makes
/// its result.
type MadeBytes = fn(&[Argument<'_>]) -> usize;

/// Gives the number of loop rows that would take about as long as a call with these arguments.
type Steps = fn(&[Argument<'_>]) -> u64;

pub(crate) type Argument<'a> = Cow<'a, Value>;

/// Gets as many arguments as the arity allows. Arguments of a wrong type give `None`, which is
/// `Undefined`; there are no errors.
type Evaluate = fn(&[Argument<'_>]) -> Option<Value>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnUndefined {
    /// One undefined argument makes the result undefined.
    Propagate,
    /// The function looks at undefined arguments itself.
    Evaluate,
}

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
            made_bytes: None,
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

    /// The arity is that of the written arguments.
    const fn given_now(name: &'static str, arity: Arity, evaluate: Evaluate) -> Function {
        Function {
            takes_now: true,
            ..Function::new(name, arity, evaluate)
        }
    }

    const fn making(self, made_bytes: MadeBytes) -> Function {
        Function {
            made_bytes: Some(made_bytes),
            ..self
        }
    }

    const fn taking(self, steps: Steps) -> Function {
        Function {
            steps: Some(steps),
            ..self
        }
    }

    /// In the case of its table.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the value depends on the moment of the query.
    pub(crate) fn takes_now(&self) -> bool {
        self.takes_now
    }

    /// The value of the call, with its arguments evaluated one by one as long as that matters.
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
        let mut held = context.hold();
        let sizes = values.iter().map(|value| size_to_work_on(value));
        let has_time = match self.steps {
            Some(steps) => context.work(steps(&values)),
            None => context.work_on_text(sizes.sum()),
        };
        let has_room = |bytes: MadeBytes| held.add_bytes(bytes(&values));
        if !has_time || !self.made_bytes.is_none_or(has_room) {
            return Value::Undefined;
        }
        (self.evaluate)(&values).unwrap_or_default()
    }

    /// The value of the call in an evaluation, unless that has to end.
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

/// The function that `call` names, if it takes as many arguments and does not ask for the time.
pub(crate) fn find(call: &Call) -> Result<&'static Function, CompileError> {
    let function = named(call)?;
    if function.takes_now {
        let what = format!("function {} without a clock", call.name.name);
        return Err(CompileError::unsupported(what));
    }
    Ok(function)
}

/// The function that `call` names, if it takes as many arguments.
pub(crate) fn find_with_clock(call: &Call) -> Result<&'static Function, CompileError> {
    named(call)
}

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
            Err(CompileError::unsupported(format!("function {}", name.name)))
        }
        None => Err(CompileError::UnknownFunction {
            name: name.name.clone(),
            span: name.span,
        }),
    }
}

/// About how many bytes a function looks at, without looking into the elements of an array.
fn size_to_work_on(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.len() * ELEMENT_BYTES,
        Value::Object(properties) => properties.len() * ELEMENT_BYTES,
        _ => 0,
    }
}

/// An element takes as long to look at as so many bytes of text.
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

    /// The value of one call with constant arguments, at a moment.
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
