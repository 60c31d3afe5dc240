//! All ways in which clients resume an ordered query. Whatever the page sizes, the resume state and
//! the splits in between, a client reads the rows of one big page once each and in order.
//!
//! A test client behaves like an SDK that merges partitions. The client knows the row that it
//! returned last, and either the token at which the page of that row began or the token of the next
//! page. It resumes with a token, with a resume filter, with the filter in the query text, or with
//! a token and either filter, and skips rows that it has already returned.

use std::sync::Arc;

use orrery_engine::{Container, FeedRequest, FeedScope, QueryText, ResumeAt, SplitMethod};
use orrery_exec::DistinctHash;
use orrery_json::{Object, Value, parse};
use orrery_keys::ItemRid;
use orrery_model::{ConsistencyLevel, RangeId};

use crate::random::Random;
use crate::support::{World, address, create};

pub(crate) const POLICY: &str = r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b"}],
    [{"path":"/a","order":"descending"},{"path":"/b"}],[{"path":"/b"},{"path":"/a"}]]}"#;

/// `{F}` is where clients write a filter.
const QUERIES: [(&str, &[(&str, bool)]); 7] = [
    ("FROM c WHERE ({F}) ORDER BY c.a", &[("a", false)]),
    ("FROM c WHERE ({F}) ORDER BY c.a DESC", &[("a", true)]),
    (
        "FROM c WHERE (c.n > 0) AND ({F}) ORDER BY c.a",
        &[("a", false)],
    ),
    (
        "FROM c WHERE ({F}) ORDER BY c.a, c.b",
        &[("a", false), ("b", false)],
    ),
    (
        "FROM c WHERE ({F}) ORDER BY c.a DESC, c.b",
        &[("a", true), ("b", false)],
    ),
    (
        "FROM c WHERE ({F}) ORDER BY c.b DESC, c.a DESC",
        &[("b", true), ("a", true)],
    ),
    (
        "FROM c JOIN t IN c.t WHERE ({F}) ORDER BY c.a",
        &[("a", false)],
    ),
];

/// Lengths around the limits at which positions and index entries are cut.
pub(crate) const LENGTHS: [usize; 8] = [0, 60, 479, 480, 481, 600, 2500, 3000];

fn value(random: &mut Random, length: usize) -> Value {
    match random.below(10) {
        0 => Value::Undefined,
        1 => Value::Null,
        2 => Value::Bool(random.chance(50)),
        3 => Value::from(i64::try_from(random.below(3)).unwrap()),
        4 => Value::from(0.5),
        5 => parse(
            random
                .pick(&["[]", "[1]", "[2]", "{}", r#"{"x":1}"#])
                .as_bytes(),
        )
        .unwrap(),
        _ => {
            let ends = ["", "", "a", "b", "é", "\u{1F600}", "\u{FFFD}"];
            let end = match random.below(2) {
                0 => (*random.pick(&ends)).to_owned(),
                // Most of these values have one row alone.
                _ => random.below(60).to_string(),
            };
            Value::from(format!("{}{end}", "x".repeat(length)))
        }
    }
}

pub(crate) fn document(random: &mut Random, number: u64, length: usize) -> Value {
    let tags = (0..random.below(4)).map(|tag| Value::from(i64::try_from(tag).unwrap()));
    let properties = [
        ("id", Value::from(number.to_string())),
        ("p", Value::from(format!("k{}", random.below(9)))),
        ("a", value(random, length)),
        ("b", value(random, length)),
        ("n", Value::from(i64::try_from(random.below(3)).unwrap())),
        ("t", Value::Array(tags.collect())),
    ];
    let defined = properties
        .into_iter()
        .filter(|(_, value)| !value.is_undefined());
    Value::Object(
        defined
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// A value as `resumeFilter` has it.
pub(crate) fn resume_value(value: &Value) -> Value {
    match value {
        Value::Undefined => Value::Array(Vec::new()),
        Value::Array(_) | Value::Object(_) => {
            let hash = DistinctHash::of(value);
            let of_type = if matches!(value, Value::Array(_)) {
                "array"
            } else {
                "object"
            };
            let parts = [
                ("type", Value::from(of_type)),
                ("low", Value::from(hash.low.cast_signed())),
                ("high", Value::from(hash.high.cast_signed())),
            ];
            let parts = parts.map(|(name, value)| (name.to_owned(), value));
            Value::Object(Object::from_iter(parts))
        }
        value => value.clone(),
    }
}

/// A row that clients merge: its sort values and the resource id of its item.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    text: String,
    values: Vec<Value>,
    rid: u64,
}

impl Row {
    fn read(text: &[u8]) -> Row {
        let row = parse(text).unwrap();
        let items = row.get("orderByItems").as_array().unwrap();
        let rid = row.get("_rid").as_str().unwrap();
        Row {
            text: String::from_utf8(text.to_vec()).unwrap(),
            values: items.iter().map(|item| item.get("item").clone()).collect(),
            rid: ItemRid::parse(rid).unwrap().counter(),
        }
    }

    /// As `resumeFilter` has them.
    fn resume_values(&self) -> Vec<Value> {
        self.values.iter().map(resume_value).collect()
    }

    /// The filter for rows equal to the row or behind it, as .NET and Java write it; `None` for
    /// arrays and objects, which the language does not compare.
    fn filter(&self, columns: &[(&str, bool)]) -> Option<String> {
        let mut all = Vec::new();
        for last in 0..columns.len() {
            let mut terms = Vec::new();
            for (index, ((name, descending), value)) in columns.iter().zip(&self.values).enumerate()
            {
                if index < last {
                    terms.push(match value {
                        Value::Undefined => format!("NOT IS_DEFINED(c.{name})"),
                        value => format!("c.{name} = {}", literal(value)?),
                    });
                } else if index == last {
                    terms.push(behind(name, value, *descending, last + 1 == columns.len())?);
                }
            }
            all.push(format!("({})", terms.join(" AND ")));
        }
        Some(all.join(" OR "))
    }
}

fn literal(value: &Value) -> Option<String> {
    (!matches!(value, Value::Array(_) | Value::Object(_))).then(|| value.to_string())
}

fn behind(name: &str, value: &Value, descending: bool, or_equal: bool) -> Option<String> {
    let types = [
        "NOT IS_DEFINED",
        "IS_NULL",
        "IS_BOOLEAN",
        "IS_NUMBER",
        "IS_STRING",
        "IS_ARRAY",
        "IS_OBJECT",
    ];
    let rank = match value {
        Value::Undefined => 0,
        Value::Null => 1,
        Value::Bool(_) => 2,
        Value::Number(_) => 3,
        _ => 4,
    };
    let mut terms = Vec::new();
    match (value, or_equal) {
        (Value::Undefined, true) => terms.push(format!("NOT IS_DEFINED(c.{name})")),
        (Value::Undefined, false) => terms.push("false".to_owned()),
        (value, or_equal) => {
            let less = if descending { "<" } else { ">" };
            let or_equal = if or_equal { "=" } else { "" };
            terms.push(format!("c.{name} {less}{or_equal} {}", literal(value)?));
        }
    }
    let beyond = if descending {
        &types[..rank]
    } else {
        &types[rank + 1..]
    };
    terms.extend(beyond.iter().map(|check| format!("{check}(c.{name})")));
    Some(format!("({})", terms.join(" OR ")))
}

/// What a client sends beside its token.
#[derive(Debug, Clone)]
struct Body {
    filter: String,
    resume: Option<ResumeAt>,
}

/// A client in one physical partition.
#[derive(Debug, Clone)]
struct Client {
    range: RangeId,
    /// The rows of one big page, and the number of rows that the client has returned.
    expected: Vec<Row>,
    given: usize,
    /// The row that the client returned last, possibly from a partition that has split since.
    last: Option<Row>,
    body: Body,
    /// The start of the page of the last row, if it is not the beginning.
    page: Option<String>,
    /// The start of the next page, after all rows of a page have been returned.
    next: Option<String>,
    /// Whether the pages of the current body have reached new rows.
    is_there: bool,
}

struct Test {
    world: World,
    container: Arc<Container>,
    query: &'static str,
    columns: &'static [(&'static str, bool)],
    limit: Option<usize>,
    without_index: bool,
}

impl Test {
    async fn page(
        &self,
        range: RangeId,
        body: &Body,
        items_max: usize,
        continuation: Option<String>,
    ) -> (Vec<Row>, Option<String>) {
        let columns = self.columns.iter();
        let items: Vec<_> = columns
            .map(|(name, _)| format!(r#"{{"item": c.{name}}}"#))
            .collect();
        let payload = if self.query.contains("JOIN") {
            "t"
        } else {
            "c.id"
        };
        let query = QueryText {
            text: format!(
                "SELECT c._rid, [{}] AS orderByItems, {{\"id\": c.id, \"p\": {payload}}} AS payload {}",
                items.join(", "),
                self.query.replace("{F}", &body.filter)
            ),
            parameters: Vec::new(),
            resume: body.resume.clone(),
        };
        let request = FeedRequest {
            scope: FeedScope::Range(range, None),
            query: Some(self.world.engine.compile(&query, &self.container).unwrap()),
            items_max,
            continuation,
            continuation_bytes_max: self.limit,
            budget: ConsistencyLevel::Session.into(),
            wants_report: false,
            without_index: self.without_index,
            enable_scan: true,
        };
        let page = self
            .world
            .engine
            .feed(&self.container, request)
            .await
            .result
            .unwrap();
        let token = page.continuation;
        if let (Some(token), Some(limit)) = (&token, self.limit) {
            assert!(token.len() <= limit, "{} bytes", token.len());
        }
        (
            page.items.iter().map(|text| Row::read(text)).collect(),
            token,
        )
    }

    async fn client(&self, range: RangeId) -> Client {
        let body = Body {
            filter: "true".to_owned(),
            resume: None,
        };
        let (expected, rest) = self.page(range, &body, 10_000, None).await;
        assert_eq!(rest, None);
        Client {
            range,
            expected,
            given: 0,
            last: None,
            body,
            page: None,
            next: None,
            is_there: true,
        }
    }

    /// The clients of the child partitions, each with the resume state of the parent's client.
    async fn split(&mut self, client: Client) -> Vec<Client> {
        let engine = &self.world.engine;
        let split = engine.split_partition(address("c"), client.range, SplitMethod::MiddleOfRange);
        split.await.unwrap();
        let parent = self
            .container
            .partition(client.range)
            .unwrap()
            .range
            .clone();
        self.container = self.world.find("c");
        let mut children = Vec::new();
        for partition in &self.container.partitions.clone() {
            if partition.range.is_subset(&parent) {
                let new = self.client(partition.id).await;
                let given = &client.expected[..client.given];
                children.push(Client {
                    given: new
                        .expected
                        .iter()
                        .filter(|row| given.contains(row))
                        .count(),
                    expected: new.expected,
                    range: partition.id,
                    ..client.clone()
                });
            }
        }
        assert_eq!(children.len(), 2);
        children
    }

    /// How the client requests the rows behind its last row: it repeats its previous state, or it
    /// begins a new query.
    fn way(&self, random: &mut Random, client: &mut Client) -> (Body, Option<String>) {
        let goes_on = (client.body.clone(), client.next.clone());
        let Some(last) = client.last.as_ref() else {
            return goes_on;
        };
        let token = match random.below(3) {
            0 => client.page.clone(),
            1 => client.next.clone().or_else(|| client.page.clone()),
            _ => None,
        };
        let resume = ResumeAt {
            values: last.resume_values(),
            rid_counter: random.chance(80).then_some(last.rid),
            exclude: false,
        };
        let with_filter = (
            Body {
                filter: "true".to_owned(),
                resume: Some(resume),
            },
            token.clone(),
        );
        let way = random.below(4);
        if way < 2 && client.next.is_some() {
            return goes_on;
        }
        client.is_there = false;
        match way {
            2 => match last.filter(self.columns) {
                Some(filter) => (
                    Body {
                        filter,
                        resume: None,
                    },
                    token,
                ),
                None => with_filter,
            },
            _ => with_filter,
        }
    }

    /// Checks the request of clients to partitions on the left of the last row: all rows behind its
    /// values.
    async fn check_exclusion(&self, random: &mut Random, client: &Client) {
        if client.expected.is_empty() {
            return;
        }
        let last = random.pick(&client.expected);
        let body = Body {
            filter: "true".to_owned(),
            resume: Some(ResumeAt {
                values: last.resume_values(),
                rid_counter: None,
                exclude: true,
            }),
        };
        let (mut rows, mut token) = (Vec::new(), None);
        loop {
            let (page, next) = self.page(client.range, &body, 2, token).await;
            rows.extend(page);
            token = next;
            if token.is_none() {
                break;
            }
        }
        let behind = client
            .expected
            .iter()
            .skip_while(|row| row.values != last.values);
        let behind = behind.skip_while(|row| row.values == last.values);
        assert!(rows.iter().eq(behind), "{}: {last:?}", self.query);
    }

    async fn run(&mut self, random: &mut Random, mut clients: Vec<Client>, seed: u64) {
        let mut splits = 3;
        while let Some(mut client) = clients.pop() {
            let mut way = self.way(random, &mut client);
            let mut log = Vec::new();
            while client.given < client.expected.len() {
                // Splits behind long values matter most: such a token may hold a cut position.
                let is_long = way.1.as_ref().is_some_and(|token| token.len() > 600);
                if splits > 0 && random.chance(if is_long { 40 } else { 4 }) {
                    splits -= 1;
                    clients.extend(self.split(client).await);
                    break;
                }
                let items_max = 1 + usize::try_from(random.below(5)).unwrap();
                let (rows, next) = self
                    .page(client.range, &way.0, items_max, way.1.clone())
                    .await;
                log.push(format!(
                    "{items_max} after {} of {}: {way:?}\n -> {:?} {next:?}",
                    client.given,
                    client.expected.len(),
                    rows.iter().map(|row| &row.text).collect::<Vec<_>>()
                ));
                let told = || format!("seed {seed}: {}\n{}", self.query, log.join("\n"));
                let given = &client.expected[..client.given];
                let new: Vec<_> = rows.iter().filter(|row| !given.contains(row)).collect();
                let wanted: Vec<_> = client.expected.iter().skip(client.given).collect();
                assert!(wanted.starts_with(&new), "{}", told());
                // Known rows reach only a client that begins a new query, and they come before all
                // new rows; with a resource id only rows of that item repeat. In a child partition too,
                // the page begins where the page of the parent ended.
                let known = rows.len() - new.len();
                assert_eq!(
                    rows.iter().skip(known).collect::<Vec<_>>(),
                    new,
                    "{}",
                    told()
                );
                assert!(known == 0 || !client.is_there, "{}", told());
                let rid = way.0.resume.as_ref().and_then(|resume| resume.rid_counter);
                let is_of_item = rows[..known]
                    .iter()
                    .all(|row| rid.is_none_or(|rid| rid == row.rid));
                assert!(is_of_item, "{}", told());
                assert!(next.is_some() || new.len() == wanted.len(), "{}", told());
                assert!(next.is_none() || log.len() < 400, "no end: {}", told());
                let takes = match new.len() {
                    0 => 0,
                    count if random.chance(50) => count,
                    count => 1 + usize::try_from(random.below(count as u64)).unwrap(),
                };
                let takes_all = takes == new.len();
                client.last = takes
                    .checked_sub(1)
                    .map_or(client.last, |index| Some(new[index].clone()));
                client.given += takes;
                client.page = way.1.clone();
                client.next = next.filter(|_| takes_all);
                client.body = way.0.clone();
                client.is_there |= takes > 0;
                way = if takes > 0 {
                    self.way(random, &mut client)
                } else {
                    (client.body.clone(), client.next.clone())
                };
            }
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
        world
            .ok(&container, &key, create(&document.to_string()))
            .await;
    }
    for _ in 0..3 {
        let (query, columns) = *random.pick(&QUERIES);
        let limit = *random.pick(&[None, Some(8192), Some(1024)]);
        let mut test = Test {
            container: world.find("c"),
            world: World::over(&world, Arc::clone(&world.engine)),
            query,
            columns,
            limit,
            without_index: random.chance(30),
        };
        let mut clients = Vec::new();
        for partition in &test.container.partitions.clone() {
            let client = test.client(partition.id).await;
            test.check_exclusion(&mut random, &client).await;
            clients.push(client);
        }
        test.run(&mut random, clients, seed).await;
    }
}

#[tokio::test]
async fn every_way_to_continue_gives_each_row_once() {
    let seeds = std::env::var("ORRERY_SEEDS").ok();
    let seeds: u64 = seeds.map_or(60, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        run(seed).await;
    }
}
