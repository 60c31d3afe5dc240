//! Scalar expressions over the values of a frame.
//!
//! Names are bound and parameters have values, so evaluation always gives a value. A missing value
//! is `Undefined`, and an error that must end the query is stored in the context. Values are
//! borrowed from the document or the expression until something new is made. Expressions are as
//! deep as their syntax tree, whose depth the parser limits, so evaluation may recurse.

pub(crate) mod arithmetic;
mod bits;
mod comparison;
mod like;
mod subquery;

use std::borrow::Cow;

use orrery_json::{NameHasher, Object, Value, equal};
use orrery_sql::ast::{BinaryOp, SubqueryKind, UnaryOp};

use crate::ExecError;
use crate::frame::Frame;
use crate::functions::Function;
use crate::query_block::QueryBlock;
use crate::user_functions;
pub(crate) use like::Pattern;

/// A compiled expression.
#[derive(Debug, Clone)]
pub(crate) enum Scalar {
    Constant(Value),
    /// The value of a parameter slot.
    Parameter(usize),
    /// A path into the value of a level. Level 0 is the document; an empty path is the whole value.
    Path(usize, Vec<ValueStep>),
    /// A key or aggregate of the group at a level.
    GroupCell(usize, usize),
    FieldAccess(Box<Scalar>, ValueStep),
    Index(Box<Scalar>, Box<Scalar>),
    Unary(UnaryOp, Box<Scalar>),
    Binary(BinaryOp, Box<Scalar>, Box<Scalar>),
    And(Vec<Scalar>),
    Or(Vec<Scalar>),
    In {
        needle: Box<Scalar>,
        list: Vec<Scalar>,
        negated: bool,
    },
    Between {
        value: Box<Scalar>,
        low: Box<Scalar>,
        high: Box<Scalar>,
        negated: bool,
    },
    /// A pattern that is constant at compile time.
    LikeConstant {
        value: Box<Scalar>,
        pattern: Pattern,
        negated: bool,
    },
    Like {
        value: Box<Scalar>,
        pattern: Box<Scalar>,
        escape: Option<char>,
        negated: bool,
    },
    Coalesce(Box<Scalar>, Box<Scalar>),
    Conditional {
        condition: Box<Scalar>,
        then: Box<Scalar>,
        otherwise: Box<Scalar>,
    },
    Array(Vec<Scalar>),
    Object(Vec<(String, Scalar)>),
    Call(&'static Function, Vec<Scalar>),
    /// A call of the user-defined function with this number.
    UserCall(usize, Vec<Scalar>),
    /// A call of a user-defined function that the container lacks. It fails when it is evaluated,
    /// so a query over no rows succeeds.
    UnknownUserCall(String),
    Let {
        value: Box<Scalar>,
        body: Box<Scalar>,
    },
    Subquery(SubqueryKind, Box<QueryBlock>),
    /// An expression that sees only the document, whatever the surrounding frames.
    ComputedProperty(Box<Scalar>),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueStep {
    Name(String),
    Index(usize),
}

impl ValueStep {
    fn of<'a>(&self, value: &'a Value) -> &'a Value {
        match self {
            ValueStep::Name(name) => value.get(name),
            ValueStep::Index(index) => value.at(*index),
        }
    }
}

/// Values that are compared in about the time of one loop row.
const VALUES_PER_STEP: u64 = 8;

/// Memory of a property in addition to its name and value.
const PROPERTY_BYTES: usize = 64;

const UNDEFINED: Cow<'static, Value> = Cow::Owned(Value::Undefined);

impl Scalar {
    /// Evaluates the expression. After a failure the result is undefined, and the context has the
    /// reason.
    pub(crate) fn evaluate<'a>(&'a self, frame: &'a Frame<'a>) -> Cow<'a, Value> {
        match self {
            Scalar::Constant(value) => Cow::Borrowed(value),
            Scalar::Parameter(slot) => Cow::Borrowed(frame.context().parameter(*slot)),
            Scalar::Path(level, steps) => {
                let value = frame.value_at(*level);
                Cow::Borrowed(steps.iter().fold(value, |value, step| step.of(value)))
            }
            Scalar::GroupCell(level, index) => Cow::Borrowed(frame.cell_at(*level, *index)),
            Scalar::FieldAccess(object, step) => {
                part(object.evaluate(frame), |value| step.of(value))
            }
            Scalar::Index(object, index) => {
                let index = index.evaluate(frame);
                part(evaluate_holding(&index, object, frame), |value| {
                    element(value, &index)
                })
            }
            Scalar::Unary(UnaryOp::Not, _)
            | Scalar::And(_)
            | Scalar::Or(_)
            | Scalar::In { .. }
            | Scalar::Between { .. }
            | Scalar::LikeConstant { .. }
            | Scalar::Like { .. } => truth_value(self.truth(frame)),
            Scalar::Unary(op, operand) => {
                Cow::Owned(arithmetic::unary(*op, &operand.evaluate(frame)))
            }
            Scalar::Binary(op, left, right) => {
                let left = left.evaluate(frame);
                // An undefined operand decides the result, so the right side is not evaluated.
                if left.is_undefined() {
                    return UNDEFINED;
                }
                let right = evaluate_holding(&left, right, frame);
                if *op == BinaryOp::Concat {
                    return Cow::Owned(concat(&left, &right, frame));
                }
                Cow::Owned(binary(*op, &left, &right))
            }
            Scalar::Coalesce(left, right) => match left.evaluate(frame) {
                value if value.is_undefined() => right.evaluate(frame),
                value => value,
            },
            Scalar::Conditional {
                condition,
                then,
                otherwise,
            } => {
                if condition.truth(frame) == Some(true) {
                    then.evaluate(frame)
                } else {
                    otherwise.evaluate(frame)
                }
            }
            Scalar::Array(elements) => Cow::Owned(array(elements, frame)),
            Scalar::Object(properties) => Cow::Owned(object(properties, frame)),
            Scalar::Call(function, arguments) => Cow::Owned(call(function, arguments, frame)),
            Scalar::UserCall(function, arguments) => {
                Cow::Owned(user_functions::call(*function, arguments, frame))
            }
            Scalar::UnknownUserCall(name) => {
                let name = name.clone();
                frame.context().fail(ExecError::UnknownFunction { name });
                Cow::Owned(Value::Undefined)
            }
            Scalar::Let { value, body } => Cow::Owned(bind(value, body, frame)),
            Scalar::ComputedProperty(value) => Cow::Owned(computed_property(value, frame)),
            Scalar::Subquery(kind, block) => Cow::Owned(subquery::evaluate(*kind, block, frame)),
        }
    }

    /// The truth of the value: `None` for undefined and for any value that is no boolean.
    pub(crate) fn truth(&self, frame: &Frame<'_>) -> Option<bool> {
        match self {
            Scalar::Unary(UnaryOp::Not, operand) => operand.truth(frame).map(|truth| !truth),
            Scalar::And(terms) => logical(terms, frame, false),
            Scalar::Or(terms) => logical(terms, frame, true),
            Scalar::In {
                needle,
                list,
                negated,
            } => {
                let needle = needle.evaluate(frame);
                if needle.is_undefined() {
                    return None;
                }
                is_listed(&needle, list, frame).map(|found| found != *negated)
            }
            Scalar::Between {
                value,
                low,
                high,
                negated,
            } => {
                let value = value.evaluate(frame);
                let low = evaluate_holding(&value, low, frame);
                let from = comparison::order(BinaryOp::GreaterOrEqual, &value, &low);
                let high = evaluate_holding(&value, high, frame);
                let to = comparison::order(BinaryOp::LessOrEqual, &value, &high);
                // One false comparison decides, even if the other is undefined.
                let inside = match (from, to) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                };
                inside.map(|inside| inside != *negated)
            }
            Scalar::LikeConstant {
                value,
                pattern,
                negated,
            } => {
                let value = value.evaluate(frame);
                like(pattern, &value, frame).map(|matches| matches != *negated)
            }
            Scalar::Like {
                value,
                pattern,
                escape,
                negated,
            } => {
                let value = value.evaluate(frame);
                let mut held = frame.context().scoped_lease();
                if !held.add_made(&value) {
                    return None;
                }
                let pattern = pattern.evaluate(frame);
                let text = pattern.as_str()?;
                // The memory of the pattern is reserved before it is parsed.
                if !held.add_bytes(Pattern::bytes_max(text)) {
                    return None;
                }
                let pattern = Pattern::new(text, *escape);
                like(&pattern, &value, frame).map(|matches| matches != *negated)
            }
            _ => self.evaluate(frame).as_bool(),
        }
    }
}

/// `AND` and `OR`. A term equal to `decisive` settles the result wherever it stands; otherwise an
/// undefined term makes the result undefined.
fn logical(terms: &[Scalar], frame: &Frame<'_>, decisive: bool) -> Option<bool> {
    let mut result = Some(!decisive);
    for term in terms {
        match term.truth(frame) {
            Some(truth) if truth == decisive => return Some(decisive),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}

fn binary(op: BinaryOp, left: &Value, right: &Value) -> Value {
    match op {
        BinaryOp::Equal | BinaryOp::NotEqual => match right {
            Value::Undefined => Value::Undefined,
            right => Value::Bool(equal(left, right) == (op == BinaryOp::Equal)),
        },
        BinaryOp::Less | BinaryOp::LessOrEqual | BinaryOp::Greater | BinaryOp::GreaterOrEqual => {
            truth_value(comparison::order(op, left, right)).into_owned()
        }
        // `concat` computes this operator, because the ledger must count the result before it is
        // made.
        BinaryOp::Concat => Value::Undefined,
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => arithmetic::binary(op, left, right),
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::ShiftRightUnsigned => bits::binary(op, left, right),
    }
}

/// Evaluates `other` while the ledger counts the memory of `value`.
#[expect(clippy::ptr_arg, reason = "whether it is borrowed is what matters")]
fn evaluate_holding<'a>(
    value: &Cow<'_, Value>,
    other: &'a Scalar,
    frame: &'a Frame<'a>,
) -> Cow<'a, Value> {
    match value {
        Cow::Borrowed(_) => other.evaluate(frame),
        Cow::Owned(_) => evaluate_holding_owned(value, other, frame),
    }
}

#[expect(clippy::ptr_arg, reason = "whether it is borrowed is what matters")]
// A separate function keeps the stack frame of the recursion small in the common case.
#[inline(never)]
fn evaluate_holding_owned<'a>(
    value: &Cow<'_, Value>,
    other: &'a Scalar,
    frame: &'a Frame<'a>,
) -> Cow<'a, Value> {
    let mut held = frame.context().scoped_lease();
    if !held.add_made(value) {
        return UNDEFINED;
    }
    other.evaluate(frame)
}

/// Whether a list contains a value. Every element is evaluated until one is equal.
#[expect(clippy::ptr_arg, reason = "whether it is borrowed is what matters")]
fn is_listed(needle: &Cow<'_, Value>, list: &[Scalar], frame: &Frame<'_>) -> Option<bool> {
    let mut held = frame.context().scoped_lease();
    if !held.add_made(needle) {
        return None;
    }
    // The comparisons of a long list count as work before they are made.
    frame.context().work(list.len() as u64 / VALUES_PER_STEP);
    let mut values = list.iter();
    Some(values.any(|value| equal(&value.evaluate(frame), needle)))
}

/// Concatenates two strings; other values make the result undefined.
fn concat(left: &Value, right: &Value, frame: &Frame<'_>) -> Value {
    let (Value::String(left), Value::String(right)) = (left, right) else {
        return Value::Undefined;
    };
    let bytes = left.len() + right.len();
    let context = frame.context();
    if !context.scoped_lease().add_bytes(bytes) || !context.work_on_text(bytes) {
        return Value::Undefined;
    }
    Value::String([left.as_str(), right].concat())
}

/// `None` if the value is no string, or if the time ended before the match.
fn like(pattern: &Pattern, value: &Value, frame: &Frame<'_>) -> Option<bool> {
    let context = frame.context();
    pattern.matches(value.as_str()?, &mut |chars| context.work_on_text(chars))
}

fn truth_value(truth: Option<bool>) -> Cow<'static, Value> {
    Cow::Owned(truth.map_or(Value::Undefined, Value::Bool))
}

fn element<'a>(value: &'a Value, index: &Value) -> &'a Value {
    match index {
        Value::String(name) => value.get(name),
        index => match index_of(index) {
            Some(index) => value.at(index),
            None => &Value::Undefined,
        },
    }
}

/// The value as an array index: an integer that is not negative.
pub(crate) fn index_of(value: &Value) -> Option<usize> {
    usize::try_from(value.as_number()?.as_i64()?).ok()
}

/// A part of a value, borrowed if the value is borrowed.
fn part(whole: Cow<'_, Value>, find: impl Fn(&Value) -> &Value) -> Cow<'_, Value> {
    match whole {
        Cow::Borrowed(value) => Cow::Borrowed(find(value)),
        Cow::Owned(value) => Cow::Owned(find(&value).clone()),
    }
}

/// Builds an array from the defined elements. Its memory is counted element by element.
fn array(elements: &[Scalar], frame: &Frame<'_>) -> Value {
    let mut held = frame.context().scoped_lease();
    let mut values = Vec::with_capacity(elements.len());
    for element in elements {
        let value = element.evaluate(frame);
        if !value.is_undefined() {
            if !held.add(&value) {
                return Value::Undefined;
            }
            values.push(value.into_owned());
        }
    }
    Value::Array(values)
}

/// Builds an object from the defined properties. Its memory is counted property by property.
pub(crate) fn object(properties: &[(String, Scalar)], frame: &Frame<'_>) -> Value {
    let mut held = frame.context().scoped_lease();
    let mut object = Object::with_capacity_and_hasher(properties.len(), NameHasher::default());
    for (name, value) in properties {
        let value = value.evaluate(frame);
        if !value.is_undefined() {
            if !held.add(&value) || !held.add_bytes(PROPERTY_BYTES + name.len()) {
                return Value::Undefined;
            }
            object.insert(name.clone(), value.into_owned());
        }
    }
    Value::Object(object)
}

/// Calls a function. The ledger counts the computed arguments until the call has ended.
fn call(function: &Function, arguments: &[Scalar], frame: &Frame<'_>) -> Value {
    let context = frame.context();
    let mut held = context.scoped_lease();
    let values = arguments.iter().map(|argument| {
        let value = argument.evaluate(frame);
        if held.add_made(&value) {
            value
        } else {
            UNDEFINED
        }
    });
    function.call_in(context, values)
}

/// Evaluates the body of a `LET` in a frame with the value.
fn bind(value: &Scalar, body: &Scalar, frame: &Frame<'_>) -> Value {
    let mut held = frame.context().scoped_lease();
    let value = value.evaluate(frame);
    if !held.add_made(&value) {
        return Value::Undefined;
    }
    body.evaluate(&frame.with(&value)).into_owned()
}

/// Evaluates a computed property in a fresh frame: it sees the document and no names of the query.
fn computed_property(value: &Scalar, frame: &Frame<'_>) -> Value {
    let document = Frame::document(frame.value_at(0), frame.context());
    value.evaluate(&document).into_owned()
}
