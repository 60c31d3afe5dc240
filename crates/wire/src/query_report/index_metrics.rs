//! `x-ms-cosmos-index-utilization`: the indexes that served a query, and the indexes that would
//! serve it.
//!
//! SDKs request one of two forms, which differ in their JSON and in its encoding.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::percent;

/// The impact of each index. Cosmos DB grades by the shape of a query; every path in a filter or an
/// order matters.
const IMPACT: &str = "High";

/// The two forms of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexMetricsForm {
    /// Flat lists, in base64.
    Base64,
    /// Nested lists, percent-encoded.
    Percent,
}

/// The indexes: paths such as `/a/?`, and composite indexes as lists of `/a ASC`.
#[derive(Debug, Clone, Copy, Default)]
pub struct IndexMetrics<'a> {
    pub utilized_single: &'a [String],
    pub utilized_composite: &'a [Vec<String>],
    pub potential_single: &'a [String],
    pub potential_composite: &'a [Vec<String>],
}

impl IndexMetrics<'_> {
    /// The value of the header in the requested form.
    pub fn header_value(&self, form: IndexMetricsForm) -> String {
        match form {
            IndexMetricsForm::Base64 => STANDARD.encode(json(&self.flat())),
            IndexMetricsForm::Percent => percent::encode_component(&json(&self.nested())),
        }
    }

    /// The form with four flat lists.
    fn flat(&self) -> Flat<'_> {
        Flat {
            utilized_single_indexes: flat_singles(self.utilized_single),
            potential_single_indexes: flat_singles(self.potential_single),
            utilized_composite_indexes: flat_composites(self.utilized_composite),
            potential_composite_indexes: flat_composites(self.potential_composite),
        }
    }

    /// The form with nested lists, in which only potential indexes have an impact.
    fn nested(&self) -> Nested<'_> {
        Nested {
            utilized_indexes: nested(self.utilized_single, self.utilized_composite, None),
            potential_indexes: nested(
                self.potential_single,
                self.potential_composite,
                Some(IMPACT),
            ),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
#[expect(clippy::struct_field_names, reason = "the names of the protocol")]
struct Flat<'a> {
    utilized_single_indexes: Vec<FlatSingle<'a>>,
    potential_single_indexes: Vec<FlatSingle<'a>>,
    utilized_composite_indexes: Vec<FlatComposite<'a>>,
    potential_composite_indexes: Vec<FlatComposite<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct FlatSingle<'a> {
    filter_expression: &'static str,
    index_spec: &'a str,
    filter_precise_set: bool,
    index_precise_set: bool,
    index_impact_score: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
#[expect(clippy::struct_field_names, reason = "the names of the protocol")]
struct FlatComposite<'a> {
    index_specs: &'a [String],
    index_precise_set: bool,
    index_impact_score: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Nested<'a> {
    utilized_indexes: NestedLists<'a>,
    potential_indexes: NestedLists<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NestedLists<'a> {
    single_indexes: Vec<NestedSingle<'a>>,
    composite_indexes: Vec<NestedComposite<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NestedSingle<'a> {
    index_spec: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index_impact_score: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NestedComposite<'a> {
    index_specs: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    index_impact_score: Option<&'static str>,
}

fn flat_singles(specs: &[String]) -> Vec<FlatSingle<'_>> {
    let single = |index_spec| FlatSingle {
        filter_expression: "",
        index_spec,
        filter_precise_set: true,
        index_precise_set: true,
        index_impact_score: IMPACT,
    };
    specs.iter().map(String::as_str).map(single).collect()
}

fn flat_composites(specs: &[Vec<String>]) -> Vec<FlatComposite<'_>> {
    let composite = |index_specs| FlatComposite {
        index_specs,
        index_precise_set: true,
        index_impact_score: IMPACT,
    };
    specs.iter().map(Vec::as_slice).map(composite).collect()
}

fn nested<'a>(
    singles: &'a [String],
    composites: &'a [Vec<String>],
    index_impact_score: Option<&'static str>,
) -> NestedLists<'a> {
    let single = |index_spec| NestedSingle {
        index_spec,
        index_impact_score,
    };
    let composite = |index_specs| NestedComposite {
        index_specs,
        index_impact_score,
    };
    NestedLists {
        single_indexes: singles.iter().map(String::as_str).map(single).collect(),
        composite_indexes: composites
            .iter()
            .map(Vec::as_slice)
            .map(composite)
            .collect(),
    }
}

/// The JSON text of a form.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and flags are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(metrics: &IndexMetrics<'_>, form: IndexMetricsForm) -> String {
        let header = metrics.header_value(form);
        assert!(
            header.bytes().all(|byte| byte.is_ascii_graphic()),
            "{header}"
        );
        match form {
            IndexMetricsForm::Base64 => {
                String::from_utf8(STANDARD.decode(header).unwrap()).unwrap()
            }
            IndexMetricsForm::Percent => percent::decode(&header).unwrap().into_owned(),
        }
    }

    #[test]
    fn both_forms() {
        let (single, odd) = (["/name/?".to_owned()], ["/\"é b\"/?".to_owned()]);
        let composite = [vec!["/a ASC".to_owned(), "/b DESC".to_owned()]];
        let metrics = IndexMetrics {
            utilized_single: &single,
            potential_single: &odd,
            potential_composite: &composite,
            ..IndexMetrics::default()
        };
        let flat = r#"{"UtilizedSingleIndexes":[{"FilterExpression":"","IndexSpec":"/name/?","FilterPreciseSet":true,"IndexPreciseSet":true,"IndexImpactScore":"High"}],"PotentialSingleIndexes":[{"FilterExpression":"","IndexSpec":"/\"é b\"/?","FilterPreciseSet":true,"IndexPreciseSet":true,"IndexImpactScore":"High"}],"UtilizedCompositeIndexes":[],"PotentialCompositeIndexes":[{"IndexSpecs":["/a ASC","/b DESC"],"IndexPreciseSet":true,"IndexImpactScore":"High"}]}"#;
        assert_eq!(value(&metrics, IndexMetricsForm::Base64), flat);
        let nested = r#"{"UtilizedIndexes":{"SingleIndexes":[{"IndexSpec":"/name/?"}],"CompositeIndexes":[]},"PotentialIndexes":{"SingleIndexes":[{"IndexSpec":"/\"é b\"/?","IndexImpactScore":"High"}],"CompositeIndexes":[{"IndexSpecs":["/a ASC","/b DESC"],"IndexImpactScore":"High"}]}}"#;
        assert_eq!(value(&metrics, IndexMetricsForm::Percent), nested);
    }
}
