//! Readers that behave like SDKs: they remember partition key ranges, and when a range is gone they
//! carry its position to the child partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use orrery_engine::{
    ChangeFeedPage, ChangeFeedRequest, ChangeFeedStart, ChangeKind, ChangeMode, CompiledQuery,
    Container, FeedRequest, FeedScope, QueryText,
};
use orrery_json::{Value, parse};
use orrery_keys::EpkRange;
use orrery_model::{ConsistencyLevel, Failure, RangeId};

use crate::random::Random;
use crate::support::{World, pk};

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;

type Item = (String, String);
type Versions = BTreeMap<Item, Vec<Option<u64>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// One position for the whole container.
    Container,
    /// A position for each range.
    Ranges,
}

#[derive(Debug, Clone)]
struct Part {
    range: Option<(RangeId, EpkRange)>,
    position: Option<String>,
}

pub(crate) struct FeedReader {
    mode: ChangeMode,
    key: Option<String>,
    parts: Vec<Part>,
    seen: Versions,
    /// The items that existed before the reader of all versions began.
    before: Versions,
}

impl FeedReader {
    pub(crate) fn latest(world: &World, reach: Reach, key: Option<String>) -> FeedReader {
        FeedReader {
            mode: ChangeMode::LatestVersion,
            parts: parts(&world.find("c"), reach, key.is_some()),
            key,
            seen: Versions::new(),
            before: Versions::new(),
        }
    }

    /// Starts at the present position, so the reader must see every later change.
    pub(crate) async fn all(
        world: &World,
        reach: Reach,
        key: Option<String>,
        before: Versions,
    ) -> FeedReader {
        let mut reader = FeedReader {
            mode: ChangeMode::AllVersionsAndDeletes,
            parts: parts(&world.find("c"), reach, key.is_some()),
            key,
            seen: Versions::new(),
            before,
        };
        let container = world.find("c");
        for number in 0..reader.parts.len() {
            let scope = reader.scope(&reader.parts[number]);
            let page = reader.page(world, &container, scope, ChangeFeedStart::Now, 10);
            let page = page.await.unwrap();
            assert!(page.changes.is_empty());
            reader.parts[number].position = Some(page.position);
        }
        reader
    }

    pub(crate) fn items_seen(&self) -> usize {
        self.seen.len()
    }

    fn scope(&self, part: &Part) -> FeedScope {
        match (&self.key, &part.range) {
            (Some(key), _) => FeedScope::Key(pk(&format!(r#"["{key}"]"#))),
            (None, Some((id, range))) => FeedScope::Range(*id, Some(range.clone())),
            (None, None) => FeedScope::Container,
        }
    }

    async fn page(
        &self,
        world: &World,
        container: &Arc<Container>,
        scope: FeedScope,
        start: ChangeFeedStart,
        items_max: usize,
    ) -> Result<ChangeFeedPage, Failure> {
        let request = ChangeFeedRequest {
            scope,
            mode: self.mode,
            start,
            since_seconds: None,
            items_max,
            budget: LEVEL.into(),
        };
        world.engine.changes(container, request).await.result
    }

    /// Reads a page of one part; returns whether the page had changes.
    pub(crate) async fn read(&mut self, world: &World, random: &mut Random) -> bool {
        let number = usize::try_from(random.below(self.parts.len() as u64)).unwrap();
        self.read_part(world, number, 1 + random.below(7)).await
    }

    async fn read_part(&mut self, world: &World, number: usize, items_max: u64) -> bool {
        let container = world.find("c");
        let part = self.parts[number].clone();
        let start = match part.position.clone() {
            Some(position) => ChangeFeedStart::After(position),
            None => ChangeFeedStart::Beginning,
        };
        let items_max = usize::try_from(items_max).unwrap();
        let scope = self.scope(&part);
        match self.page(world, &container, scope, start, items_max).await {
            Ok(page) => {
                let is_empty = page.changes.is_empty();
                self.take(&page);
                self.parts[number].position = Some(page.position);
                !is_empty
            }
            Err(Failure::Gone(_)) => {
                self.parts.swap_remove(number);
                self.parts.extend(children(&container, &part));
                true
            }
            Err(failure) => panic!("{failure:?}"),
        }
    }

    pub(crate) async fn drain(&mut self, world: &World, random: &mut Random) {
        let mut number = 0;
        while number < self.parts.len() {
            let items_max = 1 + random.below(20);
            if !self.read_part(world, number, items_max).await {
                number += 1;
            }
        }
    }

    fn take(&mut self, page: &ChangeFeedPage) {
        for change in &page.changes {
            let text = change.current.as_ref().or(change.previous.as_ref());
            let value = parse(text.unwrap()).unwrap();
            let item = (text_of(&value, "p"), text_of(&value, "id"));
            assert_eq!(item.1.as_bytes(), &change.id[..]);
            if let Some(key) = &self.key {
                assert_eq!(*key, item.0);
            }
            let version = change.current.as_ref().map(|_| number_of(&value));
            let seen = self.seen.entry(item.clone()).or_default();
            match self.mode {
                ChangeMode::LatestVersion => {
                    let last = seen.last().copied().flatten();
                    assert!(version > last, "{item:?}: {version:?} after {last:?}");
                }
                ChangeMode::AllVersionsAndDeletes => {
                    let was_there = match seen.last() {
                        Some(last) => last.is_some(),
                        None => {
                            let before = self.before.get(&item).and_then(|list| list.last());
                            before.is_some_and(Option::is_some)
                        }
                    };
                    let kind = match (was_there, version) {
                        (false, _) => ChangeKind::Create,
                        (true, Some(_)) => ChangeKind::Replace,
                        (true, None) => ChangeKind::Delete,
                    };
                    assert_eq!(change.kind, kind, "{item:?}");
                    assert_eq!(change.previous.is_some(), was_there);
                }
            }
            seen.push(version);
        }
    }

    /// Checks at the end that the reader has seen every change.
    pub(crate) fn check(&self, written: &Versions) {
        let concerns = |item: &Item| self.key.as_ref().is_none_or(|key| *key == item.0);
        for (item, versions) in written.iter().filter(|(item, _)| concerns(item)) {
            let seen = self.seen.get(item).map_or(&[][..], |list| list);
            match self.mode {
                ChangeMode::LatestVersion => {
                    if let Some(Some(last)) = versions.last() {
                        assert_eq!(seen.last(), Some(&Some(*last)), "{item:?}");
                    }
                }
                ChangeMode::AllVersionsAndDeletes => {
                    let before = self.before.get(item).map_or(0, Vec::len);
                    assert_eq!(seen, &versions[before..], "{item:?}");
                }
            }
        }
    }
}

/// A paged query, per partition key range or over the whole container.
pub(crate) struct PagedReader {
    query: Option<&'static str>,
    parts: Vec<Part>,
    seen: Vec<Item>,
    /// Items that existed at the reader's start and that no write has touched since.
    untouched: BTreeSet<Item>,
    /// Items that a write has touched; the reader may miss such items.
    touched: BTreeSet<Item>,
}

impl PagedReader {
    pub(crate) fn begin(world: &World, random: &mut Random, alive: &[Item]) -> PagedReader {
        let queries = [
            None,
            Some("SELECT * FROM c"),
            Some("SELECT * FROM c ORDER BY c.n"),
            Some("SELECT * FROM c ORDER BY c.n DESC"),
            Some("SELECT * FROM c WHERE c.n > 0"),
        ];
        let reach = if random.chance(30) {
            Reach::Container
        } else {
            Reach::Ranges
        };
        PagedReader {
            query: *random.pick(&queries),
            parts: parts(&world.find("c"), reach, false),
            seen: Vec::new(),
            untouched: alive.iter().cloned().collect(),
            touched: BTreeSet::new(),
        }
    }

    pub(crate) fn changed(&mut self, key: &str, id: &str) {
        let item = (key.to_owned(), id.to_owned());
        self.untouched.remove(&item);
        self.touched.insert(item);
    }

    /// Reads a page; returns whether the reader has finished.
    pub(crate) async fn read(&mut self, world: &World, random: &mut Random) -> bool {
        let Some(part) = self.parts.pop() else {
            return true;
        };
        let container = world.find("c");
        let scope = match &part.range {
            Some((id, range)) => FeedScope::Range(*id, Some(range.clone())),
            None => FeedScope::Container,
        };
        let query = self.query.map(|text| {
            let text = QueryText {
                text: text.to_owned(),
                parameters: Vec::new(),
                resume: None,
            };
            world.engine.compile(&text, &container).unwrap()
        });
        let page = page(world, &container, scope, query, &part, random).await;
        match page {
            Ok((items, continuation)) => {
                self.seen.extend(items);
                if continuation.is_some() {
                    let position = continuation;
                    self.parts.push(Part { position, ..part });
                }
            }
            Err(Failure::Gone(_)) => self.parts.extend(children(&container, &part)),
            Err(failure) => panic!("{:?}: {failure:?}", self.query),
        }
        self.parts.is_empty()
    }

    pub(crate) fn check(&self) {
        for item in &self.untouched {
            let times = self.seen.iter().filter(|seen| *seen == item).count();
            assert_eq!(times, 1, "{item:?} of {:?}", self.query);
        }
        for item in &self.seen {
            let is_known = self.untouched.contains(item) || self.touched.contains(item);
            assert!(is_known, "{item:?} of {:?} was never there", self.query);
        }
    }
}

async fn page(
    world: &World,
    container: &Arc<Container>,
    scope: FeedScope,
    query: Option<Arc<CompiledQuery>>,
    part: &Part,
    random: &mut Random,
) -> Result<(Vec<Item>, Option<String>), Failure> {
    let request = FeedRequest {
        scope,
        query,
        items_max: usize::try_from(1 + random.below(9)).unwrap(),
        continuation: part.position.clone(),
        continuation_bytes_max: None,
        budget: LEVEL.into(),
        wants_report: false,
        without_index: false,
        enable_scan: true,
    };
    let page = world.engine.feed(container, request).await.result?;
    let items = page.items.iter().map(|text| {
        let value = parse(text).unwrap();
        (text_of(&value, "p"), text_of(&value, "id"))
    });
    Ok((items.collect(), page.continuation))
}

fn parts(container: &Container, reach: Reach, is_one: bool) -> Vec<Part> {
    if reach == Reach::Container || is_one {
        return vec![Part {
            range: None,
            position: None,
        }];
    }
    let partitions = container.partitions.iter();
    let parts = partitions.map(|partition| Part {
        range: Some((partition.id, partition.range.clone())),
        position: None,
    });
    parts.collect()
}

/// The parts that replace a part whose partition is gone, each with its position.
fn children(container: &Container, gone: &Part) -> Vec<Part> {
    let (_, range) = gone.range.as_ref().unwrap();
    let children = container.partitions.iter().filter_map(|partition| {
        let part = partition.range.intersect(range)?;
        Some(Part {
            range: Some((partition.id, part)),
            position: gone.position.clone(),
        })
    });
    children.collect()
}

fn text_of(value: &Value, name: &str) -> String {
    value.get(name).as_str().unwrap().to_owned()
}

fn number_of(value: &Value) -> u64 {
    let number = value.get("n").as_number().unwrap().as_i64().unwrap();
    u64::try_from(number).unwrap()
}
