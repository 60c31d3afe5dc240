//! Checks the optional arguments of `VectorDistance`: whether the search is exact, and options.

use orrery_json::{Number, Value};
use orrery_sql::ast::{Call, Expr, Property};

use super::Binder;
use crate::{DistanceFunction, ProblemKind};

const DATA_TYPES: [&str; 4] = ["float16", "float32", "int8", "uint8"];

/// Options whose value is a whole number from 1 to a maximum, with the code of their problem.
const MULTIPLIERS: [(&str, u32, &str); 2] = [
    ("searchListSizeMultiplier", 100, "SC2213"),
    ("quantizedVectorListMultiplier", 50, "SC2214"),
];

impl Binder<'_> {
    pub(super) fn vector_options(&mut self, call: &Call) {
        if let Some(is_exact) = call.arguments.get(2)
            && !matches!(self.constant(is_exact), Some(Value::Bool(_)))
        {
            self.problem(ProblemKind::VectorExactness.at(call.argument_spans.of(2)));
        }
        let problem = match call.arguments.get(3) {
            None => return,
            Some(Expr::Object(options)) => options.iter().find_map(|option| self.option(option)),
            Some(_) => Some(ProblemKind::VectorOptions),
        };
        if let Some(kind) = problem {
            self.problem(kind.at(call.argument_spans.of(3)));
        }
    }

    /// The problem of one option, if it has one.
    fn option(&self, option: &Property) -> Option<ProblemKind> {
        let name = option.name.as_str();
        let value = self.constant(&option.value).unwrap_or_default();
        match name {
            "distanceFunction" => {
                text(name, &value, |text| DistanceFunction::parse(text).is_some())
            }
            "dataType" => text(name, &value, |text| {
                DATA_TYPES
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(text))
            }),
            "filterPriority" => match number(name, &value) {
                Ok(number) => {
                    let is_share = (0.0..=1.0).contains(&number.as_f64());
                    (!is_share).then_some(ProblemKind::VectorPriority)
                }
                Err(problem) => Some(problem),
            },
            _ => match MULTIPLIERS.iter().find(|(known, ..)| *known == name) {
                Some((_, max, code)) => multiplier(name, &value, *max, code),
                None => Some(ProblemKind::UnknownVectorOption(name.to_owned())),
            },
        }
    }
}

fn text(option: &str, value: &Value, accept: impl Fn(&str) -> bool) -> Option<ProblemKind> {
    match value.as_str() {
        Some(text) if accept(text) => None,
        Some(text) => Some(ProblemKind::VectorOptionText {
            option: option.to_owned(),
            value: text.to_owned(),
        }),
        None => Some(ProblemKind::VectorOptionType {
            option: option.to_owned(),
            expected: "string",
        }),
    }
}

fn number(option: &str, value: &Value) -> Result<Number, ProblemKind> {
    value
        .as_number()
        .ok_or_else(|| ProblemKind::VectorOptionType {
            option: option.to_owned(),
            expected: "number",
        })
}

fn multiplier(option: &str, value: &Value, max: u32, code: &'static str) -> Option<ProblemKind> {
    let option = option.to_owned();
    let value = match number(&option, value) {
        Ok(value) => value,
        Err(problem) => return Some(problem),
    };
    let Some(whole) = value.as_i64() else {
        return Some(ProblemKind::VectorOptionFraction { option, max, code });
    };
    (!(1..=i64::from(max)).contains(&whole)).then_some(ProblemKind::VectorOption {
        option,
        value: whole,
        max,
        code,
    })
}
