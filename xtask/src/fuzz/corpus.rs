//! The corpus: the queries and documents of the tests, and a few requests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use orrery_exec::function_arity;
use orrery_json::{Value, parse_bounded};

use super::random::Random;
use super::targets;

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InputKind {
    Query,
    Json,
    Binary,
    Definition,
    Request,
    Headers,
    Resume,
    Token,
    Frame,
    Direct,
    StoredRecord,
}

/// The valid inputs of each kind.
pub(super) struct Corpus {
    inputs: BTreeMap<InputKind, Vec<Vec<u8>>>,
    /// The words of queries.
    query_words: Vec<&'static str>,
}

impl Corpus {
    /// Loads the recorded test data of the workspace.
    pub(super) fn load() -> Corpus {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask lies in the repository");
        let (mut queries, mut documents) = (Vec::new(), Vec::new());
        for file in [
            "crates/sql/tests/data/query-plan-vectors.json",
            "crates/exec/tests/data/function-vectors.json",
        ] {
            let bytes = fs::read(root.join(file)).expect("recorded data");
            let value = parse_bounded(&bytes, 256).expect("recorded data");
            collect(&value, &mut queries, &mut documents);
        }
        specified(&root.join("tests/spec"), &mut queries, &mut documents);
        queries.extend(FILTERS.iter().map(|filter| {
            let query = format!("SELECT VALUE c.id FROM c WHERE {filter}");
            query.into_bytes()
        }));
        // Sorted, since a round must choose the same inputs on every machine.
        queries.sort();
        queries.dedup();
        // The corpus lives as long as the process, so the leak is bounded.
        let calls = calls(&queries).into_iter().map(|call| &*call.leak());
        let words = QUERY_WORDS.iter().chain(FILTERS).copied();
        let query_words = words.chain(calls).collect();
        let bytes = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let resumes = targets::resumes(&queries);
        let tokens = targets::tokens();
        let inputs = BTreeMap::from([
            (InputKind::Query, queries),
            (InputKind::Json, documents),
            (
                InputKind::Binary,
                hexadecimal(root, "crates/json/tests/data/binary.txt", 0),
            ),
            (InputKind::Definition, bytes(DEFINITIONS)),
            (InputKind::Request, bytes(REQUESTS)),
            (InputKind::Headers, bytes(HEADERS)),
            (InputKind::Resume, resumes),
            (InputKind::Token, tokens),
            (InputKind::Frame, targets::frames()),
            (
                InputKind::Direct,
                hexadecimal(root, "crates/rntbd/tests/data/exchanges.txt", 1),
            ),
            (InputKind::StoredRecord, targets::stored_records()),
        ]);
        // A kind without inputs would silently test nothing.
        assert!(inputs.values().all(|inputs| !inputs.is_empty()));
        Corpus {
            inputs,
            query_words,
        }
    }

    /// The valid inputs of one kind.
    pub(super) fn of(&self, kind: InputKind) -> &[Vec<u8>] {
        self.inputs.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// Words that are worth inserting.
    pub(super) fn words(&self, kind: InputKind) -> &[&'static str] {
        match kind {
            InputKind::Query => &self.query_words,
            InputKind::Definition => DEFINITION_WORDS,
            InputKind::Json | InputKind::Binary | InputKind::Request | InputKind::Headers => {
                JSON_WORDS
            }
            InputKind::Resume
            | InputKind::Token
            | InputKind::Frame
            | InputKind::Direct
            | InputKind::StoredRecord => &["A", "_", "-", "\0", "\x7f"],
        }
    }
}

/// Collects the texts called `query`, and the documents of these queries.
fn collect(value: &Value, queries: &mut Vec<Vec<u8>>, documents: &mut Vec<Vec<u8>>) {
    match value {
        Value::Array(elements) => {
            for element in elements {
                collect(element, queries, documents);
            }
        }
        Value::Object(properties) => {
            for (name, value) in properties {
                match (name.as_str(), value) {
                    ("query" | "rewrittenQuery", Value::String(text)) => {
                        queries.push(text.as_bytes().to_vec());
                    }
                    ("documents" | "result", value) => {
                        documents.push(value.to_string().into_bytes());
                    }
                    (_, value) => collect(value, queries, documents),
                }
            }
        }
        _ => {}
    }
}

/// Calls of every function in the queries, with arguments of all kinds.
fn calls(queries: &[Vec<u8>]) -> Vec<String> {
    let mut names = BTreeSet::new();
    for query in queries {
        let text = String::from_utf8_lossy(query).to_ascii_uppercase();
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        for before in text.split('(') {
            let name = before.rsplit(|letter| !is_word(letter)).next();
            names.extend(name.map(str::to_owned));
        }
    }
    // A constant seed: the corpus is the same in every run.
    let mut random = Random::new(1);
    let mut calls = Vec::new();
    for name in names {
        // Keywords and subqueries stand before a parenthesis too.
        let Some((low, high)) = function_arity(&name) else {
            continue;
        };
        let more = high.unwrap_or(low + 2) - low + 1;
        for _ in 0..CALLS_OF_FUNCTION {
            let count = low + random.below(more);
            let arguments: Vec<&str> = (0..count)
                .filter_map(|_| random.choice(ARGUMENTS).copied())
                .collect();
            calls.push(format!("{name}({})", arguments.join(", ")));
        }
    }
    calls
}

/// Collects the code blocks of the specifications.
fn specified(directory: &Path, queries: &mut Vec<Vec<u8>>, documents: &mut Vec<Vec<u8>>) {
    let entries = fs::read_dir(directory).expect("specifications");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a directory can be listed").path())
        .collect();
    // The order of a directory listing differs between file systems.
    files.sort();
    for file in files {
        let text = fs::read_to_string(file).expect("a specification");
        // The language of a block is on the line of its fence.
        for block in text.split("\n```").skip(1) {
            let (kind, text) = block.split_once('\n').unwrap_or((block, ""));
            match kind {
                "sql" => queries.push(text.as_bytes().to_vec()),
                "json" | "json documents" => documents.push(text.as_bytes().to_vec()),
                _ => {}
            }
        }
    }
}

/// The bytes of a column of recorded data.
fn hexadecimal(root: &Path, file: &str, column: usize) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(root.join(file)).expect("recorded data");
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    let columns = text.lines().filter_map(|line| line.split(' ').nth(column));
    let bytes = |hex: &str| {
        hex.as_bytes()
            .chunks_exact(2)
            .map(byte)
            .collect::<Option<_>>()
    };
    columns
        .map(|hex| bytes(hex).expect("hexadecimal digits"))
        .collect()
}

#[rustfmt::skip]
const QUERY_WORDS: &[&str] = &[
    "SELECT", "VALUE", "DISTINCT", "TOP 2", "FROM", "c", "JOIN", "IN", "WHERE", "GROUP BY", "ORDER BY", "DESC", "ASC",
    "OFFSET 1 LIMIT 2", "AND", "OR", "NOT", "BETWEEN 1 AND 2", "LIKE '%a'", "ESCAPE '!'", "EXISTS(SELECT VALUE 1)",
    "ARRAY(SELECT VALUE c)", "(SELECT VALUE 1)", "ALL(SELECT VALUE true)", "FIRST(SELECT VALUE 1)", "UNDEFINED", "null",
    "true", "??", "? 1 :", "||", ">>>", "<<", "=", "!=", "<>", "<=", "*", "/", "%", "~", "&", "^", "|", "@a", "@p", "c.a",
    "c.list", "c.text", "c.o.x", "c[0]", "c['a']", "[1, 2]", "{'a': 1}", "'text'", "COUNT(1)", "SUM(c.a)", "AVG(c.a)",
    "MIN(c.a)", "MAX(c.text)", "MAKELIST(c.a)", "MAKESET(c.list)", "COUNTIF(c.a > 1)", "(LET x = 1 IN x)", "RANK",
    "udf.f(1)", "c JOIN x IN c.list", "FROM (SELECT DISTINCT VALUE c.a FROM c) AS s", "SUBSTRING(c.text, 1, 2)",
    "REPLICATE('a', 9999)", "REGEXMATCH(c.text, 'a(b|c)*')", "ARRAY_SLICE(c.list, -1, 2)", "CHOOSE(2, 1, 2)",
    "DateTimeAdd('mm', 99999999, '2020-01-31')", "DateTimeBin('2020-01-01', 'ns', 9223372036854775807)",
    "TicksToDateTime(9223372036854775807)", "DateTimeFromParts(9999, 12, 31, 23, 59, 59, 9999999)",
    "ST_DISTANCE(c.at, {'type': 'Point', 'coordinates': [1, 2]})", "ROUND(c.a, 400)", "NumberBin(c.a, 1e-300)",
    "IntDiv(-9223372036854775808, -1)", "IntBitLeftShift(1, 64)", "LEFT('é', 1)", "StringToArray('[[1]]')",
];

/// Conditions that indexes serve completely or in part.
#[rustfmt::skip]
const FILTERS: &[&str] = &[
    "c.a > 1", "c.a <= -2.5", "c.a = 1", "c.a = null", "c.a != true", "c.text = 'abc'", "c.text >= 'a' AND c.text < 'b'",
    "c.a IN (1, 'a', null, [1, 2])", "c.a BETWEEN 1 AND 2", "c.a NOT IN (1, 2)", "NOT (c.a = 1 OR c.text = 'a')",
    "STARTSWITH(c.text, 'a')", "CONTAINS(c.name, 'b')", "c.name LIKE 'a%'", "ARRAY_CONTAINS(c.list, 1)",
    "ARRAY_CONTAINS(c.tags, {'x': 1}, true)", "IS_DEFINED(c.x.y)", "NOT IS_DEFINED(c.x)", "IS_STRING(c.a)", "IS_NULL(c.a)",
    "IS_NUMBER(c.o.x) AND c.o.x > 1", "c.list[0] = 1", "c.x.y[1].z = 2", "EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'a')",
    "ST_DISTANCE(c.at, {'type': 'Point', 'coordinates': [3, 2]}) < 200000",
    "ST_WITHIN(c.at, {'type': 'Polygon', 'coordinates': [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]})",
    "c.pk = 1 AND c.a > 0", "c.pk IN (0, 2) AND c.text = 'a'", "c.secret = 1", "c.a = 1 OR c.secret = 1",
    "c.a > 0 ORDER BY c.a", "c.text > '' ORDER BY c.text DESC", "c.pk = 1 ORDER BY c.age OFFSET 1 LIMIT 3",
    "true ORDER BY c.a, c.text DESC", "c.a = 1 ORDER BY c.a DESC, c.text ASC", "c.a = c.o.x", "c.age % 2 = 0 AND c.a >= 1",
];

/// The calls of each function, each with other arguments.
const CALLS_OF_FUNCTION: usize = 24;

#[rustfmt::skip]
const ARGUMENTS: &[&str] = &[
    "undefined", "null", "true", "0", "1", "-1", "2.5", "400", "1e308", "-1e308", "NaN", "Infinity", "9223372036854775807",
    "(-9223372036854775807 - 1)", "''", "'a'", "'abcABC'", "'é\u{1F600}'", "'[1, {\"a\": 2}]'", "'a(b|c)*'", "'('", "[]", "[1, 2, 3]",
    "['a', null, [1], {'b': 2}]", "{}", "{'a': 1, 'b': [2]}", "c.a", "c.text", "c.list", "c.o", "c.at", "c", "@a", "@p", "@s",
    "'yyyy'", "'mm'", "'day'", "'hh'", "'ms'", "'ns'", "'2020-02-29T23:59:59.9999999Z'", "'0001-01-01'", "'9999-12-31'",
    "{'type': 'Point', 'coordinates': [179.9, 89.9]}",
    "{'type': 'Polygon', 'coordinates': [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}",
    "{'type': 'LineString', 'coordinates': [[-180, 0], [180, 0]]}",
    "{'type': 'MultiPolygon', 'coordinates': [[[[0, 0], [1, 0], [1, 1], [0, 0]]]]}",
];

#[rustfmt::skip]
const JSON_WORDS: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"\"", "null", "true", "\"a\"", "\"\\ud800\"", "\"\\u0000\"", "{\"a\":1}", "[[[[", "1e400",
    "%2F", "%00", "%", "//", "..", "é",
];

#[rustfmt::skip]
const DEFINITION_WORDS: &[&str] = &[
    "\"/*\"", "\"/?\"", "\"/a/[]/b/?\"", "\"/\"", "\"/\\\"a b\\\"/*\"", "[]", "{}", "null", "-1", "\"none\"", "\"lazy\"",
    "\"MultiHash\"", "\"Range\"", "\"Hash\"", "[\"/a\",\"/b\"]", "2147483648", "\"descending\"", "\"Polygon\"",
    "\"SELECT VALUE c.a FROM c\"", "\"cosine\"", "\"diskANN\"", "\"float16\"",
];

const DEFINITIONS: &[&str] = &[
    r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#,
    r#"{"id":"c","partitionKey":{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2},"defaultTtl":60}"#,
    r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":1},"indexingPolicy":{"indexingMode":"consistent",
       "automatic":true,"includedPaths":[{"path":"/*"},{"path":"/a/?"}],"excludedPaths":[{"path":"/b/[]/c/*"}],
       "compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/b","order":"descending"}]],
       "spatialIndexes":[{"path":"/at/*","types":["Point","Polygon"]}]}}"#,
    r#"{"id":"c","partitionKey":{"paths":["/pk"]},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a","/b"]}]},
       "conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/_ts"},
       "geospatialConfig":{"type":"Geometry"},"analyticalStorageTtl":-1,
       "computedProperties":[{"name":"low","query":"SELECT VALUE LOWER(c.a) FROM c"}],
       "changeFeedPolicy":{"retentionDuration":10}}"#,
    r#"{"id":"c","partitionKey":{"paths":["/pk"]},"vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v",
       "dataType":"float32","dimensions":3,"distanceFunction":"cosine"}]},"indexingPolicy":{"vectorIndexes":
       [{"path":"/v","type":"quantizedFlat"}],"fullTextIndexes":[{"path":"/t"}]},"fullTextPolicy":
       {"defaultLanguage":"en-US","fullTextPaths":[{"path":"/t","language":"en-US"}]}}"#,
];

const REQUESTS: &[&str] = &[
    "/dbs/db/colls/c/docs/item",
    "/dbs/AAAAAA==/colls/AAAAAIAAAAA=/docs/",
    "/dbs/d%20b/users/u/permissions/p",
    "/offers/x",
    "/dbs/d/colls/c/sprocs/s/",
    "0:-1#12#3=4,1:5#6",
    "Tue, 15 Nov 1994 08:12:31 GMT",
    "type%3Dmaster%26ver%3D1.0%26sig%3Dabc%3D",
    "type=resource&ver=1&sig=abc=;def;",
    r#"["a",1,null,true,{}]"#,
    r#"{"query":"SELECT * FROM c","parameters":[{"name":"@a","value":[1]}]}"#,
    r#"{"query":"SELECT 1","resumeFilter":{"value":[[],{"type":"array","low":1,"high":-2}],"rid":"AAAAAIAAAAABAAAAAAAAAA==","exclude":true}}"#,
    r#"[{"operationType":"Create","resourceBody":{"id":"1"}},{"operationType":"Patch","id":"1","resourceBody":{"operations":[{"op":"add","path":"/a","value":1}]}}]"#,
    r#"{"condition":"FROM c WHERE c.a > 1","operations":[{"op":"incr","path":"/a/0","value":1.5},{"op":"move","from":"/a","path":"/b"}]}"#,
    r#"{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c","resourcePartitionKey":["a"]}"#,
    "eyJhbGciOiJub25lIn0.eyJleHAiOjIwMDB9.a2V5",
];

const HEADERS: &[&str] = &[
    "x-ms-date: Tue, 15 Nov 1994 08:12:31 GMT\nx-ms-version: 2018-12-31\nauthorization: type=master&ver=1.0&sig=abc=",
    "x-ms-documentdb-partitionkey: [\"a\"]\nx-ms-documentdb-is-upsert: True\nif-match: \"abc\"",
    "x-ms-documentdb-isquery: True\ncontent-type: application/query+json\nx-ms-max-item-count: -1\nx-ms-continuation: abc",
    "x-ms-start-epk: 05C1\nx-ms-end-epk: FF\nx-ms-read-key-type: EffectivePartitionKeyRange\nx-ms-documentdb-partitionkeyrangeid: AAAAAA==,3",
    "x-ms-cosmos-is-query-plan-request: True\nx-ms-cosmos-supported-query-features: Aggregate, Top",
    "x-ms-consistency-level: Session\nx-ms-session-token: 0:1#2\na-im: Incremental Feed\nif-none-match: *",
    "x-ms-offer-throughput: 400\nx-ms-cosmos-offer-autopilot-settings: {\"maxThroughput\": 4000}",
    "x-ms-cosmos-is-batch-request: True\nx-ms-cosmos-batch-atomic: true\nx-ms-documentdb-expiry-seconds: 3600",
    "x-ms-indexing-directive: Exclude\nx-ms-cosmos-priority-level: Low\nif-modified-since: Tue, 15 Nov 1994 08:12:31 GMT",
];
