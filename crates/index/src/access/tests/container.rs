//! A test container: documents, their index entries, and the statistics of a partition.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use orrery_exec::{DocumentPath, Predicate, SargableFilter};
use orrery_json::{Value, parse};
use orrery_model::ContainerDefinition;

use crate::access::{
    AccessPath, AccessRequest, DocumentSet, EntryRange, EntryScan, QueryShape, ScanDirection,
    Statistics,
};
use crate::{IndexDefinition, IndexHash, PathStatistics, PathSummary, skip};

pub(super) type KeyPosition = [u8; 4];

pub(super) struct Container {
    pub(super) definition: IndexDefinition,
    pub(super) documents: Vec<(KeyPosition, Value)>,
    /// The bytes after the hash in the keys of entries.
    entries: BTreeSet<(IndexHash, Vec<u8>)>,
    paths: BTreeMap<IndexHash, PathStatistics>,
    /// Number of documents that were written without entries.
    pub(super) not_indexed: u64,
    /// Number of leading documents in the scope of the query.
    pub(super) scope: Option<u32>,
    /// Factor by which the statistics inflate the numbers of documents and entries.
    pub(super) factor: u64,
    /// Number of calls that counted entries.
    pub(super) counts: Cell<u32>,
}

/// The indexes of an indexing policy.
pub(super) fn definition(policy: &str) -> IndexDefinition {
    let body =
        format!(r#"{{"id":"c","partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{policy}}}"#);
    let container = ContainerDefinition::parse(&parse(body.as_bytes()).unwrap());
    IndexDefinition::new(&container.unwrap().indexing)
}

pub(super) const EVERYTHING: &str = "{}";

impl Container {
    pub(super) fn new(policy: &str, documents: impl IntoIterator<Item = Value>) -> Container {
        let mut container = Container {
            definition: definition(policy),
            documents: Vec::new(),
            entries: BTreeSet::new(),
            paths: BTreeMap::new(),
            not_indexed: 0,
            scope: None,
            factor: 1,
            counts: Cell::new(0),
        };
        for (number, document) in documents.into_iter().enumerate() {
            let key_position = u32::try_from(number).unwrap().to_be_bytes();
            let entries = container.definition.entries(7, &document, &key_position);
            for (index, value) in entries.values() {
                container.paths.entry(index).or_default().add(value);
                let key = [value, &key_position].concat();
                container.entries.insert((index, key));
            }
            container.documents.push((key_position, document));
        }
        container
    }

    pub(super) fn request<'a>(&'a self, narrowing: &'a SargableFilter) -> AccessRequest<'a> {
        AccessRequest {
            definition: &self.definition,
            statistics: self,
            sargable_filter: narrowing,
            shape: QueryShape::Stream,
            is_one_partition: false,
            order: &[],
            covering: None,
            reads_nothing: false,
            min_max: None,
            only_indexed: false,
            page_rows: None,
        }
    }

    /// The documents that an access returns, in its order and with its repetitions.
    pub(super) fn met(&self, access: &AccessPath) -> Vec<KeyPosition> {
        match access {
            AccessPath::DocumentScan => self
                .documents
                .iter()
                .map(|(key_position, _)| *key_position)
                .collect(),
            AccessPath::Nothing | AccessPath::StoredCount(_) | AccessPath::IdLookup(_) => {
                Vec::new()
            }
            AccessPath::DocumentSet(set) => self.key_positions(set).into_iter().collect(),
            AccessPath::Entries(scan) => self.scan(scan).into_iter().map(|(_, at)| at).collect(),
        }
    }

    /// The value and the document of each entry that a scan returns.
    pub(super) fn scan(&self, scan: &EntryScan) -> Vec<(Vec<u8>, KeyPosition)> {
        for pair in scan.ranges.windows(2) {
            let end = pair[0].to.as_ref().expect("only the last run has no end");
            assert!(*end <= pair[1].from, "runs are ascending and disjoint");
        }
        let mut entries: Vec<_> = scan.ranges.iter().flat_map(|run| self.run(run)).collect();
        if scan.direction == ScanDirection::Backward {
            entries.reverse();
        }
        entries
    }

    fn key_positions(&self, set: &DocumentSet) -> BTreeSet<KeyPosition> {
        match set {
            DocumentSet::Point(run) => {
                assert!(
                    run.is_point,
                    "only the entries of a point are ordered by key position"
                );
                self.run(run)
                    .into_iter()
                    .map(|(_, key_position)| key_position)
                    .collect()
            }
            DocumentSet::Union(any) => any.iter().flat_map(|one| self.key_positions(one)).collect(),
            DocumentSet::Intersection(all) => all
                .iter()
                .map(|one| self.key_positions(one))
                .reduce(|a, b| &a & &b)
                .unwrap(),
            DocumentSet::Gathered(runs) => {
                let entries = runs.iter().flat_map(|run| self.run(run));
                entries.map(|(_, key_position)| key_position).collect()
            }
        }
    }

    fn run(&self, run: &EntryRange) -> Vec<(Vec<u8>, KeyPosition)> {
        let start = (run.index, run.from.clone());
        let entries = self.entries.range(start..).take_while(|(index, key)| {
            *index == run.index && run.to.as_ref().is_none_or(|to| key < to)
        });
        entries
            .map(|(_, key)| {
                let (value, key_position) = key.split_at(key.len() - size_of::<KeyPosition>());
                assert!(!run.is_point || value == run.from, "a point has one value");
                (value.to_vec(), key_position.try_into().unwrap())
            })
            .collect()
    }
}

impl Statistics for Container {
    fn documents(&self) -> u64 {
        self.documents.len() as u64 * self.factor
    }

    fn indexed_documents(&self) -> u64 {
        self.documents() - self.not_indexed
    }

    fn path(&self, index: IndexHash) -> Option<PathSummary> {
        let mut of_path = self.paths.get(&index)?.clone();
        of_path.entries *= self.factor;
        Some(of_path.summary())
    }

    fn count(&self, run: &EntryRange, limit: u64) -> u64 {
        self.counts.set(self.counts.get() + 1);
        let is_seen = |(_, key_position): &(Vec<u8>, KeyPosition)| {
            self.scope
                .is_none_or(|scope| *key_position < scope.to_be_bytes())
        };
        let entries = self.run(run).into_iter().filter(is_seen);
        (entries.count() as u64 * self.factor).min(limit)
    }

    fn scope_count(&self) -> Option<u64> {
        self.scope.is_none().then_some(self.documents.len() as u64)
    }

    fn documents_in_scope(&self) -> u64 {
        self.scope.map_or(self.documents(), u64::from)
    }

    fn extent(&self, index: IndexHash) -> Option<(Vec<u8>, Vec<u8>)> {
        let all = EntryRange {
            index,
            from: Vec::new(),
            to: None,
            is_point: false,
        };
        let entries = self.run(&all);
        let value = |at: Option<&(Vec<u8>, KeyPosition)>| at.map(|(value, _)| value.clone());
        let (first, last) = (value(entries.first())?, value(entries.last())?);
        assert!(skip(&first).is_some());
        Some((first, last))
    }
}

/// All values at a path of a document.
pub(super) fn values_at<'a>(document: &'a Value, path: &DocumentPath) -> Vec<&'a Value> {
    use orrery_exec::PathStep;
    let mut values = vec![document];
    for step in &path.0 {
        values = values
            .into_iter()
            .flat_map(|value| match step {
                PathStep::Name(name) => vec![value.get(name)],
                PathStep::Element => value.as_array().unwrap_or(&[]).iter().collect(),
            })
            .collect();
    }
    values.retain(|value| !value.is_undefined());
    values
}

pub(super) fn sargable_filter(predicate: Predicate) -> SargableFilter {
    SargableFilter {
        predicate,
        is_exact: true,
    }
}
