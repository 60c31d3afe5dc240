//! Single runs of a procedure: atomic writes over one snapshot of a logical partition.

use std::time::Instant;

use orrery_engine::{ProcedureRequest, ProcedureResponse, ScriptKind, ThroughputMode};
use orrery_keys::PartitionKey;
use orrery_model::{Charge, ConsistencyLevel, Failure};

use super::KEY;
use crate::support::{PATIENCE, TestOptions, World, create, pk, property, text_property};

/// A script that creates `1` and `2` and then runs `rest`.
fn after_two_creates(rest: &str) -> String {
    format!(
        "function () {{
            const c = getContext().getCollection(), link = c.getSelfLink();
            c.createDocument(link, {{id: '1', p: 'a', u: 1}});
            c.createDocument(link, {{id: '2', p: 'a', u: 2}});
            {rest}
        }}"
    )
}

#[tokio::test]
async fn a_run_that_fails_leaves_nothing_behind() {
    let world = World::in_memory().await;
    let unique = r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;
    let container = world.container("c", unique).await;
    world
        .ok(&container, KEY, create(r#"{"id":"old","p":"a","u":9}"#))
        .await;
    let before = container.partitions[0].counters();
    let old = "c.getAltLink() + '/docs/old'";
    let cases = [
        ("throw new Error('no')".to_owned(), None),
        ("c.readDocument(link + 'docs/none')".to_owned(), Some(404)),
        ("getContext().abort(new Error('enough'))".to_owned(), None),
        (
            "c.createDocument(link, {id: 'old', p: 'a'})".to_owned(),
            Some(409),
        ),
        (
            "c.createDocument(link, {id: '3', p: 'a', u: 1})".to_owned(),
            Some(409),
        ),
        (
            "c.createDocument(link, {id: '3', p: 'b'})".to_owned(),
            Some(400),
        ),
        (format!("c.deleteDocument({old}, {{etag: 'x'}})"), Some(412)),
        (
            "c.createDocument(link, {id: '3', p: 'a'}, () => { throw 'late' })".to_owned(),
            None,
        ),
        ("(function f() { f() })()".to_owned(), None),
    ];
    for (rest, number) in cases {
        let failure = world
            .run(&container, &after_two_creates(&rest))
            .await
            .unwrap_err();
        assert!(
            matches!(&failure, Failure::Script { number: found, .. } if *found == number),
            "{rest}: {failure:?}"
        );
        assert_eq!(container.partitions[0].counters(), before, "{rest}");
    }
    let endless = world
        .run(&container, &after_two_creates("for (;;) {}"))
        .await;
    assert_eq!(endless.unwrap_err(), Failure::Timeout);
    let broken = world.run(&container, "function () {").await;
    assert!(
        matches!(broken, Err(Failure::ScriptCompile(_))),
        "{broken:?}"
    );
    assert_eq!(container.partitions[0].counters(), before);
    assert_eq!(
        world.read(&container, KEY, "1").unwrap_err(),
        Failure::NOT_FOUND
    );
}

#[tokio::test]
async fn a_run_that_ends_well_is_one_record() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let before = container.partitions[0].counters();
    let source = after_two_creates(
        "c.deleteDocument(c.getAltLink() + '/docs/1');
         c.upsertDocument(link, {id: '2', p: 'a', n: 2});
         c.createDocument(link, {p: 'a'}, (error, doc) => __.response.setBody(doc.id.length));",
    );
    let body = world.run(&container, &source).await.unwrap();
    assert_eq!(body.as_deref(), Some("36"));
    let after = container.partitions[0].counters();
    assert_eq!((after.lsn.0, after.items), (before.lsn.0 + 1, 2));
    let second = world.read(&container, KEY, "2").unwrap();
    assert_eq!(property(&second, "n"), 2_i64.into());

    // Resource ids are unique among items of scripts and of clients.
    world
        .ok(&container, KEY, create(r#"{"id":"plain","p":"a"}"#))
        .await;
    world
        .run(
            &container,
            "function () { __.createDocument(__.getSelfLink(), {id: 's', p: 'a'}) }",
        )
        .await
        .unwrap();
    let rid = |id| text_property(&world.read(&container, KEY, id).unwrap(), "_rid");
    let mut rids = [rid("2"), rid("plain"), rid("s")];
    rids.sort();
    assert!(rids[0] != rids[1] && rids[1] != rids[2], "{rids:?}");
}

#[tokio::test]
async fn an_operation_that_fails_and_is_caught_has_no_effect() {
    let world = World::in_memory().await;
    let unique = r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;
    let container = world.container("c", unique).await;
    let rest = "const seen = [];
        const note = error => seen.push(error ? error.number : 0);
        c.createDocument(link, {id: '3', p: 'a', u: 2}, note);
        c.replaceDocument(c.getAltLink() + '/docs/1', {id: '1', p: 'a', u: 2}, note);
        c.replaceDocument(c.getAltLink() + '/docs/1', {id: '2', p: 'a', u: 5}, note);
        c.createDocument(link, {id: '4', p: 'a', u: 4}, error => {
            note(error);
            __.response.setBody(seen);
        });";
    let body = world
        .run(&container, &after_two_creates(rest))
        .await
        .unwrap();
    assert_eq!(body.as_deref(), Some("[409,409,409,0]"));
    assert_eq!(container.partitions[0].counters().items, 3);
    let first = world.read(&container, KEY, "1").unwrap();
    assert_eq!(property(&first, "u"), 1_i64.into());
    // What was refused holds no value.
    world
        .ok(&container, KEY, create(r#"{"id":"5","p":"a","u":5}"#))
        .await;
}

#[tokio::test]
async fn a_run_sees_its_own_writes_and_no_other_partition() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    for (id, n) in [("1", 1), ("2", 2), ("3", 3)] {
        let text = format!(r#"{{"id":"{id}","p":"a","n":{n}}}"#);
        world.ok(&container, KEY, create(&text)).await;
    }
    world
        .ok(
            &container,
            r#"["b"]"#,
            create(r#"{"id":"b","p":"b","n":7}"#),
        )
        .await;
    let ids = "(error, docs, options) => {
        if (error) throw error;
        seen.push(docs.map(doc => doc.id || doc));
        next && next(docs, options);
    }";
    let body = format!(
        "function () {{
            const seen = [], link = __.getSelfLink(), doc = id => __.getAltLink() + '/docs/' + id;
            const query = (text, options, next) => __.queryDocuments(link, text, options, {ids});
            query('SELECT * FROM c WHERE c.n > 1', {{}}, docs => {{
                __.deleteDocument(docs[0]._self);
                __.replaceDocument(docs[1]._self, {{id: '3', p: 'a', n: 0}});
                __.createDocument(link, {{id: '4', p: 'a', n: 9}});
                query('SELECT * FROM c WHERE c.n > 1', {{}}, () => {{
                    query('SELECT VALUE COUNT(1) FROM c', {{}}, () => {{
                        query('SELECT * FROM c ORDER BY c.n DESC', {{}}, () => {{
                            __.readDocuments(link, {{pageSize: 2}}, (error, docs, options) => {{
                                seen.push(docs.map(doc => doc.id));
                                __.readDocuments(link, options, (error, docs) => {{
                                    seen.push(docs.map(doc => doc.id));
                                    __.readDocument(doc('b'), error => {{
                                        seen.push(error.number);
                                        __.readDocument(doc('4'), (error, found) => {{
                                            seen.push(found.n);
                                            __.response.setBody(seen);
                                        }});
                                    }});
                                }});
                            }});
                        }});
                    }});
                }});
            }});
        }}"
    );
    let body = world.run(&container, &body).await.unwrap();
    let expected = r#"[["2","3"],["4"],[3],["4","1","3"],["1","3"],["4"],404,9]"#;
    assert_eq!(body.as_deref(), Some(expected));
    assert_eq!(container.partitions[0].counters().items, 4);
}

#[tokio::test]
async fn pages_of_a_query_go_on_while_the_script_writes() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    for n in 0..25 {
        let text = format!(r#"{{"id":"{n:02}","p":"a","n":{n}}}"#);
        world.ok(&container, KEY, create(&text)).await;
    }
    for filter in [
        "c.n >= 5",
        "c.n >= 5 AND c.n != 7",
        "c.p = 'a' AND c.n >= 5",
    ] {
        let body = format!(
            "function () {{
                let count = 0;
                (function page(continuation) {{
                    __.queryDocuments(__.getSelfLink(), \"SELECT * FROM c WHERE {filter}\",
                        {{pageSize: 4, continuation}}, (error, docs, options) => {{
                            if (error) throw error;
                            for (const doc of docs) {{
                                doc.done = true;
                                count += 1;
                                __.replaceDocument(doc._self, doc, {{etag: doc._etag}});
                            }}
                            if (options.continuation) page(options.continuation);
                            else __.response.setBody(count);
                        }});
                }})();
            }}"
        );
        let body = world.run(&container, &body).await.unwrap();
        let expected = if filter.contains("!=") { "19" } else { "20" };
        assert_eq!(body.as_deref(), Some(expected), "{filter}");
    }
}

#[tokio::test]
async fn arguments_log_and_charge() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let source = "function (a, b) { console.log('a is ' + a.x); __.response.setBody([b, a]) }";
    let script = world
        .register(ScriptKind::StoredProcedure, "s", source)
        .await;
    let mut request = ProcedureRequest {
        key: pk(KEY),
        arguments: vec![crate::support::json(r#"{"x":1}"#), 2_i64.into()],
        budget: ConsistencyLevel::Session.into(),
        wants_log: true,
    };
    let expected = ProcedureResponse {
        body: Some(r#"[2,{"x":1}]"#.to_owned()),
        log: Some("a is 1".to_owned()),
    };
    let begun = Instant::now();
    loop {
        let answer = world
            .engine
            .execute(&container, &script, request.clone())
            .await;
        assert_eq!(answer.result.unwrap(), expected);
        assert_eq!(answer.partition_lsn.unwrap().lsn.0, 1);
        // The charge includes the script's own time beyond two milliseconds, which a busy machine
        // may exceed sometimes.
        if answer.charge == Charge::MIN {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", answer.charge);
    }
    request.wants_log = false;
    let answer = world
        .engine
        .execute(&container, &script, request.clone())
        .await;
    assert_eq!(answer.result.unwrap().log, None);

    request.key = PartitionKey::parse_header(r#"["a","b"]"#).unwrap();
    let answer = world.engine.execute(&container, &script, request).await;
    assert_eq!(answer.result.unwrap_err(), Failure::PartitionKeyMismatch);

    let source = "function () { __.createDocument(__.getSelfLink(), {id: '1', p: 'a'}) }";
    let script = world
        .register(ScriptKind::StoredProcedure, "t", source)
        .await;
    let answer = world.execute(&container, &script, "[]").await;
    answer.result.unwrap();
    let create = world
        .ok(&container, KEY, create(r#"{"id":"2","p":"a"}"#))
        .await;
    let expected = Charge::from_units(1.0 + 0.8 * create.charge.units());
    assert!(answer.charge >= expected, "{:?}", answer.charge);

    // A failed run is charged too: half a unit for each millisecond beyond the first two.
    let source = "function () {
        for (const end = Date.now() + 42; Date.now() < end;);
        throw new Error('no');
    }";
    let script = world
        .register(ScriptKind::StoredProcedure, "u", source)
        .await;
    let answer = world.execute(&container, &script, "[]").await;
    assert!(answer.result.is_err());
    assert!(answer.charge.units() >= 20.0, "{:?}", answer.charge);
}

/// A container without its own offer has 400 units a second, so a run may use 2000.
#[tokio::test]
async fn a_run_that_has_used_its_request_units_starts_no_more_operations() {
    let world = World::limited(TestOptions {
        throughput: ThroughputMode::Provisioned,
        ..TestOptions::default()
    })
    .await;
    let container = world.container("c", "").await;
    let source = "function () {
        const link = __.getSelfLink();
        let done = 0;
        while (__.createDocument(link, {id: String(done), p: 'a'})) done += 1;
        __.response.setBody(done);
    }";
    let script = world
        .register(ScriptKind::StoredProcedure, "s", source)
        .await;
    let answer = world.execute(&container, &script, "[]").await;
    let done: u64 = answer.result.unwrap().body.unwrap().parse().unwrap();
    assert_eq!(container.partitions[0].counters().items, done);
    world.advance(10);
    let one = world
        .ok(&container, KEY, create(r#"{"id":"one","p":"a"}"#))
        .await;
    let each = 0.8 * one.charge.units();
    let expected = (1_999.0 / each).floor();
    assert!(
        (done as f64 - expected).abs() <= 1.0,
        "{done} of {expected}"
    );
    assert!(answer.charge >= Charge::from_units(2_000.0 - 2.0 * each));
}

#[tokio::test]
async fn pages_say_how_much_the_container_holds() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let source = "function () {
        __.readDocuments(__.getSelfLink(), (error, docs, options) => __.response.setBody(
            [options.currentCollectionSizeInMB, options.maxCollectionSizeInMB]));
    }";
    let body = world.run(&container, source).await.unwrap();
    assert_eq!(body.as_deref(), Some("[0,10240]"));
}

/// The reservation of a run is released when the actual cost is charged.
#[tokio::test]
async fn a_run_pays_what_it_cost_and_no_more() {
    let world = World::limited(TestOptions {
        throughput: ThroughputMode::Provisioned,
        ..TestOptions::default()
    })
    .await;
    let container = world.container("c", "").await;
    let source = "function (first) {
        for (let i = 0; i < 60; i++) __.createDocument(__.getSelfLink(), {id: String(first + i), p: 'a'});
    }";
    let script = world
        .register(ScriptKind::StoredProcedure, "s", source)
        .await;
    let mut paid = Charge::ZERO;
    for first in [0, 100, 200] {
        let answer = world
            .execute(&container, &script, &format!("[{first}]"))
            .await;
        assert!(answer.result.is_ok(), "{answer:?}");
        paid = paid + answer.charge;
        world.advance(10);
    }
    assert!(paid.units() > 600.0, "{paid:?}");
    let report = container.partitions[0].meter().report(world.now() * 1_000);
    assert_eq!(report.charged, paid);
    assert_eq!(report.used, Charge::ZERO);
}
