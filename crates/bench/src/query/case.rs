//! The queries of the suite: their text for the server under test, their text for `PostgreSQL`, and
//! the expected answer.

use serde::Serialize;
use serde_json::json;

use super::check::Expected;
use super::data::{Dataset, GROUPS, PARTITIONS, ROWS};
use crate::random::Random;

/// The page size of the ordered cases.
const TOP: u64 = 20;
/// `CountRange` selects one of this many items.
const RANGE_SHARE: u64 = 10;

/// The queries of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    EqualityInPartition,
    EqualityAcross,
    Top,
    TopAfter,
    Count,
    Sum,
    Average,
    CountRange,
    GroupBy,
    Scan,
}

/// One query with drawn parameters.
#[derive(Clone, Debug)]
pub(crate) struct BoundQuery {
    /// The number of the logical partition, or None for all partitions.
    pub(crate) partition: Option<u64>,
    pub(crate) parameters: Vec<(&'static str, serde_json::Value)>,
    pub(crate) expected: Expected,
    /// The number of spaces after the text. Another number makes a text that the server has not
    /// cached.
    pub(crate) spaces: usize,
}

impl Case {
    pub(crate) const ALL: [Self; 10] = [
        Self::EqualityInPartition,
        Self::EqualityAcross,
        Self::Top,
        Self::TopAfter,
        Self::Count,
        Self::Sum,
        Self::Average,
        Self::CountRange,
        Self::GroupBy,
        Self::Scan,
    ];

    /// The name in the report.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::EqualityInPartition => "equality, 100 items, one partition",
            Self::EqualityAcross => "equality, 100 items, all partitions",
            Self::Top => "TOP 20 ORDER BY n",
            Self::TopAfter => "TOP 20 WHERE n > x ORDER BY n",
            Self::Count => "COUNT",
            Self::Sum => "SUM",
            Self::Average => "AVG",
            Self::CountRange => "COUNT of a tenth by range",
            Self::GroupBy => "GROUP BY, 1000 groups",
            Self::Scan => "scan, filter without an index",
        }
    }

    /// The query text for the server under test.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::EqualityInPartition => "SELECT * FROM c WHERE c.group_in_pk = @g",
            Self::EqualityAcross => "SELECT * FROM c WHERE c.category = @c",
            Self::Top => "SELECT TOP 20 * FROM c ORDER BY c.n",
            Self::TopAfter => "SELECT TOP 20 * FROM c WHERE c.n > @x ORDER BY c.n",
            Self::Count => "SELECT VALUE COUNT(1) FROM c",
            Self::Sum => "SELECT VALUE SUM(c.score) FROM c",
            Self::Average => "SELECT VALUE AVG(c.score) FROM c",
            Self::CountRange => "SELECT VALUE COUNT(1) FROM c WHERE c.n >= @x AND c.n < @y",
            Self::GroupBy => "SELECT c.g, COUNT(1) AS k FROM c GROUP BY c.g",
            Self::Scan => "SELECT VALUE c.id FROM c WHERE c.raw = @r",
        }
    }

    /// Draws the parameters of a query, and computes the expected answer.
    pub(crate) fn bind(self, data: &Dataset, facts: Facts, random: &mut Random) -> BoundQuery {
        let bound = |parameters, expected| BoundQuery {
            partition: None,
            parameters,
            expected,
            spaces: 0,
        };
        match self {
            Self::EqualityInPartition => {
                let pk = random.below(PARTITIONS);
                let group = random.below(data.groups_in_partition());
                BoundQuery {
                    partition: Some(pk),
                    parameters: vec![("@g", json!(format!("g{group}")))],
                    expected: Expected::InPartition { pk, group },
                    spaces: 0,
                }
            }
            Self::EqualityAcross => {
                let category = random.below(data.categories());
                let parameter = json!(format!("c{category}"));
                bound(vec![("@c", parameter)], Expected::Category(category))
            }
            Self::Top => bound(vec![], Expected::Ordered(0..TOP)),
            Self::TopAfter => {
                // Every drawn value leaves a full page above it.
                let x = random.below(data.items - TOP);
                let expected = Expected::Ordered(x + 1..x + 1 + TOP);
                bound(vec![("@x", json!(x))], expected)
            }
            Self::Count => bound(vec![], Expected::Number(data.items as f64)),
            Self::Sum => bound(vec![], Expected::Number(facts.score_sum)),
            Self::Average => {
                let average = facts.score_sum / data.items as f64;
                bound(vec![], Expected::Number(average))
            }
            Self::CountRange => {
                let width = data.items / RANGE_SHARE;
                let x = random.below(data.items - width);
                let parameters = vec![("@x", json!(x)), ("@y", json!(x + width))];
                bound(parameters, Expected::Number(width as f64))
            }
            Self::GroupBy => bound(vec![], Expected::Groups),
            Self::Scan => {
                let raw = random.below(data.categories());
                bound(vec![("@r", json!(raw))], Expected::Raw(raw))
            }
        }
    }

    /// The same query as a `pgbench` script, over the table of `postgres`.
    pub(crate) fn script(self, data: &Dataset) -> String {
        let n = "(doc->>'n')::numeric";
        let (groups, categories) = (data.groups_in_partition(), data.categories());
        let width = data.items / RANGE_SHARE;
        // The bounds of `random` in pgbench are inclusive.
        let last = |count: u64| count - 1;
        match self {
            Self::EqualityInPartition => format!(
                "\\set p random(0, {})\n\\set g random(0, {})\n\
                 SELECT doc FROM docs WHERE pk = 'p' || :p AND doc->>'group_in_pk' = 'g' || :g;\n",
                last(PARTITIONS),
                last(groups)
            ),
            Self::EqualityAcross => format!(
                "\\set c random(0, {})\nSELECT doc FROM docs WHERE doc->>'category' = 'c' || :c;\n",
                last(categories)
            ),
            Self::Top => format!("SELECT doc FROM docs ORDER BY {n} LIMIT {TOP};\n"),
            Self::TopAfter => format!(
                "\\set x random(0, {})\n\
                 SELECT doc FROM docs WHERE {n} > :x ORDER BY {n} LIMIT {TOP};\n",
                last(data.items - TOP)
            ),
            Self::Count => "SELECT count(*) FROM docs;\n".to_owned(),
            Self::Sum => "SELECT sum((doc->>'score')::float8) FROM docs;\n".to_owned(),
            Self::Average => "SELECT avg((doc->>'score')::float8) FROM docs;\n".to_owned(),
            Self::CountRange => format!(
                "\\set x random(0, {})\n\\set y :x + {width}\n\
                 SELECT count(*) FROM docs WHERE {n} >= :x AND {n} < :y;\n",
                last(data.items - width)
            ),
            Self::GroupBy => "SELECT doc->>'g', count(*) FROM docs GROUP BY 1;\n".to_owned(),
            Self::Scan => format!(
                "\\set r random(0, {})\n\
                 SELECT doc->>'id' FROM docs WHERE (doc->>'raw')::numeric = :r;\n",
                last(categories)
            ),
        }
    }
}

/// Sums over all documents, from one pass over them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) score_sum: f64,
}

impl BoundQuery {
    /// The body of the query request.
    pub(crate) fn body(&self, text: &str) -> String {
        let parameters = self.parameters.iter();
        let parameters: Vec<_> = parameters
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        // The spaces change the text, and so its place in the server's cache, but not the query.
        let text = format!("{text}{:1$}", "", self.spaces);
        json!({"query": text, "parameters": parameters}).to_string()
    }
}

impl Expected {
    /// The number of rows of the right answer.
    pub(crate) fn rows(&self, data: &Dataset) -> u64 {
        match self {
            Self::InPartition { group, .. } => data.rows_in_partition(*group),
            Self::Category(_) | Self::Raw(_) => ROWS,
            Self::Ordered(numbers) => numbers.end - numbers.start,
            Self::Number(_) => 1,
            Self::Groups => GROUPS,
        }
    }
}
