//! A container of a test: documents, their entries, and what a partition would know of them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use orrery_exec::{DocumentPath, Narrowing, Predicate};
use orrery_json::{Value, parse};
use orrery_model::ContainerDefinition;

use crate::access::{
    Access, AccessRequest, Direction, EntryScan, Places, QueryShape, Run, Statistics,
};
use crate::{IndexDefinition, IndexHash, PathFigures, PathStatistics, skip};

pub(super) type Place = [u8; 4];

pub(super) struct Container {
    pub(super) definition: IndexDefinition,
    pub(super) documents: Vec<(Place, Value)>,
    /// What follows the hash in the keys of entries.
    entries: BTreeSet<(IndexHash, Vec<u8>)>,
    paths: BTreeMap<IndexHash, PathStatistics>,
    /// Documents that were written without entries.
    pub(super) not_indexed: u64,
    /// How many documents, from the first on, the query sees.
    pub(super) scope: Option<u32>,
    /// How many times more documents and entries the container is said to have.
    pub(super) factor: u64,
    /// How often entries were counted.
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
            let place = u32::try_from(number).unwrap().to_be_bytes();
            let entries = container.definition.entries(7, &document, &place);
            for (index, value) in entries.values() {
                container.paths.entry(index).or_default().add(value);
                let key = [value, &place].concat();
                container.entries.insert((index, key));
            }
            container.documents.push((place, document));
        }
        container
    }

    pub(super) fn request<'a>(&'a self, narrowing: &'a Narrowing) -> AccessRequest<'a> {
        AccessRequest {
            definition: &self.definition,
            statistics: self,
            narrowing,
            shape: QueryShape::Stream,
            is_one_partition: false,
            order: &[],
            covering: None,
            reads_nothing: false,
            extreme: None,
            page_rows: None,
        }
    }

    /// The places that an access meets, in its order and as often as it meets them.
    pub(super) fn met(&self, access: &Access) -> Vec<Place> {
        match access {
            Access::Documents => self.documents.iter().map(|(place, _)| *place).collect(),
            Access::Nothing | Access::Counted(_) | Access::Named(_) => Vec::new(),
            Access::Places(places) => self.places(places).into_iter().collect(),
            Access::Entries(scan) => self.scan(scan).into_iter().map(|(_, at)| at).collect(),
        }
    }

    /// The value and the place of each entry that a scan meets.
    pub(super) fn scan(&self, scan: &EntryScan) -> Vec<(Vec<u8>, Place)> {
        for pair in scan.runs.windows(2) {
            let end = pair[0].to.as_ref().expect("only the last run has no end");
            assert!(*end <= pair[1].from, "runs are ascending and disjoint");
        }
        let mut entries: Vec<_> = scan.runs.iter().flat_map(|run| self.run(run)).collect();
        if scan.direction == Direction::Backward {
            entries.reverse();
        }
        entries
    }

    fn places(&self, places: &Places) -> BTreeSet<Place> {
        match places {
            Places::Run(run) => {
                assert!(
                    run.is_point,
                    "only the entries of a point are ordered by place"
                );
                self.run(run).into_iter().map(|(_, place)| place).collect()
            }
            Places::Any(any) => any.iter().flat_map(|one| self.places(one)).collect(),
            Places::All(all) => all
                .iter()
                .map(|one| self.places(one))
                .reduce(|a, b| &a & &b)
                .unwrap(),
            Places::Gathered(runs) => {
                let entries = runs.iter().flat_map(|run| self.run(run));
                entries.map(|(_, place)| place).collect()
            }
        }
    }

    fn run(&self, run: &Run) -> Vec<(Vec<u8>, Place)> {
        let start = (run.index, run.from.clone());
        let entries = self.entries.range(start..).take_while(|(index, key)| {
            *index == run.index && run.to.as_ref().is_none_or(|to| key < to)
        });
        entries
            .map(|(_, key)| {
                let (value, place) = key.split_at(key.len() - size_of::<Place>());
                assert!(!run.is_point || value == run.from, "a point has one value");
                (value.to_vec(), place.try_into().unwrap())
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

    fn path(&self, index: IndexHash) -> Option<PathFigures> {
        let mut of_path = self.paths.get(&index)?.clone();
        of_path.entries *= self.factor;
        Some(of_path.figures())
    }

    fn count(&self, run: &Run, limit: u64) -> u64 {
        self.counts.set(self.counts.get() + 1);
        let is_seen = |(_, place): &(Vec<u8>, Place)| {
            self.scope.is_none_or(|scope| *place < scope.to_be_bytes())
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
        let all = Run {
            index,
            from: Vec::new(),
            to: None,
            is_point: false,
        };
        let entries = self.run(&all);
        let value = |at: Option<&(Vec<u8>, Place)>| at.map(|(value, _)| value.clone());
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

pub(super) fn narrowing(predicate: Predicate) -> Narrowing {
    Narrowing {
        predicate,
        is_exact: true,
    }
}
