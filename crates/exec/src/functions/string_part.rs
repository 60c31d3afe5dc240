//! The text in front of or behind a delimiter. Without the delimiter the result is undefined; the
//! service's documentation does not define this case.

use orrery_json::Value;

use super::{Argument, Arity, Evaluate, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    binary("SUBSTRINGBEFORE", |arguments| {
        pick(arguments, |text, mark| {
            text.split_once(mark).map(|(before, _)| before)
        })
    }),
    binary("SUBSTRINGAFTER", |arguments| {
        pick(arguments, |text, mark| {
            text.split_once(mark).map(|(_, after)| after)
        })
    }),
    binary("LASTSUBSTRINGBEFORE", |arguments| {
        pick(arguments, |text, mark| {
            text.rsplit_once(mark).map(|(before, _)| before)
        })
    }),
    binary("LASTSUBSTRINGAFTER", |arguments| {
        pick(arguments, |text, mark| {
            text.rsplit_once(mark).map(|(_, after)| after)
        })
    }),
];

const fn binary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(2), evaluate)
}

fn pick(
    arguments: &[Argument<'_>],
    choose: for<'a> fn(&'a str, &str) -> Option<&'a str>,
) -> Option<Value> {
    let (text, mark) = (arguments.first()?.as_str()?, arguments.get(1)?.as_str()?);
    choose(text, mark).map(Value::from)
}
