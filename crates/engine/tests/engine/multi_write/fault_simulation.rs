//! Simulates regions that write, exchange records, restart and prune at random, and checks the
//! result.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use orrery_engine::{
    ChangeFeedRequest, ChangeFeedStart, ChangeMode, Container, FeedScope, NewContainer, NewScript,
    ProcedureRequest, ScriptKind,
};
use orrery_model::{
    ConsistencyLevel, ContainerDefinition, DatabaseAddress, Failure, JsonPointer, Operation,
    OperationStatus, PatchAction, PatchOperation, RangeId,
};
use orrery_regions::{MultiWriteMessage, RegionId, StreamId, VersionVector};

use super::expected::{Effect, Expected, ItemKey, Policy, RegionContents, claim, has_expired};
use super::readers::Reader;
use super::region::{AccountLog, Region};
use crate::random::Random;
use crate::support::{address, create, delete, json, patch, pk, replace, upsert};
use orrery_keys::Epk;

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;
pub(super) const HUB: usize = 0;
pub(super) const KEYS: [&str; 2] = ["a", "b"];

/// Writes an item as a script.
const PROCEDURE: &str = "function (item) {
    const c = getContext().getCollection();
    const check = error => { if (error) throw error; };
    if (!c.upsertDocument(c.getSelfLink(), item, check)) throw new Error('not taken');
}";

pub(super) const CONTAINERS: [(&str, Policy, bool); 5] = [
    ("c0", Policy::Time, true),
    ("c1", Policy::Number, true),
    ("c2", Policy::Custom, true),
    ("c3", Policy::Number, false),
    ("c4", Policy::Custom, false),
];

pub(crate) struct FaultSimulation {
    pub(crate) regions: Vec<Region>,
    pub(crate) expected: Vec<Expected>,
    links: Vec<(RegionId, RegionId, MultiWriteMessage)>,
    /// Per region, one change feed reader for each container.
    pub(super) readers: Vec<Vec<Reader>>,
    pub(crate) random: Random,
    /// How often partitions were split or merged.
    pub(super) recuts: usize,
    count: u64,
}

pub(crate) fn members(count: u8) -> Vec<RegionId> {
    (0..count).map(RegionId).collect()
}

impl FaultSimulation {
    pub(crate) async fn new(seed: u64, places: &[Option<&Path>]) -> FaultSimulation {
        let account: AccountLog = Arc::new(Mutex::new(Vec::new()));
        let members = members(u8::try_from(places.len()).unwrap());
        let opened = (0..).zip(places);
        let opened = opened.map(|(id, place)| Region::open(id, &members, *place, &account));
        let mut regions: Vec<Region> = opened.collect();
        let hub = &regions[HUB].engine;
        hub.set_hub(true);
        hub.create_database("d", None).await.unwrap();
        for (id, policy, has_keys) in CONTAINERS {
            let definition = json(&definition(id, policy, has_keys));
            let new = NewContainer {
                definition: ContainerDefinition::parse(&definition).unwrap(),
                throughput: None,
            };
            let created = hub.create_container(DatabaseAddress::Name("d"), new);
            created.await.unwrap();
            let procedure = NewScript {
                id: "put".to_owned(),
                body: PROCEDURE.to_owned(),
                trigger: None,
            };
            let kind = ScriptKind::StoredProcedure;
            let created = hub.create_script(address(id), kind, procedure);
            created.await.unwrap();
        }
        hub.set_hub(false);
        for region in &mut regions {
            region.follow_account(usize::MAX).await;
        }
        let expected = CONTAINERS.map(|(_, policy, has_keys)| Expected::new(policy, has_keys));
        FaultSimulation {
            regions,
            expected: expected.into(),
            links: Vec::new(),
            readers: places
                .iter()
                .map(|_| CONTAINERS.map(|_| Reader::default()).into())
                .collect(),
            random: Random::new(seed),
            recuts: 0,
            count: 0,
        }
    }

    pub(super) fn some(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap()
    }

    /// Something happens.
    pub(crate) async fn step(&mut self) {
        let at = self.some(self.regions.len());
        match self.random.below(100) {
            0..4 => self.run_script(at).await,
            4..42 => self.write(at).await,
            42..74 => self.exchange().await,
            74..76 => self.recut().await,
            76..78 => self.follow_some(at).await,
            78..80 => self.read_on(at).await,
            80..84 => self.regions[at].advance(1),
            84..88 => self.work_as_hub().await,
            88..92 => self.delete_conflict(at).await,
            92..95 => self.regions[at].prune().await,
            95..97 => self.regions[at].acknowledge(),
            _ => self.compare(at).await,
        }
    }

    async fn write(&mut self, at: usize) {
        let which = self.some(CONTAINERS.len());
        let key = *self.random.pick(&KEYS);
        let operations: Vec<Operation> = (0..*self.random.pick(&[1, 1, 1, 2, 3]))
            .map(|_| self.operation(key))
            .collect();
        let ids: Vec<String> = operations.iter().map(id_of).collect();
        let (region, container) = (&mut self.regions[at], CONTAINERS[which].0);
        let container = find(region, container);
        let own = StreamId::Region(region.id);
        let before = region.engine.version_vector();
        let now = region.engine.now_seconds();
        let operations = operations.into_iter().map(Ok).collect();
        let answer = region
            .engine
            .transact(&container, pk(&format!(r#"["{key}"]"#)), operations, LEVEL)
            .await;
        region.noted();
        let after = region.engine.version_vector();
        let results = answer.result.unwrap();
        let Ok(outcomes) = results.into_iter().collect::<Result<Vec<_>, Failure>>() else {
            assert_eq!(after, before, "what is refused leaves no record");
            return;
        };
        assert_eq!(after.of(own), before.of(own).next(), "one record for all");
        let texts = outcomes.into_iter().map(|outcome| {
            let body = outcome
                .body
                .filter(|_| outcome.status != OperationStatus::Deleted);
            body.map(|body| String::from_utf8(body.to_vec()).unwrap())
        });
        let places = ids.into_iter().map(|id| (key.to_owned(), id));
        let written = places.zip(texts).collect();
        self.written(at, which, &before, now, written);
    }

    /// A stored procedure writes an item.
    async fn run_script(&mut self, at: usize) {
        let which = self.some(CONTAINERS.len());
        let key = *self.random.pick(&KEYS);
        let id = self.random.below(6).to_string();
        let (u, c) = (self.random.below(5), self.random.below(1_000_000));
        let text = format!(r#"{{"id":"{id}","p":"{key}","u":"{u}","c":{c}}}"#);
        let region = &mut self.regions[at];
        let container = find(region, CONTAINERS[which].0);
        let catalogue = region.engine.catalogue();
        let (_, entry) = catalogue.container(address(CONTAINERS[which].0)).unwrap();
        let script = entry
            .scripts
            .get(ScriptKind::StoredProcedure, "put")
            .unwrap();
        let before = region.engine.version_vector();
        let now = region.engine.now_seconds();
        let key_value = pk(&format!(r#"["{key}"]"#));
        let request = ProcedureRequest {
            key: key_value.clone(),
            arguments: vec![json(&text)],
            budget: LEVEL.into(),
            wants_log: false,
        };
        let ran = region.engine.execute(&container, script, request).await;
        region.noted();
        if ran.result.is_err() {
            assert_eq!(region.engine.version_vector(), before);
            return;
        }
        let found = changes(region, &container).await.into_iter();
        let place = (key.to_owned(), id);
        let mut found = found.filter(|text| place_of(text) == place);
        let text = found.next().unwrap();
        self.written(at, which, &before, now, vec![(place, Some(text))]);
    }

    /// Records that a region has written texts, or removed items, in one record.
    fn written(
        &mut self,
        at: usize,
        which: usize,
        before: &VersionVector,
        now: u64,
        written: Vec<(ItemKey, Option<String>)>,
    ) {
        let region = &self.regions[at];
        let sequence = region
            .engine
            .version_vector()
            .of(StreamId::Region(region.id));
        let expected = &mut self.expected[which];
        // A write that takes the unique value of an expired document also removes that document.
        let mut shown = expected.shown(before).documents;
        let mut effects: Vec<(ItemKey, Effect)> = Vec::new();
        for (place, text) in written {
            let Some(text) = text else {
                shown.remove(&place);
                effects.push((place, Effect::Delete));
                continue;
            };
            let is_holder = |(other, held): &(&ItemKey, &String)| {
                expected.has_keys
                    && **other != place
                    && other.0 == place.0
                    && claim(held) == claim(&text)
                    && has_expired(held, now)
            };
            let holder = shown.iter().find(is_holder).map(|(other, _)| other.clone());
            if let Some(holder) = holder {
                shown.remove(&holder);
                effects.push((holder, Effect::Expiry));
            }
            shown.insert(place.clone(), text.clone());
            effects.push((place, Effect::Put(text)));
        }
        expected.made(region.id, sequence, before, effects);
    }

    fn operation(&mut self, key: &str) -> Operation {
        self.count += 1;
        let id = self.random.below(6).to_string();
        let (u, n) = (self.random.below(5), self.random.below(4));
        let ttl = match self.random.below(5) {
            0 => r#","ttl":2"#,
            _ => "",
        };
        let number = match self.random.below(4) {
            0 => String::new(),
            _ => format!(r#","n":{n}"#),
        };
        let count = self.count;
        let text = format!(r#"{{"id":"{id}","p":"{key}","u":"{u}","c":{count}{number}{ttl}}}"#);
        match self.random.below(9) {
            0..3 => create(&text),
            3..5 => upsert(&text),
            5 => replace(&id, &text),
            6 => patch(&id, vec![set("/n", n), set("/u", u)]),
            _ => delete(&id),
        }
    }

    /// Exchanges messages, loses some of them, and merges the records that are ready.
    pub(crate) async fn exchange(&mut self) {
        for index in 0..self.regions.len() {
            let from = self.regions[index].id;
            for (to, message) in self.regions[index].tick(&mut self.random) {
                self.links.push((from, to, message));
            }
        }
        for _ in 0..self.random.below(8) {
            if self.links.is_empty() {
                break;
            }
            let which = self.some(self.links.len());
            let (from, to, message) = self.links.swap_remove(which);
            if self.random.chance(10) {
                continue;
            }
            let to = usize::from(to.0);
            let sender = self.regions[to].id;
            for (next, message) in self.regions[to].receive(from, message, &mut self.random) {
                self.links.push((sender, next, message));
            }
            if self.random.chance(70) {
                self.regions[to].merge_ready(&mut self.random).await;
            }
        }
        // A link holds a limited number of messages.
        self.links.truncate(60);
    }

    /// Until every region has everything.
    pub(crate) async fn settle(&mut self) {
        self.links.clear();
        for region in &mut self.regions {
            region.follow_account(usize::MAX).await;
        }
        for _ in 0..2_000 {
            self.exchange().await;
            for region in &mut self.regions {
                while region.merge_ready(&mut self.random).await {}
            }
            let first = self.regions[0].engine.version_vector();
            if self
                .regions
                .iter()
                .all(|region| region.engine.version_vector() == first)
            {
                return;
            }
        }
        panic!("the regions do not meet");
    }

    /// The hub removes expired items and versions that lost a unique key.
    pub(super) async fn work_as_hub(&mut self) {
        let region = &mut self.regions[HUB];
        let own = StreamId::Region(region.id);
        let now = region.engine.now_seconds();
        region.engine.set_hub(true);
        let mut before = region.engine.version_vector();
        region.engine.remove_expired().await.unwrap();
        let mut made = 0;
        for (expected, (id, ..)) in self.expected.iter_mut().zip(CONTAINERS) {
            let shown = expected.shown(&before).documents;
            let expired = shown.into_iter().filter(|(_, text)| has_expired(text, now));
            let mut by_partition: BTreeMap<RangeId, Vec<(ItemKey, Effect)>> = BTreeMap::new();
            for (place, _) in expired {
                let partition = partition_of(&find(region, id), &place.0);
                let list = by_partition.entry(partition).or_default();
                list.push((place, Effect::Expiry));
            }
            for expired in by_partition.into_values() {
                let next = before.of(own).next();
                expected.made(region.id, next, &before, expired);
                before.advance(own, next);
                made += 1;
            }
        }
        assert_eq!(
            region.engine.version_vector(),
            before,
            "{made} records of expiry"
        );
        region.engine.resolve_conflicts().await.unwrap();
        for (which, expected) in self.expected.iter_mut().enumerate() {
            if expected.policy == Policy::Custom || !expected.has_keys {
                continue;
            }
            let container = find(region, CONTAINERS[which].0);
            let contested = expected.shown(&before).contested.into_iter();
            let mut contested: Vec<ItemKey> = contested.collect();
            // In the order of their keys.
            contested.sort_by_key(|(key, id)| (hash(&container, key), id.clone()));
            for place in contested {
                let next = before.of(own).next();
                let effect = vec![(place, Effect::Delete)];
                expected.made(region.id, next, &before, effect);
                before.advance(own, next);
            }
        }
        region.engine.set_hub(false);
        assert_eq!(
            region.engine.version_vector(),
            before,
            "one record for each"
        );
        region.noted();
    }

    /// A client deletes a conflict: the item stays as it is shown.
    async fn delete_conflict(&mut self, at: usize) {
        let which = *self.random.pick(&[2, 4]);
        let region = &mut self.regions[at];
        let container = find(region, CONTAINERS[which].0);
        let page = region
            .engine
            .conflicts(&container, &FeedScope::Container, 100, None)
            .unwrap();
        if page.conflicts.is_empty() {
            return;
        }
        let conflict = self.random.pick(&page.conflicts);
        let text = String::from_utf8(conflict.content.to_vec()).unwrap();
        let place = place_of(&text);
        let key = pk(&format!(r#"["{}"]"#, place.0));
        let id = conflict.rid.to_string();
        let read = region.engine.conflict(&container, &key, &id).unwrap();
        assert_eq!(read, *conflict);
        let own = StreamId::Region(region.id);
        let before = region.engine.version_vector();
        let shown = self.expected[which].shown(&before).documents.remove(&place);
        let deleted = region.engine.delete_conflict(&container, &key, &id);
        deleted.await.unwrap();
        let again = region.engine.delete_conflict(&container, &key, &id);
        again.await.unwrap();
        let after = region.engine.version_vector();
        assert_eq!(after.of(own), before.of(own).next(), "one record");
        let effect = shown.map_or(Effect::Delete, Effect::Put);
        let effects = vec![(place, effect)];
        self.expected[which].made(region.id, after.of(own), &before, effects);
        region.noted();
    }

    /// Checks that the contents of a region follow from the records it has applied.
    pub(crate) async fn compare(&mut self, at: usize) {
        let region = &self.regions[at];
        let progress = region.engine.version_vector();
        let now = region.engine.now_seconds();
        for (expected, (id, ..)) in self.expected.iter().zip(CONTAINERS) {
            let container = find(region, id);
            let should = expected.shown(&progress);
            let mut shows = RegionContents {
                contested: should.contested.clone(),
                ..RegionContents::default()
            };
            for text in changes(region, &container).await {
                shows.documents.insert(place_of(&text), text);
            }
            let page = region
                .engine
                .conflicts(&container, &FeedScope::Container, 1_000, None);
            for conflict in page.unwrap().conflicts {
                let text = String::from_utf8(conflict.content.to_vec()).unwrap();
                shows.conflicts.insert(text);
            }
            assert_eq!(shows, should, "{id} in region {}", region.id);
            for ((key, id), text) in &should.documents {
                let key = pk(&format!(r#"["{key}"]"#));
                let read = region.engine.read_item(&container, &key, id, None, LEVEL);
                let read = read.result.map(|outcome| outcome.body.unwrap());
                let should = if has_expired(text, now) {
                    Err(Failure::NOT_FOUND)
                } else {
                    Ok(text.clone().into())
                };
                assert_eq!(read, should);
            }
        }
    }

    pub(crate) async fn compare_all(&mut self) {
        for at in 0..self.regions.len() {
            self.compare(at).await;
        }
    }

    /// All regions give the same answers, including entity tags and the order of conflicts.
    pub(crate) async fn agree(&self) {
        let mut answers = Vec::new();
        for region in &self.regions {
            let mut answer = Vec::new();
            for (id, ..) in CONTAINERS {
                let container = find(region, id);
                let mut texts = changes(region, &container).await;
                texts.sort();
                let page = region
                    .engine
                    .conflicts(&container, &FeedScope::Container, 1_000, None);
                answer.push((texts, page.unwrap().conflicts));
            }
            answers.push(answer);
        }
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{answers:#?}"
        );
    }
}

/// The newest version of every item, from the change feed.
async fn changes(region: &Region, container: &Arc<Container>) -> Vec<String> {
    let request = ChangeFeedRequest {
        scope: FeedScope::Container,
        mode: ChangeMode::LatestVersion,
        start: ChangeFeedStart::Beginning,
        since_seconds: None,
        items_max: 1_000,
        budget: LEVEL.into(),
    };
    let page = region.engine.changes(container, request).await;
    let changes = page.result.unwrap().changes.into_iter();
    let texts = changes.filter_map(|change| change.current);
    texts
        .map(|text| String::from_utf8(text.to_vec()).unwrap())
        .collect()
}

pub(crate) fn find(region: &Region, id: &str) -> Arc<Container> {
    let catalogue = region.engine.catalogue();
    Arc::clone(&catalogue.container(address(id)).unwrap().1.container)
}

pub(super) fn place_of(text: &str) -> ItemKey {
    let document = json(text);
    let text = |name: &str| document.get(name).as_str().unwrap().to_owned();
    (text("p"), text("id"))
}

fn id_of(operation: &Operation) -> String {
    use orrery_model::OperationKind::{Create, Delete, Patch, Read, Replace, Upsert};
    match &operation.kind {
        Create(document) | Upsert(document) => document.id().to_owned(),
        Replace { id, .. } | Patch { id, .. } | Delete { id } | Read { id } => id.clone(),
    }
}

fn set(path: &str, number: u64) -> PatchOperation {
    let value = if path == "/u" {
        orrery_json::Value::from(number.to_string().as_str())
    } else {
        orrery_json::Value::from(i64::try_from(number).unwrap())
    };
    PatchOperation {
        path: JsonPointer {
            segments: vec![path[1..].to_owned()],
        },
        action: PatchAction::Set(value),
    }
}

/// The position of a logical partition in the key space.
pub(super) fn hash(container: &Container, key: &str) -> Epk {
    let key = pk(&format!(r#"["{key}"]"#));
    let definition = container.definition.partition_key.definition();
    definition.epk(&key)
}

pub(super) fn partition_of(container: &Container, key: &str) -> RangeId {
    let logical = container.logical_partition(&pk(&format!(r#"["{key}"]"#)));
    container.partition_of(&logical).id
}

fn definition(id: &str, policy: Policy, has_keys: bool) -> String {
    let policy = match policy {
        Policy::Time => "",
        Policy::Number => {
            r#","conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/n"}"#
        }
        Policy::Custom => r#","conflictResolutionPolicy":{"mode":"Custom"}"#,
    };
    let keys = if has_keys {
        r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#
    } else {
        r#","changeFeedPolicy":{"retentionDuration":60}"#
    };
    let rest = format!(r#""partitionKey":{{"paths":["/p"]}},"defaultTtl":-1{policy}{keys}"#);
    format!(r#"{{"id":"{id}",{rest}}}"#)
}
