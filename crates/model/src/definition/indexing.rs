//! The indexing policy: which values are found through an index.

use orrery_json::Value;

use super::composite::{self, CompositePath};
use super::fields::{Fields, list_unless_empty, object, refused, word_of};
use super::full_text;
use super::index_path::{Ending, IndexPath};
use super::spatial::{self, SpatialIndex};
use super::vector::{self, VectorIndex};
use super::written_path::WrittenPath;
use crate::{Failure, limits};

/// Either `Consistent`, with the root in exactly one of `included` and `excluded`; or `None`, with
/// everything else off and empty.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexingPolicy {
    pub mode: IndexingMode,
    pub automatic: bool,
    pub included: Vec<IndexPath>,
    pub excluded: Vec<IndexPath>,
    pub composite: Vec<Vec<CompositePath>>,
    pub spatial: Vec<SpatialIndex>,
    pub vector: Vec<VectorIndex>,
    pub full_text: Vec<WrittenPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexingMode {
    Consistent,
    None,
}

const MODES: [(&str, IndexingMode); 2] = [
    ("consistent", IndexingMode::Consistent),
    ("none", IndexingMode::None),
];

impl Default for IndexingPolicy {
    fn default() -> IndexingPolicy {
        IndexingPolicy {
            mode: IndexingMode::Consistent,
            automatic: true,
            included: vec![IndexPath::root()],
            excluded: vec![IndexPath::etag()],
            composite: Vec::new(),
            spatial: Vec::new(),
            vector: Vec::new(),
            full_text: Vec::new(),
        }
    }
}

impl IndexingPolicy {
    pub(super) fn parse(body: &Fields<'_>) -> Result<IndexingPolicy, Failure> {
        let Some(policy) = body.object("indexingPolicy")? else {
            return Ok(IndexingPolicy::default());
        };
        match parse_mode(&policy)? {
            IndexingMode::Consistent => parse_consistent(&policy),
            IndexingMode::None => Ok(IndexingPolicy::none()),
        }
    }

    /// Reads a policy as [`IndexingPolicy::to_value`] writes it.
    pub fn of_value(policy: Value) -> Result<IndexingPolicy, Failure> {
        let body = object([("indexingPolicy", policy)]);
        IndexingPolicy::parse(&Fields::of_body(&body)?)
    }

    /// A policy that indexes nothing.
    pub fn none() -> IndexingPolicy {
        IndexingPolicy {
            mode: IndexingMode::None,
            automatic: false,
            included: Vec::new(),
            excluded: Vec::new(),
            ..IndexingPolicy::default()
        }
    }

    pub fn to_value(&self) -> Value {
        let paths = |paths: &[IndexPath]| {
            Value::Array(
                paths
                    .iter()
                    .map(|path| object([("path", path.to_value())]))
                    .collect(),
            )
        };
        let full_text = self
            .full_text
            .iter()
            .map(|path| object([("path", path.to_value())]));
        object([
            ("indexingMode", word_of(&self.mode, &MODES)),
            ("automatic", Value::from(self.automatic)),
            ("includedPaths", paths(&self.included)),
            ("excludedPaths", paths(&self.excluded)),
            ("compositeIndexes", composite::to_value(&self.composite)),
            ("spatialIndexes", spatial::to_value(&self.spatial)),
            ("vectorIndexes", vector::indexes_to_value(&self.vector)),
            ("fullTextIndexes", list_unless_empty(full_text)),
        ])
    }
}

fn parse_mode(policy: &Fields<'_>) -> Result<IndexingMode, Failure> {
    let text = policy.text("indexingMode")?.unwrap_or_default();
    if text.eq_ignore_ascii_case("lazy") {
        return Err(refused(
            "The indexing mode lazy is not available any more. Use consistent.",
        ));
    }
    Ok(policy
        .choice("indexingMode", &MODES)?
        .unwrap_or(IndexingMode::Consistent))
}

fn parse_consistent(policy: &Fields<'_>) -> Result<IndexingPolicy, Failure> {
    let (included, excluded) = parse_paths(policy)?;
    Ok(IndexingPolicy {
        mode: IndexingMode::Consistent,
        automatic: policy.boolean("automatic")?.unwrap_or(true),
        included,
        excluded,
        composite: composite::parse(policy)?,
        spatial: spatial::parse(policy)?,
        vector: vector::parse_indexes(policy)?,
        full_text: full_text::parse_indexes(policy)?,
    })
}

fn parse_paths(policy: &Fields<'_>) -> Result<(Vec<IndexPath>, Vec<IndexPath>), Failure> {
    let included = path_list(policy, "includedPaths")?;
    let mut excluded = path_list(policy, "excludedPaths")?.unwrap_or_default();
    // Whoever says nothing of what to include, or nothing at all, gets everything.
    let included = match included {
        None if excluded.iter().any(IndexPath::is_root) => Vec::new(),
        None => vec![IndexPath::root()],
        Some(included) if included.is_empty() && excluded.is_empty() => vec![IndexPath::root()],
        Some(included) => included,
    };
    if included.iter().any(IndexPath::is_root) == excluded.iter().any(IndexPath::is_root) {
        return Err(refused(
            "Please ensure that the path '/*' is in exactly one of includedPaths and \
             excludedPaths.",
        ));
    }
    if let Some(path) = included
        .iter()
        .find(|path| excluded.iter().any(|other| path.means(other)))
    {
        return Err(refused(format!(
            "Please ensure that the path '{}' is not in both includedPaths and excludedPaths.",
            path.text()
        )));
    }
    let etag = IndexPath::etag();
    if !included
        .iter()
        .chain(&excluded)
        .any(|path| path.steps() == etag.steps())
    {
        excluded.push(etag);
    }
    Ok((included, excluded))
}

/// The paths of a list. The kinds of index that old clients add to them all mean the same today.
fn path_list(policy: &Fields<'_>, property: &str) -> Result<Option<Vec<IndexPath>>, Failure> {
    let Some(entries) = policy.objects(property)? else {
        return Ok(None);
    };
    if entries.len() > limits::INDEX_PATHS_MAX {
        return Err(refused(format!(
            "'{}' has {} paths. A maximum of {} is allowed.",
            policy.name(property),
            entries.len(),
            limits::INDEX_PATHS_MAX
        )));
    }
    let path =
        |entry: &Fields<'_>| IndexPath::parse(entry.required_text("path")?, Ending::Required);
    entries.iter().map(path).collect::<Result<_, _>>().map(Some)
}
