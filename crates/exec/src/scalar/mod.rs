//! Scalar expressions over one document.
//!
//! Names are bound and parameters replaced by their values, so evaluation cannot fail: what has
//! no value is `Undefined`. Values are borrowed from the document or from the expression as long
//! as nothing new is made. Expressions are as high as the syntax tree they come from, which the
//! parser bounds, so evaluation may recurse.

mod arithmetic;
mod bits;
mod comparison;
mod like;

use std::borrow::Cow;

use orrery_json::{Object, Value, equal};
use orrery_sql::ast::{BinaryOp, UnaryOp};

use crate::functions::Function;
pub(crate) use like::Pattern;

#[derive(Debug, Clone)]
pub(crate) enum Scalar {
    Constant(Value),
    /// A path into the document; the document itself when it is empty.
    Document(Vec<Step>),
    Part(Box<Scalar>, Step),
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
    /// A pattern that is known when compiling.
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
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

impl Step {
    fn of<'a>(&self, value: &'a Value) -> &'a Value {
        match self {
            Step::Name(name) => value.get(name),
            Step::Index(index) => value.at(*index),
        }
    }
}

const UNDEFINED: Cow<'static, Value> = Cow::Owned(Value::Undefined);

impl Scalar {
    pub(crate) fn evaluate<'a>(&'a self, document: &'a Value) -> Cow<'a, Value> {
        match self {
            Scalar::Constant(value) => Cow::Borrowed(value),
            Scalar::Document(steps) => {
                Cow::Borrowed(steps.iter().fold(document, |value, step| step.of(value)))
            }
            Scalar::Part(object, step) => part(object.evaluate(document), |value| step.of(value)),
            Scalar::Index(object, index) => {
                let index = index.evaluate(document);
                part(object.evaluate(document), |value| element(value, &index))
            }
            Scalar::Unary(UnaryOp::Not, _)
            | Scalar::And(_)
            | Scalar::Or(_)
            | Scalar::In { .. }
            | Scalar::Between { .. }
            | Scalar::LikeConstant { .. }
            | Scalar::Like { .. } => truth_value(self.truth(document)),
            Scalar::Unary(op, operand) => {
                Cow::Owned(arithmetic::unary(*op, &operand.evaluate(document)))
            }
            Scalar::Binary(op, left, right) => {
                let left = left.evaluate(document);
                if left.is_undefined() {
                    return UNDEFINED;
                }
                Cow::Owned(binary(*op, &left, &right.evaluate(document)))
            }
            Scalar::Coalesce(left, right) => match left.evaluate(document) {
                value if value.is_undefined() => right.evaluate(document),
                value => value,
            },
            Scalar::Conditional {
                condition,
                then,
                otherwise,
            } => {
                if condition.truth(document) == Some(true) {
                    then.evaluate(document)
                } else {
                    otherwise.evaluate(document)
                }
            }
            Scalar::Array(elements) => Cow::Owned(Value::Array(
                elements
                    .iter()
                    .map(|element| element.evaluate(document))
                    .filter(|value| !value.is_undefined())
                    .map(Cow::into_owned)
                    .collect(),
            )),
            Scalar::Object(properties) => Cow::Owned(object(properties, document)),
            Scalar::Call(function, arguments) => {
                let values = arguments.iter().map(|argument| argument.evaluate(document));
                Cow::Owned(function.call(values))
            }
        }
    }

    /// The value as a truth: `None` is undefined, and so is whatever is not a boolean.
    pub(crate) fn truth(&self, document: &Value) -> Option<bool> {
        match self {
            Scalar::Unary(UnaryOp::Not, operand) => operand.truth(document).map(|truth| !truth),
            Scalar::And(terms) => settle(terms, document, false),
            Scalar::Or(terms) => settle(terms, document, true),
            Scalar::In {
                needle,
                list,
                negated,
            } => {
                let needle = needle.evaluate(document);
                if needle.is_undefined() {
                    return None;
                }
                let found = list
                    .iter()
                    .any(|value| equal(&value.evaluate(document), &needle));
                Some(found != *negated)
            }
            Scalar::Between {
                value,
                low,
                high,
                negated,
            } => {
                let value = value.evaluate(document);
                let from =
                    comparison::order(BinaryOp::GreaterOrEqual, &value, &low.evaluate(document));
                let to = comparison::order(BinaryOp::LessOrEqual, &value, &high.evaluate(document));
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
                let value = value.evaluate(document);
                value.as_str().map(|text| pattern.matches(text) != *negated)
            }
            Scalar::Like {
                value,
                pattern,
                escape,
                negated,
            } => {
                let value = value.evaluate(document);
                let pattern = pattern.evaluate(document);
                let pattern = Pattern::new(pattern.as_str()?, *escape);
                value.as_str().map(|text| pattern.matches(text) != *negated)
            }
            _ => self.evaluate(document).as_bool(),
        }
    }
}

/// `AND` and `OR`: one `decisive` term settles the result wherever it stands; without one an
/// undefined term leaves it undefined.
fn settle(terms: &[Scalar], document: &Value, decisive: bool) -> Option<bool> {
    let mut result = Some(!decisive);
    for term in terms {
        match term.truth(document) {
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
        BinaryOp::Concat => match (left, right) {
            (Value::String(left), Value::String(right)) => Value::String(format!("{left}{right}")),
            _ => Value::Undefined,
        },
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

/// A whole number that is not negative.
pub(crate) fn index_of(value: &Value) -> Option<usize> {
    usize::try_from(value.as_number()?.as_i64()?).ok()
}

/// A part of a value that may be borrowed or not.
fn part(whole: Cow<'_, Value>, find: impl Fn(&Value) -> &Value) -> Cow<'_, Value> {
    match whole {
        Cow::Borrowed(value) => Cow::Borrowed(find(value)),
        Cow::Owned(value) => Cow::Owned(find(&value).clone()),
    }
}

fn object(properties: &[(String, Scalar)], document: &Value) -> Value {
    let mut object = Object::with_capacity(properties.len());
    for (name, value) in properties {
        let value = value.evaluate(document);
        if !value.is_undefined() {
            object.insert(name.clone(), value.into_owned());
        }
    }
    Value::Object(object)
}
