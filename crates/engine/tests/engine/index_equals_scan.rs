//! Random documents, policies and queries: an index must give the same rows as a scan, at any page
//! size, while documents and the policy change.

use std::fmt::Write;
use std::sync::Arc;

use orrery_engine::{Container, FeedRequest, FeedScope, QueryText};
use orrery_json::{Value, parse};
use orrery_model::{ConsistencyLevel, Failure};

use crate::random::Random;
use crate::support::{World, pk, upsert};

const POLICIES: [&str; 6] = [
    "{}",
    r#"{"includedPaths":[{"path":"/a/?"},{"path":"/o/*"}],"excludedPaths":[{"path":"/*"}]}"#,
    r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/b/?"}],
        "compositeIndexes":[[{"path":"/a"},{"path":"/b"}],[{"path":"/a","order":"descending"},{"path":"/s"}]]}"#,
    r#"{"compositeIndexes":[[{"path":"/b"},{"path":"/a"},{"path":"/s","order":"descending"}]],
        "spatialIndexes":[{"path":"/g/*","types":["Point","Polygon"]}]}"#,
    r#"{"includedPaths":[{"path":"/t/[]/?"},{"path":"/s/?"},{"path":"/b/?"}],"excludedPaths":[{"path":"/*"}]}"#,
    r#"{"compositeIndexes":[[{"path":"/_ts"},{"path":"/a"}],[{"path":"/s"},{"path":"/b"}]]}"#,
];

fn pick<'a>(random: &mut Random, list: &[&'a str]) -> &'a str {
    let text: &&str = random.pick(list);
    text
}

fn value(random: &mut Random) -> String {
    // About the maximal length in an index entry.
    let long = "long ".repeat(12) + "lo";
    match random.below(12) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => "false".to_owned(),
        3..=6 => (i64::try_from(random.below(9)).unwrap() - 3).to_string(),
        7 => pick(
            random,
            &[
                "0.5",
                "-2.5",
                "9007199254740993",
                "9007199254740992",
                "1e300",
            ],
        )
        .to_owned(),
        8 => format!(
            "\"{long}{}\"",
            pick(random, &["", "x", "xé", "y", "\u{1F600}"])
        ),
        9 => pick(random, &["[]", "[1]", "{}", r#"{"b":1}"#]).to_owned(),
        _ => format!(
            "\"{}\"",
            pick(
                random,
                &["", "a", "ab", "abc", "b", "é", "\u{FFFD}", "\u{1F600}"]
            )
        ),
    }
}

pub(crate) fn document(random: &mut Random, number: u64) -> String {
    let mut text = format!(r#"{{"id":"{number}","pk":"{}""#, random.below(3));
    for name in ["a", "b", "s"] {
        if random.below(8) > 0 {
            let _ = write!(text, r#","{name}":{}"#, value(random));
        }
    }
    if random.below(3) > 0 {
        let elements: Vec<String> = (0..random.below(4)).map(|_| value(random)).collect();
        let _ = write!(text, r#","t":[{}]"#, elements.join(","));
    }
    if random.below(3) > 0 {
        let _ = write!(
            text,
            r#","o":{{"p":{},"q":[{{"r":{}}}]}}"#,
            value(random),
            value(random)
        );
    }
    if random.below(4) == 0 {
        let (x, y) = (random.below(20), random.below(20));
        let _ = write!(text, r#","g":{{"type":"Point","coordinates":[{x},{y}]}}"#);
    }
    text + "}"
}

fn path(random: &mut Random) -> &'static str {
    pick(
        random,
        &[
            "c.a",
            "c.b",
            "c.s",
            "c.o.p",
            "c.t[0]",
            "c.o.q[0].r",
            "c.id",
            "c.pk",
        ],
    )
}

fn condition(random: &mut Random, depth: u32) -> String {
    if depth > 0 && random.below(3) == 0 {
        let joined: Vec<String> = (0..2).map(|_| condition(random, depth - 1)).collect();
        return match random.below(3) {
            0 => format!("({} AND {})", joined[0], joined[1]),
            1 => format!("({} OR {})", joined[0], joined[1]),
            _ => format!("NOT ({})", joined[0]),
        };
    }
    let path = path(random);
    match random.below(17) {
        0..=3 => {
            let operator = pick(random, &["=", "!=", "<", "<=", ">", ">="]);
            format!("{path} {operator} {}", value(random))
        }
        4 => format!(
            "{path} IN ({}, {}, {})",
            value(random),
            value(random),
            value(random)
        ),
        5 => format!("{path} BETWEEN {} AND {}", value(random), value(random)),
        6 => format!(
            "STARTSWITH({path}, '{}')",
            pick(random, &["", "a", "ab", "long"])
        ),
        7 => format!(
            "{path} LIKE '{}'",
            pick(random, &["a%", "%b", "abc", "long%y", "%"])
        ),
        8 => format!("ARRAY_CONTAINS(c.t, {})", value(random)),
        9 => format!(
            "EXISTS(SELECT VALUE e FROM e IN c.t WHERE e > {})",
            value(random)
        ),
        10 => {
            let function = pick(
                random,
                &[
                    "IS_DEFINED",
                    "IS_NULL",
                    "IS_NUMBER",
                    "IS_STRING",
                    "IS_ARRAY",
                    "IS_OBJECT",
                    "IS_BOOL",
                    "IS_PRIMITIVE",
                ],
            );
            format!("{function}({path})")
        }
        11 => path.to_owned(),
        12 => format!(
            "ST_DISTANCE(c.g, {{'type':'Point','coordinates':[{},{}]}}) < 600000",
            random.below(20),
            random.below(20)
        ),
        13 => {
            "ST_WITHIN(c.g, {'type':'Polygon','coordinates':[[[2,2],[12,2],[12,12],[2,12],[2,2]]]})"
                .to_owned()
        }
        14 => format!("c.pk = '{}'", random.below(3)),
        15 => {
            let ids: Vec<String> = (0..=random.below(4))
                .map(|_| format!("'{}'", random.below(80)))
                .collect();
            let ids = ids.join(", ");
            format!("c.id IN ({ids}) AND c.pk = '{}'", random.below(3))
        }
        _ => format!(
            "{path} = {} AND {} = {}",
            value(random),
            "c.b",
            value(random)
        ),
    }
}

pub(crate) fn query(random: &mut Random) -> String {
    let filter = match random.below(5) {
        0 => String::new(),
        _ => format!(" WHERE {}", condition(random, 2)),
    };
    let direction = pick(random, &["ASC", "DESC"]);
    let other = if direction == "ASC" { "DESC" } else { "ASC" };
    match random.below(16) {
        0..=3 => format!("SELECT * FROM c{filter}"),
        4 => format!("SELECT VALUE c.id FROM c{filter}"),
        5 => format!("SELECT c.id, t FROM c JOIN t IN c.t{filter}"),
        6 => format!(
            "SELECT VALUE t FROM c JOIN t IN c.t WHERE t = {}",
            value(random)
        ),
        7 => {
            let aggregate = pick(
                random,
                &[
                    "COUNT(1)",
                    "COUNT(c.a)",
                    "SUM(c.a)",
                    "AVG(c.a)",
                    "MIN(c.a)",
                    "MAX(c.a)",
                    "MIN(c.s)",
                    "MAX(c.s)",
                ],
            );
            format!("SELECT VALUE {aggregate} FROM c{filter}")
        }
        8 => format!("SELECT DISTINCT VALUE {} FROM c{filter}", path(random)),
        9 => format!(
            "SELECT {0} AS k, COUNT(1) AS n FROM c{filter} GROUP BY {0}",
            path(random)
        ),
        10 | 11 => {
            let path = pick(random, &["c.a", "c.b", "c.s", "c._ts"]);
            let top = pick(random, &["", "TOP 5 ", "TOP 1 "]);
            format!("SELECT {top}c.id, {path} AS k FROM c{filter} ORDER BY {path} {direction}")
        }
        12 => format!("SELECT c.id FROM c{filter} ORDER BY c.a {direction}, c.b {direction}"),
        13 => format!("SELECT c.id FROM c{filter} ORDER BY c.a {direction}, c.s {other}"),
        14 => format!(
            "SELECT c.id FROM c WHERE c.b = {} ORDER BY c.a {direction}, c.s {other}",
            value(random)
        ),
        _ => format!("SELECT c.id FROM c{filter} ORDER BY c.s {direction} OFFSET 3 LIMIT 7"),
    }
}

struct Rows {
    rows: Vec<String>,
    plan: String,
}

async fn rows(
    world: &World,
    container: &Arc<Container>,
    text: &str,
    scope: &FeedScope,
    items_max: usize,
    without_index: bool,
) -> Result<Rows, Failure> {
    let query = QueryText {
        text: text.to_owned(),
        parameters: Vec::new(),
        resume: None,
    };
    let compiled = world.engine.compile(&query, container)?;
    let (mut all, mut continuation, mut plan) = (Vec::new(), None, String::new());
    loop {
        let request = FeedRequest {
            scope: scope.clone(),
            query: Some(Arc::clone(&compiled)),
            items_max,
            continuation,
            continuation_bytes_max: None,
            budget: ConsistencyLevel::Session.into(),
            wants_report: true,
            without_index,
            enable_scan: true,
        };
        let page = world.engine.feed(container, request).await.result?;
        assert!(page.items.len() <= items_max);
        let items = page.items.iter();
        all.extend(items.map(|row| String::from_utf8(row.to_vec()).unwrap()));
        if plan.is_empty() {
            plan = page.report.unwrap().plan.join(" | ");
        }
        continuation = page.continuation;
        if continuation.is_none() {
            return Ok(Rows { rows: all, plan });
        }
    }
}

async fn run(seed: u64, counts: &mut std::collections::BTreeMap<String, usize>) {
    let mut random = Random::new(seed);
    let world = World::in_memory().await;
    let policy = pick(&mut random, &POLICIES);
    let definition = |policy: &str| {
        format!(r#"{{"id":"c","partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{policy}}}"#)
    };
    let mut container = world.create(&definition(policy), 400).await;
    let count = *random.pick(&[5, 60, 400]);
    for number in 0..count {
        if random.below(10) == 0 {
            world.advance(1);
        }
        let text = document(&mut random, number);
        let key = parse(text.as_bytes()).unwrap().get("pk").to_string();
        world
            .ok(&container, &format!("[{key}]"), upsert(&text))
            .await;
    }
    for round in 0..25 {
        if round == 12 && random.below(3) == 0 {
            let policy = pick(&mut random, &POLICIES);
            container = world.redefine("c", &definition(policy)).await;
        }
        let number = random.below(count);
        let text = document(&mut random, number);
        let key = parse(text.as_bytes()).unwrap().get("pk").to_string();
        world
            .ok(&container, &format!("[{key}]"), upsert(&text))
            .await;

        let text = query(&mut random);
        let scope = match random.below(3) {
            0 => FeedScope::Key(pk(&format!("[\"{}\"]", random.below(3)))),
            _ => FeedScope::Container,
        };
        let expected = match rows(&world, &container, &text, &scope, 1000, true).await {
            Ok(expected) => expected,
            Err(Failure::BadRequest(_) | Failure::NotImplemented(_)) => continue,
            Err(failure) => panic!("seed {seed}: {text}: {failure}"),
        };
        let is_ordered = text.contains("ORDER BY");
        for items_max in [1, 7, 1000] {
            let mut found = rows(&world, &container, &text, &scope, items_max, false)
                .await
                .unwrap();
            let name = found.plan.split([' ', '|']).next().unwrap().to_owned();
            *counts.entry(name).or_default() += 1;
            let mut expected = expected.rows.clone();
            if !is_ordered {
                expected.sort();
                found.rows.sort();
            }
            assert_eq!(
                found.rows, expected,
                "seed {seed}, {items_max} a page, {policy}: {text}: {}",
                found.plan
            );
        }
    }
}

#[tokio::test]
async fn an_index_gives_what_a_scan_gives() {
    let seeds = std::env::var("ORRERY_SEEDS").ok();
    let seeds: u64 = seeds.map_or(40, |seeds| seeds.parse().unwrap());
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..seeds {
        run(seed, &mut counts).await;
    }
    // The generator must reach every access path, or the test proves nothing.
    for way in ["ordered", "range", "point", "scan"] {
        assert!(counts.contains_key(way), "{counts:?}");
    }
}

/// A literal of the query language, for the parser.
#[test]
fn generated_documents_parse() {
    let mut random = Random::new(1);
    for number in 0..1000 {
        let text = document(&mut random, number);
        assert!(
            matches!(parse(text.as_bytes()), Ok(Value::Object(_))),
            "{text}"
        );
    }
}
