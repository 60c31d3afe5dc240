//! Time to live: visibility and removal of expired items.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_engine::{Container, FeedScope};
use orrery_model::{ConflictKind, Failure};

use crate::support::{PATIENCE, World, before_any_sweep, create, delete, replace, text_property};

const KEY: &str = r#"["a"]"#;

/// Items held, visible or not.
fn held(container: &Container) -> u64 {
    container
        .partitions
        .iter()
        .map(|partition| partition.counters().items)
        .sum()
}

async fn visible(world: &World, container: &Arc<Container>, id: &str) -> bool {
    let by_read = world.read(container, KEY, id).is_ok();
    let items = world.all(container, FeedScope::Container, 10).await;
    let by_feed = items
        .iter()
        .any(|item| item.contains(&format!(r#""id":"{id}""#)));
    assert_eq!(by_read, by_feed, "{id}");
    by_read
}

#[tokio::test]
async fn item_ttl_and_container_default_combine() {
    // Container's default, item's own, seconds for which the item lives.
    let cases = [
        ("", "", None),
        ("", r#","ttl":-1"#, None),
        ("", r#","ttl":5"#, None),
        (r#","defaultTtl":-1"#, "", None),
        (r#","defaultTtl":-1"#, r#","ttl":-1"#, None),
        (r#","defaultTtl":-1"#, r#","ttl":5"#, Some(5)),
        (r#","defaultTtl":10"#, "", Some(10)),
        (r#","defaultTtl":10"#, r#","ttl":-1"#, None),
        (r#","defaultTtl":10"#, r#","ttl":5"#, Some(5)),
        (r#","defaultTtl":10"#, r#","ttl":20"#, Some(20)),
    ];
    let world = World::in_memory().await;
    for (number, (settings, own, lifetime)) in cases.into_iter().enumerate() {
        let container = world.container(&format!("c{number}"), settings).await;
        world
            .ok(
                &container,
                KEY,
                create(&format!(r#"{{"id":"1","p":"a"{own}}}"#)),
            )
            .await;
        let case = format!("{settings} {own}");
        let Some(seconds) = lifetime else {
            world.advance(1_000_000);
            assert!(visible(&world, &container, "1").await, "{case}");
            continue;
        };
        world.advance(seconds - 1);
        assert!(visible(&world, &container, "1").await, "{case}");
        world.advance(1);
        assert!(!visible(&world, &container, "1").await, "{case}");
        assert_eq!(
            world.refused(&container, KEY, delete("1")).await,
            Failure::NOT_FOUND,
            "{case}"
        );
    }
}

#[tokio::test]
async fn an_invalid_ttl_is_refused() {
    let world = World::in_memory().await;
    let off = world.container("off", "").await;
    let on = world.container("on", r#","defaultTtl":-1"#).await;
    for ttl in ["0", "null", "-10", r#""5""#, "1.5", "2147483648"] {
        let item = format!(r#"{{"id":"1","p":"a","ttl":{ttl}}}"#);
        for container in [&on, &off] {
            let failure = world.refused(container, KEY, create(&item)).await;
            assert!(
                matches!(failure, Failure::BadRequest(_)),
                "{ttl}: {failure}"
            );
        }
    }
}

#[tokio::test]
async fn any_write_starts_the_time_again() {
    let world = World::in_memory().await;
    let container = world.container("c", r#","defaultTtl":10"#).await;
    world
        .ok(&container, KEY, create(r#"{"id":"1","p":"a"}"#))
        .await;
    for _ in 0..3 {
        world.advance(9);
        world
            .ok(&container, KEY, replace("1", r#"{"id":"1","p":"a"}"#))
            .await;
        world.engine.remove_expired().await.unwrap();
    }
    world.advance(9);
    assert!(visible(&world, &container, "1").await);
    world.advance(1);
    assert!(!visible(&world, &container, "1").await);
}

#[tokio::test]
async fn an_expired_item_makes_room_at_once_and_is_removed_later() {
    let (world, container, counts) = before_any_sweep(async || {
        let world = World::in_memory().await;
        let container = world.container("c", r#","defaultTtl":10"#).await;
        let first = world
            .ok(&container, KEY, create(r#"{"id":"1","p":"a"}"#))
            .await;
        world
            .ok(&container, KEY, create(r#"{"id":"2","p":"a"}"#))
            .await;
        world.advance(10);
        let second = world
            .ok(&container, KEY, create(r#"{"id":"1","p":"a"}"#))
            .await;
        assert_ne!(
            text_property(&first, "_rid"),
            text_property(&second, "_rid")
        );
        assert_eq!(
            world
                .refused(&container, KEY, create(r#"{"id":"1","p":"a"}"#))
                .await,
            Failure::Conflict(ConflictKind::Id)
        );
        let counts = || (held(&container), container.partitions[0].counters().lsn.0);
        let before = counts();
        world.engine.remove_expired().await.unwrap();
        let counts = (before, counts());
        (world, container, counts)
    })
    .await;
    let ((held_before, lsn), after) = counts;
    assert_eq!(held_before, 2);
    assert_eq!(after, (1, lsn + 1));
    assert!(visible(&world, &container, "1").await);

    world.advance(10);
    world.engine.remove_expired().await.unwrap();
    let counters = container.partitions[0].counters();
    assert_eq!((counters.items, counters.bytes), (0, 0));
}

#[tokio::test]
async fn a_changed_default_applies_to_existing_items() {
    let world = World::in_memory().await;
    world.container("c", r#","defaultTtl":10"#).await;
    world
        .ok(&world.find("c"), KEY, create(r#"{"id":"1","p":"a"}"#))
        .await;

    let longer = world.set_default_ttl("c", Some(100)).await;
    world.advance(50);
    world.engine.remove_expired().await.unwrap();
    assert!(visible(&world, &longer, "1").await);

    let shorter = world.set_default_ttl("c", Some(20)).await;
    assert!(!visible(&world, &shorter, "1").await);
    until_held(&world, &shorter, 0).await;

    world
        .ok(&shorter, KEY, create(r#"{"id":"1","p":"a"}"#))
        .await;
    let off = world.set_default_ttl("c", None).await;
    world.advance(1_000);
    world.engine.remove_expired().await.unwrap();
    assert!(visible(&world, &off, "1").await);
}

/// Waits until the container holds this many items. Expiry entries are made in the background.
async fn until_held(world: &World, container: &Container, count: u64) {
    let begun = Instant::now();
    loop {
        world.engine.remove_expired().await.unwrap();
        let held = held(container);
        if held == count {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{held} instead of {count}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn ttl_turned_on_later_reaches_items_that_were_there() {
    let world = World::in_memory().await;
    let off = world.container("c", "").await;
    world
        .ok(&off, KEY, create(r#"{"id":"default","p":"a"}"#))
        .await;
    world
        .ok(&off, KEY, create(r#"{"id":"own","p":"a","ttl":50}"#))
        .await;
    world
        .ok(&off, KEY, create(r#"{"id":"never","p":"a","ttl":-1}"#))
        .await;
    world.advance(30);
    let on = world.set_default_ttl("c", Some(20)).await;
    for (id, expected) in [("default", false), ("own", true), ("never", true)] {
        assert_eq!(visible(&world, &on, id).await, expected, "{id}");
    }
    world.advance(20);
    assert!(!visible(&world, &on, "own").await);
    until_held(&world, &on, 1).await;
    assert!(visible(&world, &on, "never").await);
}

#[tokio::test]
async fn expired_items_stay_gone_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::at(directory.path()).await;
    let container = world.container("c", r#","defaultTtl":10"#).await;
    world
        .ok(&container, KEY, create(r#"{"id":"1","p":"a"}"#))
        .await;
    world
        .ok(&container, KEY, create(r#"{"id":"2","p":"a","ttl":100}"#))
        .await;
    world.advance(10);
    let world = world.reopen().await;
    let container = world.find("c");
    assert!(!visible(&world, &container, "1").await);
    world.engine.remove_expired().await.unwrap();
    assert_eq!(held(&container), 1);
    let world = world.abandon().await;
    assert_eq!(held(&world.find("c")), 1);
    assert!(visible(&world, &world.find("c"), "2").await);
    world.close().await;
}
