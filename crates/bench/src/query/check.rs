//! Checks an answer. A wrong answer fails the run: the rate of wrong answers is no figure.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::data::{Dataset, Fields, GROUPS};

const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];
/// The largest error of a floating-point answer. Sums are exact, an average is rounded once.
const RELATIVE_ERROR_MAX: f64 = 1e-12;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expected {
    /// The whole items of a partition with this `group_in_pk`.
    InPartition {
        pk: u64,
        group: u64,
    },
    /// The whole items with this `category`.
    Category(u64),
    /// The whole items with these `n`, in this order.
    Ordered(Range<u64>),
    Number(f64),
    /// Every value of `g` with its count.
    Groups,
    /// The ids of the items with this `raw`.
    Raw(u64),
}

#[derive(Deserialize)]
struct Page {
    #[serde(rename = "Documents")]
    documents: Vec<Value>,
}

impl Expected {
    /// Checks the bodies of all pages of an answer.
    pub(crate) fn check(&self, data: &Dataset, pages: &[Vec<u8>]) -> Result<()> {
        let mut rows = Vec::new();
        for page in pages {
            let page: Page = serde_json::from_slice(page).context("a page is not a feed")?;
            rows.extend(page.documents);
        }
        let wanted = self.rows(data);
        ensure!(
            // The number first: it gives the best message for a page that is missing.
            rows.len() as u64 == wanted,
            "{} rows instead of {wanted}",
            rows.len()
        );
        match self {
            Self::InPartition { pk, group } => items(data, rows, |fields| {
                fields.pk == *pk && fields.group_in_pk == *group
            }),
            Self::Category(category) => items(data, rows, |fields| fields.category == *category),
            Self::Ordered(numbers) => {
                for (row, n) in rows.iter().zip(numbers.clone()) {
                    ensure!(row["n"] == n, "n is {} where {n} belongs", row["n"]);
                }
                items(data, rows, |fields| numbers.contains(&fields.n))
            }
            Self::Number(wanted) => {
                let number = rows[0].as_f64().context("not a number")?;
                // The server may add in another order.
                let close = (number - wanted).abs() <= wanted.abs() * RELATIVE_ERROR_MAX;
                ensure!(close, "{number} instead of {wanted}");
                Ok(())
            }
            Self::Groups => groups(data, &rows),
            Self::Raw(raw) => {
                let numbers = rows.iter().map(item_number).collect::<Result<Vec<_>>>()?;
                distinct(&numbers)?;
                for number in numbers {
                    ensure!(
                        data.fields(number).raw == *raw,
                        "item {number} is not asked for"
                    );
                }
                Ok(())
            }
        }
    }
}

/// Checks that each row is an item exactly as it was loaded, that no item is there twice, and that
/// the query asked for each item.
fn items(data: &Dataset, rows: Vec<Value>, is_selected: impl Fn(Fields) -> bool) -> Result<()> {
    let mut numbers = Vec::new();
    let mut text = Vec::new();
    for row in rows {
        let Value::Object(mut item) = row else {
            bail!("a row is not an item: {row}");
        };
        let number = item_number(item.get("id").unwrap_or(&Value::Null))?;
        ensure!(number < data.items, "item {number} was never loaded");
        ensure!(
            is_selected(data.fields(number)),
            "item {number} is not asked for"
        );
        // The server adds these properties to every item that it stores.
        for name in SYSTEM_PROPERTIES {
            item.shift_remove(name);
        }
        text.clear();
        data.write(&mut text, number);
        let loaded: Map<String, Value> = serde_json::from_slice(&text)?;
        ensure!(item == loaded, "item {number} is not as it was loaded");
        numbers.push(number);
    }
    distinct(&numbers)
}

/// Checks that the answer has each group exactly once, with its expected count.
fn groups(data: &Dataset, rows: &[Value]) -> Result<()> {
    let wanted = data.items / GROUPS;
    let mut numbers = Vec::new();
    for row in rows {
        let name = row["g"].as_str().and_then(|g| g.strip_prefix('v'));
        let number: u64 = name
            .and_then(|digits| digits.parse().ok())
            .with_context(|| format!("{row} is no group"))?;
        ensure!(number < GROUPS, "group {number} was never loaded");
        ensure!(row["k"] == wanted, "{row} instead of {wanted}");
        numbers.push(number);
    }
    distinct(&numbers)
}

/// The number of an item from its id.
fn item_number(id: &Value) -> Result<u64> {
    let digits = id.as_str().and_then(|id| id.parse().ok());
    digits.with_context(|| format!("{id} is not an id that was loaded"))
}

fn distinct(numbers: &[u64]) -> Result<()> {
    let all: BTreeSet<_> = numbers.iter().collect();
    ensure!(all.len() == numbers.len(), "a row is there twice");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::case::{Case, Facts};
    use crate::random::Random;

    fn page(rows: &[Value]) -> Vec<u8> {
        json!({"_rid": "r", "Documents": rows, "_count": rows.len()})
            .to_string()
            .into_bytes()
    }

    fn loaded(data: &Dataset, number: u64) -> Value {
        let mut text = Vec::new();
        data.write(&mut text, number);
        let mut item: Value = serde_json::from_slice(&text).unwrap();
        item["_ts"] = json!(1);
        item
    }

    /// What a right server answers.
    fn answer(data: &Dataset, facts: Facts, case: Case, expected: &Expected) -> Vec<Value> {
        let numbers = 0..data.items;
        let select = |is_selected: &dyn Fn(Fields) -> bool| -> Vec<u64> {
            numbers
                .clone()
                .filter(|number| is_selected(data.fields(*number)))
                .collect()
        };
        let rows_of = |numbers: Vec<u64>| {
            numbers
                .into_iter()
                .map(|number| loaded(data, number))
                .collect()
        };
        match expected {
            Expected::InPartition { pk, group } => {
                rows_of(select(&|f| f.pk == *pk && f.group_in_pk == *group))
            }
            Expected::Category(category) => rows_of(select(&|f| f.category == *category)),
            Expected::Ordered(range) => {
                let mut numbers = select(&|f| range.contains(&f.n));
                numbers.sort_by_key(|number| data.fields(*number).n);
                rows_of(numbers)
            }
            Expected::Number(_) => vec![match case {
                Case::Count => json!(data.items),
                Case::Sum => json!(facts.score_sum),
                Case::Average => json!(facts.score_sum / data.items as f64),
                _ => json!(data.items / 10),
            }],
            Expected::Groups => (0..GROUPS)
                .map(|g| json!({"g": format!("v{g}"), "k": data.items / GROUPS}))
                .collect(),
            Expected::Raw(raw) => select(&|f| f.raw == *raw)
                .into_iter()
                .map(|number| json!(number.to_string()))
                .collect(),
        }
    }

    #[test]
    fn right_answers_pass_and_wrong_ones_do_not() {
        let data = Dataset::new(2000, 400, 1).unwrap();
        let facts = Facts {
            score_sum: data.score_sum(),
        };
        let mut random = Random::new(2, 0);
        for case in Case::ALL {
            let bound = case.bind(&data, facts, &mut random);
            let right = answer(&data, facts, case, &bound.expected);
            let check = |pages: &[Vec<u8>]| bound.expected.check(&data, pages);
            check(&[page(&right)]).unwrap();
            let (one, two) = right.split_at(right.len() / 2);
            check(&[page(one), page(&[]), page(two)]).unwrap();

            assert!(
                check(&[page(&right[1..])]).is_err(),
                "{case:?}: one missing"
            );
            let mut wrong = right.clone();
            wrong[0] = match &right[0] {
                Value::Number(_) => json!(-1),
                Value::String(_) => right[1].clone(),
                _ => json!({"id": "1", "g": "v1", "k": 3, "n": right[0]["n"]}),
            };
            assert!(check(&[page(&wrong)]).is_err(), "{case:?}: one changed");
            if let Expected::Ordered(_) = bound.expected {
                let mut wrong = right.clone();
                wrong.swap(3, 4);
                assert!(check(&[page(&wrong)]).is_err(), "{case:?}: out of order");
            }
        }
    }
}
