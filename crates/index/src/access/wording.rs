//! Paths and ranges in the syntax of policies, for explanations and metrics.

use std::fmt::Write;
use std::ops::Bound;

use orrery_exec::{DocumentPath, PathStep, SpatialRelation, ValueRange, ValueType};
use orrery_json::{Value, write_value};

/// Number of list values that a description prints. Further values are only counted.
const LIST_SHOWN: usize = 4;

/// `/a/"b c"/[]`: the syntax of policies without the suffix.
pub(super) fn path(path: &DocumentPath) -> String {
    let mut text = String::new();
    for step in &path.0 {
        text.push('/');
        match step {
            PathStep::Element => text += "[]",
            PathStep::Name(name) if is_plain(name) => text += name,
            PathStep::Name(name) => {
                let _ = write!(text, "\"{name}\"");
            }
        }
    }
    text
}

/// `/a/?`: the name of the value index of a path.
pub(super) fn single_spec(of: &DocumentPath) -> String {
    path(of) + "/?"
}

/// `/a ASC`: one part of the name of a composite index.
pub(super) fn composite_spec(of: &DocumentPath, descending: bool) -> String {
    path(of) + if descending { " DESC" } else { " ASC" }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// `= 1`, `in (1, 2)`, `> 1 and <= 5 or is null`.
pub(super) fn ranges(ranges: &[ValueRange]) -> String {
    let equals: Vec<&Value> = ranges
        .iter()
        .filter_map(|range| match range {
            ValueRange::Equal(value) => Some(value),
            _ => None,
        })
        .collect();
    if equals.len() == ranges.len() && equals.len() > 1 {
        let shown: Vec<String> = equals.iter().take(LIST_SHOWN).map(|v| value(v)).collect();
        let more = equals.len().saturating_sub(LIST_SHOWN);
        return match more {
            0 => format!("in ({})", shown.join(", ")),
            _ => format!("in ({}, and {more} more)", shown.join(", ")),
        };
    }
    let mut parts: Vec<String> = ranges.iter().take(LIST_SHOWN).map(range).collect();
    if ranges.len() > LIST_SHOWN {
        parts.push(format!("{} more", ranges.len() - LIST_SHOWN));
    }
    parts.join(" or ")
}

fn range(range: &ValueRange) -> String {
    match range {
        ValueRange::Equal(of) => format!("= {}", value(of)),
        ValueRange::Between { low, high } => {
            let low = match low {
                Bound::Included(low) => Some(format!(">= {}", value(low))),
                Bound::Excluded(low) => Some(format!("> {}", value(low))),
                Bound::Unbounded => None,
            };
            let high = match high {
                Bound::Included(high) => Some(format!("<= {}", value(high))),
                Bound::Excluded(high) => Some(format!("< {}", value(high))),
                Bound::Unbounded => None,
            };
            let sides: Vec<String> = [low, high].into_iter().flatten().collect();
            sides.join(" and ")
        }
        ValueRange::Prefix(text) => format!("starts with {}", value(&Value::from(text.as_str()))),
        ValueRange::OfType(of) => format!("is {}", type_name(*of)),
        ValueRange::Defined => "is defined".to_owned(),
    }
}

fn type_name(of: ValueType) -> &'static str {
    match of {
        ValueType::Null => "null",
        ValueType::Bool => "boolean",
        ValueType::Number => "number",
        ValueType::String => "string",
        ValueType::Array => "array",
        ValueType::Object => "object",
    }
}

pub(super) fn relation(relation: SpatialRelation) -> String {
    match relation {
        SpatialRelation::Within => "within the geometry".to_owned(),
        SpatialRelation::Intersects => "intersects the geometry".to_owned(),
        SpatialRelation::Distance { metres_max } => {
            format!("within {metres_max} m of the geometry")
        }
    }
}

fn value(of: &Value) -> String {
    let mut bytes = Vec::new();
    write_value(of, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_quoted() {
        let of = |steps: &[&str]| {
            DocumentPath(
                steps
                    .iter()
                    .map(|step| match *step {
                        "[]" => PathStep::Element,
                        name => PathStep::Name(name.to_owned()),
                    })
                    .collect(),
            )
        };
        for (steps, expected) in [
            (&["a"][..], "/a/?"),
            (&["a", "b"], "/a/b/?"),
            (&["my prop"], "/\"my prop\"/?"),
            (&["a-b", "c"], "/\"a-b\"/c/?"),
            (&["a", "[]", "b"], "/a/[]/b/?"),
            (&["_ts"], "/_ts/?"),
        ] {
            assert_eq!(single_spec(&of(steps)), expected);
        }
    }

    #[test]
    fn ranges_in_words() {
        let equal = |n: i64| ValueRange::Equal(Value::from(n));
        for (given, expected) in [
            (vec![equal(1)], "= 1"),
            (vec![equal(1), equal(2)], "in (1, 2)"),
            ((1..=6).map(equal).collect(), "in (1, 2, 3, 4, and 2 more)"),
            (
                vec![ValueRange::Between {
                    low: Bound::Excluded(Value::from(1)),
                    high: Bound::Included(Value::from(5)),
                }],
                "> 1 and <= 5",
            ),
            (
                vec![ValueRange::Prefix("x".to_owned()), ValueRange::Defined],
                "starts with \"x\" or is defined",
            ),
            (vec![ValueRange::OfType(ValueType::Null)], "is null"),
        ] {
            assert_eq!(ranges(&given), expected);
        }
    }
}
