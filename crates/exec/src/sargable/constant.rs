//! Expressions with the same value for every document. An expression that takes long does not count
//! as constant, because the compiler runs without a time limit.

use orrery_json::Value;

use crate::context::Context;
use crate::frame::Frame;
use crate::scalar::Scalar;

/// The value of an expression without names; `None` if the expression has names, or depends on the
/// query's time.
pub(super) fn value(scalar: &Scalar, parameters: &[Value]) -> Option<Value> {
    match scalar {
        Scalar::Constant(value) => return Some(value.clone()),
        Scalar::Parameter(slot) => return parameters.get(*slot).cloned(),
        _ => {}
    }
    if !is_constant(scalar) {
        return None;
    }
    let context = Context::untimed().with_parameters(parameters);
    let value = scalar
        .evaluate(&Frame::document(&Value::Undefined, &context))
        .into_owned();
    // An index holds no numbers beyond the finite ones.
    let is_number_without_end = matches!(&value, Value::Number(number) if !number.is_finite());
    (!context.has_failed() && !is_number_without_end).then_some(value)
}

fn is_constant(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Constant(_) | Scalar::Parameter(_) => true,
        Scalar::Path(..)
        | Scalar::GroupCell(..)
        | Scalar::UserCall(..)
        | Scalar::UnknownUserCall(_)
        | Scalar::Let { .. }
        | Scalar::Subquery(..)
        | Scalar::ComputedProperty(_) => false,
        Scalar::FieldAccess(value, _)
        | Scalar::Unary(_, value)
        | Scalar::LikeConstant { value, .. } => is_constant(value),
        Scalar::Index(left, right)
        | Scalar::Binary(_, left, right)
        | Scalar::Coalesce(left, right)
        | Scalar::Like {
            value: left,
            pattern: right,
            ..
        } => is_constant(left) && is_constant(right),
        Scalar::And(terms) | Scalar::Or(terms) | Scalar::Array(terms) => {
            terms.iter().all(is_constant)
        }
        Scalar::In { needle, list, .. } => is_constant(needle) && list.iter().all(is_constant),
        Scalar::Between {
            value: first,
            low: second,
            high: third,
            ..
        }
        | Scalar::Conditional {
            condition: first,
            then: second,
            otherwise: third,
        } => is_constant(first) && is_constant(second) && is_constant(third),
        Scalar::Object(properties) => properties.iter().all(|(_, value)| is_constant(value)),
        Scalar::Call(function, arguments) => {
            !function.takes_now() && arguments.iter().all(is_constant)
        }
    }
}
