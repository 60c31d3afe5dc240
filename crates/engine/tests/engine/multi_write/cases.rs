//! Single scenarios between regions.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use orrery_engine::{
    AccountOutcome, ConflictOperation, FeedScope, MergeError, NewContainer, NewScript, Position,
    ScriptKind, StoreError, StreamRead, SubscriptionRead, check_directory,
};
use orrery_model::{ConsistencyLevel, ContainerDefinition, DatabaseAddress, Failure, Operation};
use orrery_regions::{RegionId, Sequence, StreamId, VersionVector};

use super::fault_simulation::{find, members};
use super::region::{AccountLog, Region};
use crate::support::{PATIENCE, address, create, delete, json, pk, replace, upsert};

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;

/// Regions with a container `c`; the first region is the hub.
pub(super) async fn regions(settings: &str, places: &[Option<&Path>]) -> Vec<Region> {
    let account: AccountLog = Arc::new(Mutex::new(Vec::new()));
    let members = members(u8::try_from(places.len()).unwrap());
    let opened = (0..).zip(places);
    let opened = opened.map(|(id, place)| Region::open(id, &members, *place, &account));
    let mut regions: Vec<Region> = opened.collect();
    let hub = &regions[0].engine;
    hub.set_hub(true);
    hub.create_database("d", None).await.unwrap();
    hub.set_hub(false);
    create_container(&regions[0], "c", settings).await;
    follow(&mut regions).await;
    regions
}

/// Lets the hub resolve conflicts. At other times no region is the hub, so that no conflict is
/// resolved by itself.
async fn decide(hub: &Region) {
    hub.engine.set_hub(true);
    hub.engine.resolve_conflicts().await.unwrap();
    hub.engine.set_hub(false);
}

async fn create_container(hub: &Region, id: &str, settings: &str) {
    let text = format!(r#"{{"id":"{id}","partitionKey":{{"paths":["/p"]}}{settings}}}"#);
    let new = NewContainer {
        definition: ContainerDefinition::parse(&json(&text)).unwrap(),
        throughput: None,
    };
    hub.engine.set_hub(true);
    let created = hub.engine.create_container(DatabaseAddress::Name("d"), new);
    created.await.unwrap();
    hub.engine.set_hub(false);
}

async fn register(hub: &Region, body: &str) {
    let new = NewScript {
        id: "resolve".to_owned(),
        body: body.to_owned(),
        trigger: None,
    };
    let kind = ScriptKind::StoredProcedure;
    hub.engine.set_hub(true);
    let registered = hub.engine.upsert_script(address("c"), kind, new);
    registered.await.unwrap();
    hub.engine.set_hub(false);
}

pub(super) async fn follow(regions: &mut [Region]) {
    for region in regions {
        region.follow_account(usize::MAX).await;
    }
}

async fn write(region: &Region, operation: Operation) -> String {
    let container = find(region, "c");
    let written = region
        .engine
        .write_item(&container, pk(r#"["a"]"#), operation, LEVEL);
    let body = written.await.result.unwrap().body.unwrap_or_default();
    String::from_utf8(body.to_vec()).unwrap()
}

fn read(region: &Region, id: &str) -> Option<String> {
    let container = find(region, "c");
    let read = region
        .engine
        .read_item(&container, &pk(r#"["a"]"#), id, None, LEVEL);
    let body = read.result.ok()?.body?;
    Some(String::from_utf8(body.to_vec()).unwrap())
}

fn conflicts(region: &Region) -> Vec<(ConflictOperation, String)> {
    let container = find(region, "c");
    let page = region
        .engine
        .conflicts(&container, &FeedScope::Container, 10, None)
        .unwrap();
    let listed = page.conflicts.into_iter().map(|conflict| {
        let text = String::from_utf8(conflict.content.to_vec()).unwrap();
        (conflict.operation, text)
    });
    listed.collect()
}

/// Brings everything everywhere.
pub(super) async fn exchange(regions: &mut [Region]) {
    loop {
        let mut is_done = true;
        for from in 0..regions.len() {
            let stream = StreamId::Region(regions[from].id);
            for to in 0..regions.len() {
                is_done &= !give(regions, from, to, stream).await;
            }
        }
        if is_done {
            return;
        }
    }
}

/// Copies the records of a stream from one region to another, as far as the receiver can apply
/// them.
pub(super) async fn give(regions: &mut [Region], from: usize, to: usize, stream: StreamId) -> bool {
    let after = regions[to].engine.version_vector().of(stream);
    let reader = regions[from].reader();
    let StreamRead::Records(records) = reader.records_after(stream, after, 1 << 20).unwrap() else {
        panic!("{stream} after {after} is gone");
    };
    let mut has_given = false;
    for record in records {
        if !regions[to]
            .engine
            .version_vector()
            .includes_all(&record.deps)
        {
            break;
        }
        regions[to]
            .engine
            .merge_records(vec![record])
            .await
            .unwrap();
        has_given = true;
    }
    has_given
}

const CUSTOM: &str = r#","conflictResolutionPolicy":{"mode":"Custom","conflictResolutionProcedure":"dbs/d/colls/c/sprocs/resolve"},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;

/// Adds the numbers of the conflicting versions, and records the arguments.
const RESOLVE: &str = r#"function (incoming, existing, isTombstone, others) {
    const c = getContext().getCollection();
    const all = [incoming, existing].concat(others).filter(item => item);
    const sum = all.reduce((sum, item) => sum + item.n, 0);
    const check = error => { if (error) throw error; };
    const note = { id: "told" + incoming.id, p: "a", u: "told" + incoming.id, isTombstone,
        count: all.length, existing: existing ? existing.n : null };
    if (!c.createDocument(c.getSelfLink(), note, check)) throw new Error("not taken");
    if (isTombstone) return;
    const item = { id: incoming.id, p: "a", u: incoming.u + "!", n: sum };
    if (!c.upsertDocument(c.getSelfLink(), item, check)) throw new Error("not taken");
}"#;

#[tokio::test]
async fn a_procedure_decides_once_for_all() {
    let mut regions = regions(CUSTOM, &[None, None, None]).await;
    register(&regions[0], RESOLVE).await;
    follow(&mut regions).await;
    for (region, n) in regions.iter().zip([1, 20, 300]) {
        let text = format!(r#"{{"id":"1","p":"a","u":"x","n":{n}}}"#);
        write(region, create(&text)).await;
    }
    exchange(&mut regions).await;
    // The last clock wins until the conflict is resolved.
    for region in &regions {
        let shown = read(region, "1").unwrap();
        assert_eq!(json(&shown).get("n"), &300.into());
        let lost = conflicts(region);
        assert_eq!(lost.len(), 2);
        assert!(
            lost.iter()
                .all(|(operation, _)| *operation == ConflictOperation::Create)
        );
        assert_eq!(lost, conflicts(&regions[0]));
    }
    regions[1].engine.resolve_conflicts().await.unwrap();
    assert_eq!(conflicts(&regions[1]).len(), 2, "only the hub decides");
    let before = regions[0].engine.version_vector();
    for _ in 0..3 {
        decide(&regions[0]).await;
    }
    let own = StreamId::Region(RegionId(0));
    let after = regions[0].engine.version_vector();
    assert_eq!(after.of(own), before.of(own).next(), "once, in one record");
    exchange(&mut regions).await;
    for region in &regions {
        assert_eq!(conflicts(region), []);
        let shown = read(region, "1");
        assert_eq!(json(shown.as_ref().unwrap()).get("n"), &321.into());
        assert_eq!(shown, read(&regions[0], "1"));
        let told = json(&read(region, "told1").unwrap());
        let told = ["count", "existing", "isTombstone"].map(|name| told.get(name).clone());
        assert_eq!(told, [3.into(), 300.into(), false.into()]);
    }
}

#[tokio::test]
async fn a_procedure_is_given_tombstones_and_unique_key_losers() {
    let mut regions = regions(CUSTOM, &[None, None]).await;
    register(&regions[0], RESOLVE).await;
    follow(&mut regions).await;
    write(&regions[0], create(r#"{"id":"1","p":"a","u":"x","n":1}"#)).await;
    exchange(&mut regions).await;
    write(&regions[0], delete("1")).await;
    write(
        &regions[1],
        replace("1", r#"{"id":"1","p":"a","u":"x","n":2}"#),
    )
    .await;
    // Two items claim the same unique value, and the item with the later clock holds it.
    write(&regions[0], create(r#"{"id":"2","p":"a","u":"y","n":4}"#)).await;
    write(&regions[1], create(r#"{"id":"3","p":"a","u":"y","n":8}"#)).await;
    exchange(&mut regions).await;
    for region in &regions {
        assert_eq!((read(region, "1"), read(region, "2")), (None, None));
        let kinds: Vec<_> = conflicts(region).iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [ConflictOperation::Replace, ConflictOperation::Create]
        );
    }
    decide(&regions[0]).await;
    exchange(&mut regions).await;
    for region in &regions {
        assert_eq!(conflicts(region), []);
        assert_eq!(read(region, "1"), None);
        let told = json(&read(region, "told1").unwrap());
        assert_eq!(told.get("isTombstone"), &true.into());
        assert_eq!(json(&read(region, "2").unwrap()).get("n"), &12.into());
        assert_eq!(json(&read(region, "3").unwrap()).get("n"), &8.into());
        let told = json(&read(region, "told2").unwrap());
        assert_eq!(told.get("existing"), &orrery_json::Value::Null);
    }
}

#[tokio::test]
async fn a_procedure_that_throws_or_is_missing_leaves_the_conflict() {
    let mut regions = regions(CUSTOM, &[None, None]).await;
    for region in &regions {
        let n = u32::from(region.id.0);
        let text = format!(r#"{{"id":"1","p":"a","u":"x","n":{n}}}"#);
        write(region, create(&text)).await;
    }
    exchange(&mut regions).await;
    decide(&regions[0]).await;
    assert_eq!(conflicts(&regions[0]).len(), 1, "there is no procedure");
    let note = r#"c.upsertDocument(c.getSelfLink(), { id: "x", p: "a", u: "z" }, () => {});"#;
    let throws = format!(
        r#"function () {{ const c = getContext().getCollection(); {note} throw new Error("no"); }}"#
    );
    register(&regions[0], &throws).await;
    let before = regions[0].engine.version_vector();
    for _ in 0..2 {
        decide(&regions[0]).await;
    }
    assert_eq!(regions[0].engine.version_vector(), before);
    assert_eq!(conflicts(&regions[0]).len(), 1, "it throws");
    assert_eq!(read(&regions[0], "x"), None);
    register(&regions[0], RESOLVE).await;
    decide(&regions[0]).await;
    assert_eq!(conflicts(&regions[0]), []);
}

#[tokio::test]
async fn only_the_hub_changes_the_catalogue() {
    let mut regions = regions(r#","defaultTtl":-1"#, &[None, None]).await;
    let refused = regions[1].engine.create_database("e", None).await;
    assert_eq!(refused.unwrap_err(), Failure::WriteForbidden);
    let hub = &regions[0].engine;
    hub.set_hub(true);
    write(&regions[1], create(r#"{"id":"1","p":"a"}"#)).await;
    exchange(&mut regions).await;
    let body = json(r#"{"id":"c","partitionKey":{"paths":["/p"]},"defaultTtl":5}"#);
    let hub = &regions[0].engine;
    let replaced = hub.replace_container(address("c"), &body, None);
    replaced.await.unwrap();
    follow(&mut regions).await;
    for region in &regions {
        assert_eq!(find(region, "c").default_ttl(), Some(5));
        region.advance(20);
        assert_eq!(read(region, "1"), None);
    }
    // Each region makes its own expiry entries; only the hub removes expired items.
    let (first, second) = (
        regions[0].engine.version_vector(),
        regions[1].engine.version_vector(),
    );
    regions[1].engine.remove_expired().await.unwrap();
    let own = |region| StreamId::Region(RegionId(region));
    assert_eq!(
        regions[1].engine.version_vector().of(own(1)),
        second.of(own(1))
    );
    let begun = Instant::now();
    while regions[0].engine.version_vector().of(own(0)) == first.of(own(0)) {
        assert!(begun.elapsed() < PATIENCE, "it is entered and removed");
        regions[0].engine.remove_expired().await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    exchange(&mut regions).await;
    for region in &regions {
        let items: u64 = find(region, "c").partitions[0].counters().items;
        assert_eq!(items, 0);
    }
}

#[tokio::test]
async fn records_of_a_deleted_container_are_skipped() {
    let mut regions = regions("", &[None, None]).await;
    write(&regions[1], create(r#"{"id":"1","p":"a"}"#)).await;
    exchange(&mut regions).await;
    let old = find(&regions[1], "c");
    let hub = &regions[0].engine;
    hub.set_hub(true);
    hub.delete_container(address("c"), None).await.unwrap();
    create_container(&regions[0], "e", "").await;
    let late =
        regions[1]
            .engine
            .write_item(&old, pk(r#"["a"]"#), create(r#"{"id":"2","p":"a"}"#), LEVEL);
    late.await.result.unwrap();
    exchange(&mut regions).await;
    let own = StreamId::Region(RegionId(1));
    assert_eq!(regions[0].engine.version_vector().of(own), Sequence(2));
    follow(&mut regions).await;
    let found = regions[1].engine.catalogue();
    assert!(found.container(address("c")).is_err());
    let late =
        regions[1]
            .engine
            .write_item(&old, pk(r#"["a"]"#), upsert(r#"{"id":"3","p":"a"}"#), LEVEL);
    assert_eq!(late.await.result.unwrap_err(), Failure::NOT_FOUND);
}

#[tokio::test]
async fn a_change_over_a_stale_catalogue_is_stale_in_every_region() {
    let mut regions = regions("", &[None, None]).await;
    // A change that another hub decided without knowledge of the container.
    let log = AccountLog::default();
    let other = Region::open(8, &members(1), None, &log);
    other.engine.set_hub(true);
    other.engine.create_database("d", None).await.unwrap();
    let stale = log.lock().unwrap()[0].clone();
    let last = regions[0].engine.version_vector().of(StreamId::Account);
    for region in &mut regions {
        let before = format!("{:?}", region.engine.catalogue().databases.keys());
        let outcome = region
            .engine
            .apply_account_record(last.next(), Some(stale.clone()));
        assert_eq!(outcome.await, Ok(AccountOutcome::Stale));
        let again = region
            .engine
            .apply_account_record(last.next(), Some(stale.clone()));
        assert_eq!(again.await, Ok(AccountOutcome::AlreadyApplied));
        let members = region.engine.apply_account_record(last.next().next(), None);
        assert_eq!(members.await, Ok(AccountOutcome::Stale));
        let after = format!("{:?}", region.engine.catalogue().databases.keys());
        assert_eq!(after, before);
        let applied = region.engine.version_vector().of(StreamId::Account);
        assert_eq!(applied, last.next().next());
    }
}

#[tokio::test]
async fn records_after_a_gap_are_refused() {
    let mut regions = regions("", &[None, None]).await;
    for id in 1..4 {
        write(&regions[0], create(&format!(r#"{{"id":"{id}","p":"a"}}"#))).await;
    }
    let stream = StreamId::Region(RegionId(0));
    let piece = regions[0]
        .reader()
        .records_after(stream, Sequence::ZERO, usize::MAX);
    let StreamRead::Records(records) = piece.unwrap() else {
        panic!("nothing was trimmed");
    };
    let mut gap = records.clone();
    gap.remove(1);
    let taken = regions[1].engine.merge_records(gap).await;
    let sequence = Sequence(3);
    assert_eq!(taken, Err(MergeError::Gap { stream, sequence }));
    assert_eq!(regions[1].engine.version_vector().of(stream), Sequence(1));
    let mut early = records[1].clone();
    early
        .deps
        .advance(StreamId::Region(RegionId(1)), Sequence(5));
    let taken = regions[1].engine.merge_records(vec![early]).await;
    assert!(matches!(taken, Err(MergeError::Gap { .. })));
    let mut damaged = records[1].clone();
    damaged.body = orrery_regions::RecordBody::Data(vec![1; 30].into());
    let taken = regions[1].engine.merge_records(vec![damaged]).await;
    assert!(matches!(taken, Err(MergeError::Refused { .. })));
    regions[1].engine.merge_records(records).await.unwrap();
    assert_eq!(read(&regions[1], "3"), read(&regions[0], "3"));
}

/// The resource ids of all items, without duplicates.
fn rids(region: &Region, ids: &BTreeSet<String>) -> BTreeSet<String> {
    let rid = |id: &String| {
        json(&read(region, id).unwrap())
            .get("_rid")
            .as_str()
            .map(str::to_owned)
    };
    ids.iter().map(|id| rid(id).unwrap()).collect()
}

#[tokio::test]
async fn a_region_installs_a_snapshot_and_continues() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for places in [
        [None, None],
        directories.each_ref().map(|one| Some(one.path())),
    ] {
        let mut regions = regions(CUSTOM, &[None, None]).await;
        let mut ids = BTreeSet::new();
        let mut number = 0;
        let mut add = async |region: &Region, ids: &mut BTreeSet<String>| {
            number += 1;
            let id = number.to_string();
            let text = format!(r#"{{"id":"{id}","p":"a","u":"{id}"}}"#);
            write(region, create(&text)).await;
            ids.insert(id);
        };
        for _ in 0..3 {
            add(&regions[0], &mut ids).await;
            add(&regions[1], &mut ids).await;
        }
        write(&regions[0], create(r#"{"id":"c","p":"a","u":"c"}"#)).await;
        write(&regions[1], create(r#"{"id":"c","p":"a","u":"d"}"#)).await;
        exchange(&mut regions).await;
        // Written by the second region and not yet merged by the first.
        add(&regions[1], &mut ids).await;
        let all = members(3);
        let third = regions[0].fill(2, &all, places[0]);
        regions.push(third);
        add(&regions[2], &mut ids).await;
        // The second region loses its state and keeps its log.
        let again = regions[0].fill(1, &all, places[1]);
        let mut lost = std::mem::replace(&mut regions[1], again);
        let own = StreamId::Region(RegionId(1));
        let has = regions[1].engine.version_vector().of(own);
        let piece = lost.reader().records_after(own, has, usize::MAX);
        let StreamRead::Records(records) = piece.unwrap() else {
            panic!("nothing was trimmed");
        };
        assert_eq!(records.len(), 1);
        let progress: VersionVector = regions[1].engine.merge_records(records).await.unwrap();
        assert_eq!(progress.of(own), has.next());
        lost.close().await;
        add(&regions[1], &mut ids).await;
        // The copy has no records from before its snapshot; a region that lacks such records asks
        // the stream's own region.
        for (from, to, of) in [(1, 0, 1), (0, 2, 1), (2, 0, 2), (0, 1, 2)] {
            give(&mut regions, from, to, StreamId::Region(RegionId(of))).await;
        }
        for region in &regions {
            assert_eq!(
                region.engine.version_vector(),
                regions[0].engine.version_vector()
            );
            assert_eq!(
                rids(region, &ids).len(),
                ids.len(),
                "a resource id was given twice"
            );
            assert_eq!(rids(region, &ids), rids(&regions[0], &ids));
            assert_eq!(conflicts(region), conflicts(&regions[0]));
            assert_eq!(conflicts(region).len(), 1);
        }
        for region in regions {
            region.close().await;
        }
        for directory in places.into_iter().flatten() {
            let report = check_directory(directory).unwrap();
            assert_eq!(report.problems, Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn a_follower_of_a_region_goes_on_as_that_region() {
    let mut regions = regions("", &[None, None]).await;
    let follower = regions[0].follower();
    let mut subscription = regions[0].engine.subscribe(Position::ZERO, u64::MAX);
    write(&regions[1], create(r#"{"id":"1","p":"a"}"#)).await;
    write(&regions[0], create(r#"{"id":"2","p":"a"}"#)).await;
    exchange(&mut regions).await;
    write(&regions[0], delete("2")).await;
    let begins = follower.applied();
    let piece = subscription.records_after(begins, usize::MAX).unwrap();
    let SubscriptionRead::Records(records) = piece else {
        panic!("nothing was trimmed");
    };
    follower.append_and_apply(records).await.unwrap();
    assert_eq!(
        follower.version_vector(),
        regions[0].engine.version_vector()
    );
    follower.promote().await.unwrap();
    let container = {
        let catalogue = follower.catalogue();
        Arc::clone(&catalogue.container(address("c")).unwrap().1.container)
    };
    let text = create(r#"{"id":"3","p":"a"}"#);
    let written = follower.write_item(&container, pk(r#"["a"]"#), text, LEVEL);
    written.await.result.unwrap();
    let own = StreamId::Region(RegionId(0));
    let last = regions[0].engine.version_vector().of(own);
    assert_eq!(follower.version_vector().of(own), last.next());
}

#[tokio::test]
async fn a_region_is_not_opened_as_another() {
    let directory = tempfile::tempdir().unwrap();
    let regions = regions("", &[Some(directory.path())]).await;
    for region in regions {
        region.close().await;
    }
    for other in [None, Some(RegionId(1))] {
        let opened = crate::multi_write::region::open_as(other, directory.path());
        assert!(matches!(opened, Err(StoreError::OtherRegion { .. })));
    }
    assert!(crate::multi_write::region::open_as(Some(RegionId(0)), directory.path()).is_ok());
}

#[tokio::test]
async fn records_gone_from_memory_are_reported_trimmed() {
    let regions = regions("", &[None]).await;
    let engine = &regions[0].engine;
    let stream = StreamId::Region(RegionId(0));
    for id in 0..5 {
        write(&regions[0], create(&format!(r#"{{"id":"{id}","p":"a"}}"#))).await;
    }
    // A later reader gets the tail that the first reader keeps, and no records before it.
    let mut reader = engine.stream_reader(u64::MAX).unwrap();
    let piece = reader
        .records_after(stream, Sequence(2), usize::MAX)
        .unwrap();
    let StreamRead::Records(records) = piece else {
        panic!("the first reader keeps them");
    };
    assert_eq!(records.len(), 3);
    drop(reader);
    let [region] = <[Region; 1]>::try_from(regions).ok().unwrap();
    let engine = Arc::clone(&region.engine);
    drop(region);
    let mut late = engine.stream_reader(u64::MAX).unwrap();
    assert_eq!(
        late.records_after(stream, Sequence(2), usize::MAX).unwrap(),
        StreamRead::Trimmed
    );
    let progress = engine.version_vector();
    assert_eq!(late.bases(&progress).unwrap(), progress);
    assert_eq!(
        late.records_after(stream, Sequence(5), usize::MAX).unwrap(),
        StreamRead::Records(Vec::new())
    );
}

#[tokio::test]
async fn new_records_are_read_after_acknowledged_ones_are_dropped() {
    let regions = regions("", &[None]).await;
    let [region] = <[Region; 1]>::try_from(regions).ok().unwrap();
    let engine = Arc::clone(&region.engine);
    // It would keep everything.
    drop(region);
    let container = {
        let catalogue = engine.catalogue();
        Arc::clone(&catalogue.container(address("c")).unwrap().1.container)
    };
    let own = StreamId::Region(RegionId(0));
    let mut reader = engine.stream_reader(u64::MAX).unwrap();
    for id in 0..6 {
        let text = create(&format!(r#"{{"id":"{id}","p":"a"}}"#));
        let written = engine.write_item(&container, pk(r#"["a"]"#), text, LEVEL);
        written.await.result.unwrap();
        let last = engine.version_vector().of(own);
        let before = Sequence(last.0 - 1);
        let piece = reader.records_after(own, before, usize::MAX).unwrap();
        let StreamRead::Records(records) = piece else {
            panic!("only what everybody has is gone");
        };
        let sequences: Vec<_> = records.iter().map(|record| record.sequence).collect();
        assert_eq!(sequences, [last]);
        reader.acknowledge(&engine.version_vector()).unwrap();
    }
    let old = reader
        .records_after(own, Sequence::ZERO, usize::MAX)
        .unwrap();
    assert_eq!(old, StreamRead::Trimmed);
}
