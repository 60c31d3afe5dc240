//! Functions that select one argument; the other arguments may be undefined.

use orrery_json::Value;

use super::{Argument, Arity, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::seeing_undefined("IIF", Arity::Exactly(3), iif),
    Function::seeing_undefined("CHOOSE", Arity::AtLeast(2), choose),
];

/// Selects the second argument for exactly `true`, otherwise the third.
fn iif(arguments: &[Argument<'_>]) -> Option<Value> {
    let chosen = if arguments.first()?.as_bool() == Some(true) {
        1
    } else {
        2
    };
    arguments.get(chosen).map(|value| value.as_ref().clone())
}

/// Selects by a position that counts from one.
fn choose(arguments: &[Argument<'_>]) -> Option<Value> {
    let chosen = usize::try_from(arguments.first()?.as_number()?.as_i64()?).ok()?;
    if chosen == 0 {
        return None;
    }
    arguments.get(chosen).map(|value| value.as_ref().clone())
}
