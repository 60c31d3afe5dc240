//! Resumes queries over the whole container at every row: distinct rows, groups and windows have
//! the same rows in many pages as in one, whatever the page sizes, the client's resume state and
//! the splits in between.

use std::collections::HashSet;
use std::sync::Arc;

use orrery_engine::{Container, FeedRequest, FeedScope, QueryText, ResumeAt, SplitMethod};
use orrery_json::{Value, parse};
use orrery_model::ConsistencyLevel;

use crate::ordered_continuation::{LENGTHS, POLICY, document, resume_value};
use crate::random::Random;
use crate::support::{World, address, create};

/// A query, and the number of leading values that order its rows; a row is an array of objects that
/// begins with these values as `item`.
struct Asked {
    text: &'static str,
    columns: usize,
    /// Whether the rows of one page have an order that survives splits.
    is_in_order: bool,
}

const fn asked(text: &'static str, columns: usize, is_in_order: bool) -> Asked {
    Asked {
        text,
        columns,
        is_in_order,
    }
}

const QUERIES: [Asked; 14] = [
    asked("SELECT DISTINCT VALUE c.a FROM c", 0, true),
    asked("SELECT DISTINCT c.a, c.n FROM c WHERE c.n > 0", 0, true),
    asked("SELECT DISTINCT TOP 4 VALUE c.b FROM c", 0, true),
    asked(
        r#"SELECT DISTINCT VALUE [{"item": c.a}] FROM c ORDER BY c.a"#,
        1,
        true,
    ),
    asked(
        r#"SELECT DISTINCT VALUE [{"item": c.b}, {"item": c.a}] FROM c ORDER BY c.b DESC, c.a DESC"#,
        2,
        true,
    ),
    asked(
        r#"SELECT DISTINCT VALUE [{"item": c.a}] FROM c ORDER BY c.a OFFSET 1 LIMIT 3"#,
        0,
        true,
    ),
    asked("SELECT c.a, COUNT(1) AS k FROM c GROUP BY c.a", 0, false),
    asked(
        "SELECT c.n, c.b, MAX(c.a) AS m FROM c GROUP BY c.n, c.b",
        0,
        false,
    ),
    asked("SELECT VALUE c.id FROM c OFFSET 3 LIMIT 11", 0, true),
    asked("SELECT TOP 9 VALUE c.id FROM c WHERE c.n != 1", 0, true),
    asked(
        r#"SELECT VALUE [{"item": c.a}, {"id": c.id}] FROM c ORDER BY c.a OFFSET 4 LIMIT 9"#,
        0,
        true,
    ),
    asked(
        r#"SELECT TOP 9 VALUE [{"item": c.a}, {"item": c.b}, {"id": c.id}] FROM c ORDER BY c.a DESC, c.b"#,
        0,
        true,
    ),
    asked(
        r#"SELECT VALUE [{"item": c.a}, {"id": c.id}] FROM c ORDER BY c.a"#,
        1,
        true,
    ),
    asked(
        r#"SELECT VALUE [{"item": c.a}, {"item": c.b}, {"id": c.id}] FROM c ORDER BY c.a, c.b"#,
        2,
        true,
    ),
];

struct Test<'a> {
    world: &'a World,
    container: Arc<Container>,
    asked: &'a Asked,
    limit: Option<usize>,
    without_index: bool,
}

impl Test<'_> {
    async fn page(
        &self,
        resume: Option<&ResumeAt>,
        items_max: usize,
        continuation: Option<String>,
    ) -> (Vec<String>, Option<String>) {
        let query = QueryText {
            text: self.asked.text.to_owned(),
            parameters: Vec::new(),
            resume: resume.cloned(),
        };
        let engine = &self.world.engine;
        let request = FeedRequest {
            scope: FeedScope::Container,
            query: Some(engine.compile(&query, &self.container).unwrap()),
            items_max,
            continuation,
            continuation_bytes_max: self.limit,
            budget: ConsistencyLevel::Session.into(),
            wants_report: false,
            without_index: self.without_index,
            enable_scan: true,
        };
        let answer = engine.feed(&self.container, request).await;
        let page = answer.result.expect(self.asked.text);
        if let (Some(token), Some(limit)) = (&page.continuation, self.limit) {
            assert!(token.len() <= limit, "{} bytes", token.len());
        }
        let rows = page.items.iter();
        let rows = rows.map(|row| String::from_utf8(row.to_vec()).unwrap());
        (rows.collect(), page.continuation)
    }

    async fn split(&mut self, random: &mut Random) {
        let partitions = self.container.partitions.clone();
        let id = random.pick(&partitions).id;
        let split = self
            .world
            .engine
            .split_partition(address("c"), id, SplitMethod::MiddleOfRange);
        split.await.unwrap();
        self.container = self.world.find("c");
    }

    /// The resume filter that a client sends to continue behind a row, with or without a token.
    fn resume_at(&self, row: &str) -> ResumeAt {
        let row = parse(row.as_bytes()).unwrap();
        let values = row.as_array().unwrap().iter().take(self.asked.columns);
        ResumeAt {
            values: values
                .map(|value| resume_value(value.get("item")))
                .collect(),
            rid_counter: None,
            exclude: false,
        }
    }

    async fn run(&mut self, random: &mut Random, seed: u64) {
        let (expected, rest) = self.page(None, 10_000, None).await;
        assert_eq!(rest, None);
        let whole: HashSet<&String> = expected.iter().collect();
        assert_eq!(whole.len(), expected.len(), "{}", self.asked.text);
        let (mut given, mut token, mut resume) = (Vec::<String>::new(), None, None);
        let mut splits = 2;
        let mut log = Vec::new();
        while given.len() < expected.len() || token.is_some() {
            if splits > 0 && random.chance(10) {
                splits -= 1;
                self.split(random).await;
                log.push("split".to_owned());
            }
            let last = given.last().filter(|_| self.asked.columns > 0);
            if let Some(last) = last.filter(|_| random.chance(30)) {
                resume = Some(self.resume_at(last));
                token = token.filter(|_| random.chance(60));
            }
            let items_max = 1 + usize::try_from(random.below(5)).unwrap();
            let (rows, next) = self.page(resume.as_ref(), items_max, token.clone()).await;
            log.push(format!(
                "{items_max} {resume:?} {token:?}\n -> {rows:?} {next:?}"
            ));
            let told = || format!("seed {seed}: {}\n{}", self.asked.text, log.join("\n"));
            // Only a client that begins a new query receives known rows, and they come first.
            let known = rows.iter().take_while(|row| given.contains(*row)).count();
            assert!(known == 0 || resume.is_some(), "{}", told());
            for row in &rows[known..] {
                let is_next = expected.get(given.len()) == Some(row);
                let is_one = whole.contains(row) && !given.contains(row);
                assert!(
                    if self.asked.is_in_order {
                        is_next
                    } else {
                        is_one
                    },
                    "{}",
                    told()
                );
                given.push(row.clone());
            }
            token = next;
            assert!(
                token.is_some() || given.len() == expected.len(),
                "{}",
                told()
            );
            assert!(log.len() < 600, "no end: {}", told());
        }
    }
}

async fn run(seed: u64) {
    let mut random = Random::new(seed);
    let world = World::in_memory().await;
    let settings = format!(r#","indexingPolicy":{POLICY}"#);
    let container = world.container("c", &settings).await;
    let length = *random.pick(&LENGTHS);
    for number in 0..*random.pick(&[6, 30, 60]) {
        let document = document(&mut random, number, length);
        let key = format!("[{}]", document.get("p"));
        let operation = create(&document.to_string());
        world.ok(&container, &key, operation).await;
    }
    for _ in 0..4 {
        let mut test = Test {
            container: world.find("c"),
            world: &world,
            asked: random.pick(&QUERIES),
            limit: *random.pick(&[None, Some(8192), Some(1024)]),
            without_index: random.chance(30),
        };
        test.run(&mut random, seed).await;
    }
}

#[tokio::test]
async fn any_cut_of_distinct_rows_groups_and_windows_gives_each_row_once() {
    let seeds = std::env::var("ORRERY_SEEDS").ok();
    let seeds: u64 = seeds.map_or(60, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        run(seed).await;
    }
}

/// A subquery that only filters acts as another name of its source, in every page.
#[tokio::test]
async fn an_order_over_a_filtering_subquery_is_that_of_its_source() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    for (id, key, n) in [("1", "a", 3), ("2", "b", 1), ("3", "a", 2), ("4", "b", 0)] {
        let text = format!(r#"{{"id":"{id}","p":"{key}","n":{n}}}"#);
        let operation = create(&text);
        world
            .ok(&container, &format!(r#"["{key}"]"#), operation)
            .await;
    }
    let asked = asked(
        r#"SELECT VALUE s.id FROM (SELECT * FROM root c WHERE c.n > 0) s ORDER BY s["n"]"#,
        0,
        true,
    );
    let mut test = Test {
        world: &world,
        container,
        asked: &asked,
        limit: None,
        without_index: false,
    };
    let (mut ids, mut token) = (Vec::new(), None);
    loop {
        let (rows, next) = test.page(None, 1, token).await;
        ids.extend(rows);
        token = next;
        if ids.len() == 1 {
            test.split(&mut Random::new(1)).await;
        }
        if token.is_none() {
            break;
        }
    }
    assert_eq!(ids, [r#""2""#, r#""3""#, r#""1""#]);
    let policy = r#","indexingPolicy":{"excludedPaths":[{"path":"/n/?"}]}"#;
    let container = world.container("d", policy).await;
    let query = QueryText {
        text: asked.text.to_owned(),
        parameters: Vec::new(),
        resume: None,
    };
    let refusal = world.engine.compile(&query, &container).unwrap_err();
    assert!(refusal.to_string().contains("range index"), "{refusal}");
}

#[tokio::test]
async fn the_value_of_an_index_decides_whether_the_query_is_one() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    for value in [
        Value::from("n"),
        Value::Null,
        Value::from(1),
        Value::Bool(true),
    ] {
        let is_index = matches!(value, Value::String(_) | Value::Number(_));
        let query = QueryText {
            text: "SELECT VALUE c[@v] FROM c".to_owned(),
            parameters: vec![("@v".to_owned(), value)],
            resume: None,
        };
        for _ in 0..2 {
            let compiled = world.engine.compile(&query, &container);
            assert_eq!(compiled.is_ok(), is_index, "{query:?}");
        }
    }
}
