//! Pages and their continuation tokens.

use orrery_engine::FeedScope;
use orrery_json::Value;
use orrery_model::{Failure, RangeId};

use crate::support::{World, create, delete, json, pk};

fn id(item: &str) -> String {
    json(item).get("id").as_str().unwrap().to_owned()
}

async fn fill(world: &World, container: &std::sync::Arc<orrery_engine::Container>, ids: &[u32]) {
    for number in ids {
        let key = format!(r#"["k{number}"]"#);
        let text = format!(r#"{{"id":"{number}","p":"k{number}"}}"#);
        world.ok(container, &key, create(&text)).await;
    }
}

#[tokio::test]
async fn any_page_size_gives_the_same_items_in_the_same_order() {
    let world = World::in_memory().await;
    let definition = r#"{"id":"c","partitionKey":{"paths":["/p"],"version":2}}"#;
    let container = world.create(definition, 18_000).await;
    assert_eq!(container.partitions.len(), 3);
    fill(&world, &container, &(0..40).collect::<Vec<_>>()).await;
    let all = world.all(&container, FeedScope::Container, 1000).await;
    assert_eq!(all.len(), 40);
    for size in [1, 2, 3, 7, 39, 40] {
        assert_eq!(
            world.all(&container, FeedScope::Container, size).await,
            all,
            "{size}"
        );
    }
    let mut by_range = Vec::new();
    for partition in &container.partitions {
        let items = world
            .all(&container, FeedScope::Range(partition.id, None), 3)
            .await;
        assert_eq!(items.len() as u64, partition.counters().items);
        by_range.extend(items);
    }
    assert_eq!(by_range, all);
    let unknown = world
        .page(&container, FeedScope::Range(RangeId(9), None), 3, None)
        .await;
    assert!(matches!(unknown, Err(Failure::Gone(_))));
}

#[tokio::test]
async fn a_prefix_of_a_hierarchical_key_is_a_scope() {
    let world = World::in_memory().await;
    let paths = r#"{"paths":["/p","/q"],"kind":"MultiHash","version":2}"#;
    let container = world
        .create(&format!(r#"{{"id":"c","partitionKey":{paths}}}"#), 12_000)
        .await;
    for (p, q) in [("a", "x"), ("a", "y"), ("b", "x"), ("aa", "x")] {
        let text = format!(r#"{{"id":"1","p":"{p}","q":"{q}"}}"#);
        world
            .ok(&container, &format!(r#"["{p}","{q}"]"#), create(&text))
            .await;
    }
    for (key, expected) in [
        (r#"["a"]"#, 2),
        (r#"["b"]"#, 1),
        (r#"["a","x"]"#, 1),
        (r#"["c"]"#, 0),
    ] {
        let items = world.all(&container, FeedScope::Key(pk(key)), 1).await;
        assert_eq!(items.len(), expected, "{key}");
    }
}

#[tokio::test]
async fn a_token_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::at(directory.path()).await;
    let container = world.container("c", "").await;
    fill(&world, &container, &(0..10).collect::<Vec<_>>()).await;
    let all = world.all(&container, FeedScope::Container, 100).await;
    let (first, token) = world
        .page(&container, FeedScope::Container, 4, None)
        .await
        .unwrap();
    let world = world.reopen().await;
    let (rest, end) = world
        .page(&world.find("c"), FeedScope::Container, 100, token)
        .await
        .unwrap();
    assert_eq!([first, rest].concat(), all);
    assert_eq!(end, None);
    world.close().await;
}

#[tokio::test]
async fn writes_between_pages_neither_repeat_nor_lose_what_stays() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    fill(&world, &container, &(0..30).collect::<Vec<_>>()).await;
    let order: Vec<String> = world
        .all(&container, FeedScope::Container, 100)
        .await
        .iter()
        .map(|item| id(item))
        .collect();

    let (mut seen, mut token) = (Vec::new(), None);
    let mut round = 0;
    loop {
        let (items, next) = world
            .page(&container, FeedScope::Container, 4, token)
            .await
            .unwrap();
        seen.extend(items.iter().map(|item| id(item)));
        token = next;
        if token.is_none() {
            break;
        }
        // The item at which the token stands is deleted, and so is a returned item; new items are
        // created.
        if round == 0 {
            for gone in [&order[4], &order[0]] {
                world
                    .ok(&container, &format!(r#"["k{gone}"]"#), delete(gone))
                    .await;
            }
        }
        fill(&world, &container, &[100 + round]).await;
        round += 1;
    }
    let old: Vec<String> = seen
        .iter()
        .filter(|id| id.parse::<u32>().unwrap() < 100)
        .cloned()
        .collect();
    let mut expected = order.clone();
    expected.remove(4);
    assert_eq!(old, expected);
    let mut distinct = seen.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), seen.len());
}

#[tokio::test]
async fn tokens_of_elsewhere_are_refused() {
    let world = World::in_memory().await;
    let (one, two) = (
        world.container("one", "").await,
        world.container("two", "").await,
    );
    fill(&world, &one, &[1, 2, 3]).await;
    let (_, token) = world
        .page(&one, FeedScope::Container, 1, None)
        .await
        .unwrap();
    let token = token.unwrap();
    for (container, token) in [
        (&two, token.clone()),
        (&one, token[1..].to_owned()),
        (&one, String::new()),
    ] {
        let page = world
            .page(container, FeedScope::Container, 1, Some(token.clone()))
            .await;
        assert_eq!(page.unwrap_err(), Failure::InvalidContinuation, "{token}");
    }
    world.delete_container("one").await;
    let again = world.container("one", "").await;
    let page = world
        .page(&again, FeedScope::Container, 1, Some(token))
        .await;
    assert_eq!(page.unwrap_err(), Failure::InvalidContinuation);
}

#[tokio::test]
async fn a_page_ends_at_four_megabytes() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let filler = "x".repeat(1_500_000);
    for number in 0..5 {
        let text = format!(r#"{{"id":"{number}","p":"a","x":"{filler}"}}"#);
        world.ok(&container, r#"["a"]"#, create(&text)).await;
    }
    let (page, token) = world
        .page(&container, FeedScope::Container, 100, None)
        .await
        .unwrap();
    assert_eq!((page.len(), token.is_some()), (2, true));
    let all = world.all(&container, FeedScope::Container, 100).await;
    let ids: Vec<Value> = all
        .iter()
        .map(|item| json(item).get("id").clone())
        .collect();
    assert_eq!(Value::Array(ids).to_string(), r#"["0","1","2","3","4"]"#);
}
