//! Scripts as resources of a container.

use orrery_engine::{NewScript, ScriptKind};
use orrery_model::{ConflictKind, ContainerAddress, Failure, Precondition};

use super::{address, script};
use crate::support::World;

const KIND: ScriptKind = ScriptKind::StoredProcedure;

#[tokio::test]
async fn scripts_are_created_replaced_listed_and_deleted() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let engine = &world.engine;
    let first = world.register(KIND, "b", "one").await;
    world.register(ScriptKind::Function, "b", "other").await;
    world.register(KIND, "a", "two").await;
    let ids = |kind| {
        let scripts = engine.scripts(address(), kind).unwrap();
        scripts
            .iter()
            .map(|script| script.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(KIND), ["a", "b"]);
    assert_eq!(ids(ScriptKind::Function), ["b"]);
    assert_eq!(ids(ScriptKind::Trigger), [""; 0]);

    let again = engine
        .create_script(address(), KIND, script("b", "x"))
        .await;
    assert_eq!(again.unwrap_err(), Failure::Conflict(ConflictKind::Id));

    let stale = Precondition::Etag("\"x\"".to_owned());
    let new = script("b", "three");
    let refused = engine.replace_script(address(), KIND, "b", new.clone(), Some(&stale));
    assert_eq!(refused.await.unwrap_err(), Failure::PreconditionFailed);
    let current = Precondition::Etag(first.etag.as_str().to_owned());
    let replaced = engine.replace_script(address(), KIND, "b", new, Some(&current));
    let replaced = replaced.await.unwrap();
    assert_eq!(replaced.rid, first.rid);
    assert_ne!(replaced.etag, first.etag);

    // Addresses the script by resource ids and renames it.
    let by_rid = ContainerAddress::Rid(container.rid);
    let rid = first.rid.to_string();
    assert_eq!(engine.script(by_rid, KIND, &rid).unwrap().body, "three");
    let renamed = engine.replace_script(by_rid, KIND, &rid, script("c", "four"), None);
    assert_eq!(renamed.await.unwrap().id, "c");
    assert_eq!(ids(KIND), ["a", "c"]);

    let (_, is_new) = engine
        .upsert_script(address(), KIND, script("c", "five"))
        .await
        .unwrap();
    assert!(!is_new);
    engine
        .delete_script(address(), KIND, "c", None)
        .await
        .unwrap();
    let gone = engine.script(address(), KIND, "c");
    assert_eq!(gone.unwrap_err(), Failure::NOT_FOUND);
}

#[tokio::test]
async fn invalid_scripts_are_refused_with_reasons() {
    let world = World::in_memory().await;
    let owner = world.engine.scripts(address(), KIND);
    assert_eq!(owner.unwrap_err(), Failure::OWNER_NOT_FOUND);
    world.container("c", "").await;
    let cases = [
        (KIND, script("a", ""), Failure::MissingProperty("body")),
        (
            ScriptKind::Trigger,
            script("a", "x"),
            Failure::MissingProperty("triggerType"),
        ),
    ];
    for (kind, new, expected) in cases {
        let refused = world.engine.create_script(address(), kind, new).await;
        assert_eq!(refused.unwrap_err(), expected);
    }
    for number in 0..ScriptKind::Trigger.count_max() {
        let id = number.to_string();
        world.register_trigger(&id, "Pre", "All", "x").await;
    }
    let new = NewScript {
        trigger: orrery_engine::TriggerSettings::read("post", "delete"),
        ..script("one more", "x")
    };
    let refused = world
        .engine
        .create_script(address(), ScriptKind::Trigger, new)
        .await;
    assert!(matches!(refused, Err(Failure::Forbidden(_))), "{refused:?}");
}
