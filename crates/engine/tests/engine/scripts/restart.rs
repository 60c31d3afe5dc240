//! Scripts and their writes after a restart.

use orrery_engine::{ScriptKind, TriggerTiming};
use orrery_model::{ContainerAddress, Failure};
use tempfile::TempDir;

use super::{KEY, address};
use crate::support::{World, create, property, text_property};

const KIND: ScriptKind = ScriptKind::StoredProcedure;

#[tokio::test]
async fn scripts_stay_and_go_with_their_container() {
    let directory = TempDir::new().unwrap();
    let world = World::at(directory.path()).await;
    let container = world.container("c", "").await;
    let before = world.register(KIND, "s", "function () {}").await;
    world.register_trigger("t", "pre", "all", "x").await;
    world.register(ScriptKind::Function, "f", "y").await;
    world
        .engine
        .delete_script(address(), ScriptKind::Function, "f", None)
        .await
        .unwrap();
    let world = world.reopen().await;
    let after = world.engine.script(address(), KIND, "s").unwrap();
    assert_eq!(
        (after.rid, &after.etag, &after.body),
        (before.rid, &before.etag, &before.body)
    );
    let trigger = world
        .engine
        .script(address(), ScriptKind::Trigger, "t")
        .unwrap();
    let settings = trigger.trigger.as_ref().unwrap();
    assert_eq!(settings.timing, TriggerTiming::Pre);
    assert_eq!(
        (&settings.timing_text[..], &settings.operation_text[..]),
        ("pre", "all")
    );
    assert!(
        world
            .engine
            .scripts(address(), ScriptKind::Function)
            .unwrap()
            .is_empty()
    );
    // A number is not given twice.
    let next = world.register(KIND, "next", "x").await;
    assert_ne!(next.rid.counter(), before.rid.counter());

    world.delete_container("c").await;
    let world = world.reopen().await;
    let gone = world
        .engine
        .script(ContainerAddress::Rid(container.rid), KIND, "s");
    assert_eq!(gone.unwrap_err(), Failure::OWNER_NOT_FOUND);
    world.container("c", "").await;
    assert!(world.engine.scripts(address(), KIND).unwrap().is_empty());
    world.close().await;
}

#[tokio::test]
async fn a_crash_keeps_what_a_run_committed_and_nothing_else() {
    let directory = TempDir::new().unwrap();
    let world = World::at(directory.path()).await;
    let unique = r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;
    let container = world.container("c", unique).await;
    world
        .ok(&container, KEY, create(r#"{"id":"counter","p":"a","n":0}"#))
        .await;
    let good = "function () {
        __.createDocument(__.getSelfLink(), {id: '1', p: 'a', u: 1});
        __.readDocument(__.getAltLink() + '/docs/counter', (error, doc) => {
            doc.n += 1;
            __.replaceDocument(doc._self, doc, () => {
                doc.n += 1;
                __.replaceDocument(doc._self, doc);
            });
        });
    }";
    world.run(&container, good).await.unwrap();
    let bad = "function () {
        __.createDocument(__.getSelfLink(), {id: '2', p: 'a', u: 2}, () => { throw 'no' });
    }";
    world.run(&container, bad).await.unwrap_err();
    let before = container.partitions[0].counters();
    drop(container);
    let world = world.abandon().await;
    let container = world.find("c");
    assert_eq!(container.partitions[0].counters(), before);
    let counter = world.read(&container, KEY, "counter").unwrap();
    assert_eq!(property(&counter, "n"), 2_i64.into());
    assert_eq!(
        world.read(&container, KEY, "2").unwrap_err(),
        Failure::NOT_FOUND
    );
    let first = text_property(&world.read(&container, KEY, "1").unwrap(), "_rid");
    // The unique value is still claimed, and the next item gets another resource id.
    world
        .refused(&container, KEY, create(r#"{"id":"3","p":"a","u":1}"#))
        .await;
    world
        .run(
            &container,
            "function () { __.createDocument(__.getSelfLink(), {id: '4', p: 'a', u: 4}) }",
        )
        .await
        .unwrap();
    let fourth = text_property(&world.read(&container, KEY, "4").unwrap(), "_rid");
    assert_ne!(first, fourth);
    drop(container);
    world.close().await;
    let report = orrery_engine::check_directory(directory.path()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}
