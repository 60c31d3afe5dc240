//! Whole definitions: defaults, the printed form of each body, and refused bodies with their
//! messages.

use orrery_json::{Value, parse};
use orrery_keys::{PartitionKeyKind, PartitionKeyVersion};

use super::*;
use crate::Failure;

fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The body of a container `c`, partitioned by `/pk`, with more properties.
fn body(more: &str) -> Value {
    let separator = if more.is_empty() { "" } else { "," };
    json(&format!(
        r#"{{"id":"c","partitionKey":{{"paths":["/pk"]}}{separator}{more}}}"#
    ))
}

fn definition(more: &str) -> ContainerDefinition {
    ContainerDefinition::parse(&body(more)).unwrap_or_else(|failure| panic!("{more}: {failure}"))
}

fn message(result: Result<impl Sized, Failure>, input: &str) -> String {
    match result {
        Err(Failure::BadRequest(message)) => message,
        Err(other) => panic!("{input}: {other:?} is not a bad request"),
        Ok(_) => panic!("{input}: was accepted"),
    }
}

fn check_refusals(table: &[(&str, &str)]) {
    for (more, expected) in table {
        let message = message(ContainerDefinition::parse_new(&body(more)), more);
        assert!(message.contains(expected), "{more}: {message}");
        assert!(
            message.starts_with("One of the specified inputs is invalid. "),
            "{message}"
        );
    }
}

const DEFAULT_POLICIES: &str = r#""uniqueKeyPolicy":{"uniqueKeys":[]},"conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/_ts","conflictResolutionProcedure":""},"geospatialConfig":{"type":"Geography"}"#;

#[test]
fn defaults_are_filled_in() {
    let expected = format!(
        r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash"}},"indexingPolicy":{{"indexingMode":"consistent","automatic":true,"includedPaths":[{{"path":"/*"}}],"excludedPaths":[{{"path":"/\"_etag\"/?"}}]}},{DEFAULT_POLICIES}}}"#
    );
    assert_eq!(definition("").to_value().to_string(), expected);
    let nulls = r#""defaultTtl":null,"indexingPolicy":null,"uniqueKeyPolicy":null,"computedProperties":null"#;
    assert_eq!(definition(nulls).to_value().to_string(), expected);
    let system = r#""_rid":"x","_ts":5,"_etag":"\"y\"","_docs":"docs/","what":[]"#;
    assert_eq!(definition(system).to_value().to_string(), expected);
}

/// Settings that are answered exactly as they were sent.
const ECHOED: [&str; 16] = [
    r#""defaultTtl":-1"#,
    r#""defaultTtl":2147483647"#,
    r#""defaultTtl":60,"ttlPropertyPath":"/created""#,
    r#""analyticalStorageTtl":-1"#,
    r#""analyticalStorageTtl":0"#,
    r#""computedProperties":[{"name":"n","query":"SELECT VALUE LOWER(c.x) FROM c"}]"#,
    r#""changeFeedPolicy":{"retentionDuration":10}"#,
    r#""changeFeedPolicy":{"retentionDuration":10,"previousImages":true}"#,
    r#""uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a","/\"b\"/c"]},{"paths":["/d-e"]}]}"#,
    r#""conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/n","conflictResolutionProcedure":""}"#,
    r#""conflictResolutionPolicy":{"mode":"Custom","conflictResolutionPath":"","conflictResolutionProcedure":"dbs/d/colls/c/sprocs/s"}"#,
    r#""geospatialConfig":{"type":"Geometry"}"#,
    r#""vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"uint8","dimensions":8,"distanceFunction":"dotproduct"}]}"#,
    r#""fullTextPolicy":{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/t","language":"en-US"},{"path":"/u"}]}"#,
    r#""fullTextPolicy":{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/t","language":"1033"}]}"#,
    r#""clientEncryptionPolicy":{"includedPaths":[{"path":"/a"}],"policyFormatVersion":2}"#,
];

#[test]
fn settings_come_back_as_they_were_sent() {
    for more in ECHOED {
        let (sent, definition) = (body(more), definition(more));
        let answer = definition.to_value();
        for property in sent
            .as_object()
            .unwrap()
            .keys()
            .filter(|name| *name != "partitionKey")
        {
            let (sent, answered) = (
                sent.get(property).to_string(),
                answer.get(property).to_string(),
            );
            assert_eq!(answered, sent, "{more}");
        }
        assert_eq!(
            ContainerDefinition::parse(&answer),
            Ok(definition),
            "{more}"
        );
    }
}

#[test]
fn partition_keys() {
    for (key, kind, version, answer) in [
        (
            r#"{"paths":["/a"]}"#,
            PartitionKeyKind::Hash,
            PartitionKeyVersion::V1,
            r#"{"paths":["/a"],"kind":"Hash"}"#,
        ),
        (
            r#"{"paths":["/a"],"version":1}"#,
            PartitionKeyKind::Hash,
            PartitionKeyVersion::V1,
            r#"{"paths":["/a"],"kind":"Hash","version":1}"#,
        ),
        (
            r#"{"kind":"Hash","version":2,"paths":["/a-b/\"c/d\""]}"#,
            PartitionKeyKind::Hash,
            PartitionKeyVersion::V2,
            r#"{"paths":["/a-b/\"c/d\""],"kind":"Hash","version":2}"#,
        ),
        (
            r#"{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}"#,
            PartitionKeyKind::MultiHash,
            PartitionKeyVersion::V2,
            r#"{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}"#,
        ),
        (
            r#"{"paths":["/a"],"kind":"MultiHash"}"#,
            PartitionKeyKind::MultiHash,
            PartitionKeyVersion::V2,
            r#"{"paths":["/a"],"kind":"MultiHash","version":2}"#,
        ),
        (
            r#"{"paths":["/_partitionKey"],"systemKey":true}"#,
            PartitionKeyKind::Hash,
            PartitionKeyVersion::V1,
            r#"{"paths":["/_partitionKey"],"kind":"Hash","systemKey":true}"#,
        ),
    ] {
        let body = json(&format!(r#"{{"id":"c","partitionKey":{key}}}"#));
        let definition = ContainerDefinition::parse(&body).unwrap();
        assert_eq!(
            (definition.key().kind(), definition.key().version()),
            (kind, version),
            "{key}"
        );
        let written = definition.to_value();
        assert_eq!(written.get("partitionKey").to_string(), answer, "{key}");
        assert_eq!(
            ContainerDefinition::parse(&written),
            Ok(definition),
            "{key}"
        );
    }
}

#[test]
fn partition_keys_that_are_refused() {
    for (key, expected) in [
        (
            r#"{"paths":["/a","/b","/c","/d"],"kind":"MultiHash","version":2}"#,
            "Too many partition key paths (4) specified. A maximum of 3 is allowed.",
        ),
        (
            r#"{"paths":["/a","/b","/c","/d"]}"#,
            "Too many partition key paths (4) specified. A maximum of 3 is allowed.",
        ),
        (
            r#"{"paths":["/a","/b"]}"#,
            "Too many partition key paths (2) specified. A maximum of 1 is allowed.",
        ),
        (r#"{"paths":[]}"#, "must name the path"),
        ("{}", "must name the path"),
        (
            r#"{"paths":["a"]}"#,
            "definition path 'a' could not be accepted",
        ),
        (r#"{"paths":["/a/*"]}"#, "failed near position '3'"),
        (r#"{"paths":["/a/[]/b"]}"#, "failed near position '3'"),
        (
            r#"{"paths":["/a","/a"],"kind":"MultiHash"}"#,
            "'/a' is given twice",
        ),
        (
            r#"{"paths":["/a"],"kind":"Range"}"#,
            "'partitionKey.kind' must be one of Hash, MultiHash",
        ),
        (r#"{"paths":["/a"],"version":3}"#, "must be 1 or 2, not 3"),
        (
            r#"{"paths":["/a"],"version":"2"}"#,
            "must be a whole number, but its type is string",
        ),
        (
            r#"{"paths":["/a"],"kind":"MultiHash","version":1}"#,
            "must be of version 2",
        ),
        (r#"{"paths":"/a"}"#, "'partitionKey.paths' must be an array"),
        (
            r#"{"paths":[5]}"#,
            "'partitionKey.paths[0]' must be a string",
        ),
        (r#""/a""#, "'partitionKey' must be an object"),
    ] {
        let body = json(&format!(r#"{{"id":"c","partitionKey":{key}}}"#));
        let message = message(ContainerDefinition::parse(&body), key);
        assert!(message.contains(expected), "{key}: {message}");
    }
}

#[test]
fn the_required_properties() {
    let parse = |text: &str| ContainerDefinition::parse(&json(text));
    let missing = |name| Err(Failure::MissingProperty(name));
    assert_eq!(parse(r#"{"id":"c"}"#), missing("partitionKey"));
    assert_eq!(parse(r#"{"partitionKey":{"paths":["/a"]}}"#), missing("id"));
    for text in ["[]", r#"{"id":5}"#, r#"{"id":""}"#, r#"{"id":"a/b"}"#] {
        message(parse(text), text);
    }
}

/// What becomes of a policy: the answered form.
fn check_policies(table: &[(&str, &str)]) {
    for (policy, expected) in table {
        let definition = definition(&format!(r#""indexingPolicy":{policy}"#));
        let written = definition.to_value();
        assert_eq!(
            written.get("indexingPolicy").to_string(),
            *expected,
            "{policy}"
        );
        assert_eq!(
            ContainerDefinition::parse(&written),
            Ok(definition),
            "{policy}"
        );
    }
}

#[test]
fn indexing_policies() {
    check_policies(&[
        (
            "{}",
            r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}"#,
        ),
        (
            r#"{"indexingMode":"Consistent","automatic":false,"includedPaths":[],"excludedPaths":[]}"#,
            r#"{"indexingMode":"consistent","automatic":false,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}"#,
        ),
        (
            r#"{"includedPaths":[{"path":"/","indexes":[{"kind":"Range","dataType":"String","precision":-1}]}],"excludedPaths":[{"path":"/a/*"}]}"#,
            r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/*"},{"path":"/\"_etag\"/?"}]}"#,
        ),
        (
            r#"{"excludedPaths":[{"path":"/a/*"},{"path":"/_etag/?"}]}"#,
            r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/*"},{"path":"/_etag/?"}]}"#,
        ),
        (
            r#"{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}"#,
            r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"},{"path":"/\"_etag\"/?"}]}"#,
        ),
        (
            r#"{"excludedPaths":[{"path":"/*"}]}"#,
            r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[],"excludedPaths":[{"path":"/*"},{"path":"/\"_etag\"/?"}]}"#,
        ),
        (
            r#"{"includedPaths":[{"path":"/*"},{"path":"/_etag/?"}]}"#,
            r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"},{"path":"/_etag/?"}],"excludedPaths":[]}"#,
        ),
        (
            r#"{"indexingMode":"none","automatic":true,"includedPaths":[{"path":"/*"}]}"#,
            r#"{"indexingMode":"none","automatic":false,"includedPaths":[],"excludedPaths":[]}"#,
        ),
        (
            r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b/[]/c","order":"descending"}]],"spatialIndexes":[{"path":"/l/*","types":["Point","polygon"]}]}"#,
            r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}],"compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/b/[]/c","order":"descending"}]],"spatialIndexes":[{"path":"/l/*","types":["Point","Polygon"]}]}"#,
        ),
    ]);
}

#[test]
fn indexing_policies_that_are_refused() {
    let path_rule = "Please ensure that the path";
    check_refusals(&[
        (r#""indexingPolicy":{"indexingMode":"lazy"}"#, "lazy"),
        (
            r#""indexingPolicy":{"indexingMode":"often"}"#,
            "must be one of consistent, none",
        ),
        (
            r#""indexingPolicy":{"automatic":"yes"}"#,
            "'indexingPolicy.automatic' must be a boolean",
        ),
        (
            r#""indexingPolicy":{"includedPaths":[{"path":"/a/?"}]}"#,
            path_rule,
        ),
        (
            r#""indexingPolicy":{"includedPaths":[],"excludedPaths":[{"path":"/a/?"}]}"#,
            path_rule,
        ),
        (
            r#""indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/*"}]}"#,
            path_rule,
        ),
        (
            r#""indexingPolicy":{"includedPaths":[{"path":"/*"},{"path":"/a/?"}],"excludedPaths":[{"path":"/\"a\"/?"}]}"#,
            "'/a/?' is not in both",
        ),
        (
            r#""indexingPolicy":{"includedPaths":[{"path":"/a-b/?"}]}"#,
            path_rule,
        ),
        (
            r#""indexingPolicy":{"includedPaths":[{}]}"#,
            "'indexingPolicy.includedPaths[0].path' is missing",
        ),
        (
            r#""indexingPolicy":{"includedPaths":["/*"]}"#,
            "includedPaths[0]' must be an object",
        ),
        (
            r#""indexingPolicy":{"compositeIndexes":[[]]}"#,
            "has 0 paths",
        ),
        (
            r#""indexingPolicy":{"compositeIndexes":[{"path":"/a"}]}"#,
            "must be an array of paths",
        ),
        (
            r#""indexingPolicy":{"compositeIndexes":[[{"path":"/a/?"}]]}"#,
            path_rule,
        ),
        (
            r#""indexingPolicy":{"compositeIndexes":[[{"path":"/a","order":"up"}]]}"#,
            "must be one of ascending, descending; 'up' is not",
        ),
        (
            r#""indexingPolicy":{"spatialIndexes":[{"path":"/l/*","types":[]}]}"#,
            "types' is empty",
        ),
        (
            r#""indexingPolicy":{"spatialIndexes":[{"path":"/l/*"}]}"#,
            "types' is empty",
        ),
        (
            r#""indexingPolicy":{"spatialIndexes":[{"path":"/l/*","types":["Cube"]}]}"#,
            "'Cube' is none of them",
        ),
        (
            r#""geospatialConfig":{"type":"Geometry"},"indexingPolicy":{"spatialIndexes":[{"path":"/l/*","types":["Point"]}]}"#,
            "needs a 'boundingBox'",
        ),
        (
            r#""indexingPolicy":{"spatialIndexes":[{"path":"/l/*","types":["Point"],"boundingBox":{"xmin":1,"ymin":0,"xmax":1,"ymax":5}}]}"#,
            "xmin below xmax",
        ),
        (
            r#""indexingPolicy":{"spatialIndexes":[{"path":"/l/*","types":["Point"],"boundingBox":{"xmin":0,"ymin":0,"xmax":1,"ymax":5}}]}"#,
            "the container is of type Geography",
        ),
        (
            r#""defaultTtl":5,"indexingPolicy":{"indexingMode":"none"}"#,
            "indexing mode is none",
        ),
    ]);
}

#[test]
fn limits_of_lists() {
    let list = |count: usize, item: &str| vec![item; count].join(",");
    let names = |count: usize, text: fn(usize) -> String| {
        (0..count).map(text).collect::<Vec<_>>().join(",")
    };
    let composites = |indexes: usize, paths: usize| {
        let index = format!(
            "[{}]",
            names(paths, |number| format!(r#"{{"path":"/p{number}"}}"#))
        );
        format!(
            r#""indexingPolicy":{{"compositeIndexes":[{}]}}"#,
            list(indexes, &index)
        )
    };
    let included = |count| {
        let paths = list(count, r#"{"path":"/a/?"}"#);
        format!(
            r#""indexingPolicy":{{"includedPaths":[{paths}],"excludedPaths":[{{"path":"/*"}}]}}"#
        )
    };
    let unique = |keys: usize, paths: usize| {
        let key = format!(
            r#"{{"paths":[{}]}}"#,
            names(paths, |number| format!(r#""/p{number}""#))
        );
        format!(
            r#""uniqueKeyPolicy":{{"uniqueKeys":[{}]}}"#,
            list(keys, &key)
        )
    };
    let computed = |count| {
        let property = |number| format!(r#"{{"name":"n{number}","query":"select value 1"}}"#);
        format!(r#""computedProperties":[{}]"#, names(count, property))
    };
    for (accepted, refused) in [
        (composites(12, 8), composites(1, 9)),
        (composites(20, 5), composites(21, 5)),
        (included(1_500), included(1_501)),
        (unique(10, 16), unique(11, 1)),
        (unique(1, 16), unique(1, 17)),
        (computed(20), computed(21)),
    ] {
        definition(&accepted);
        message(ContainerDefinition::parse(&body(&refused)), &refused);
    }
}

#[test]
fn other_settings_that_are_refused() {
    check_refusals(&[
        (
            r#""defaultTtl":0"#,
            "'defaultTtl' must be -1 or a whole number",
        ),
        (r#""defaultTtl":-10"#, "not -10"),
        (r#""defaultTtl":2147483648"#, "from 1 to 2147483647"),
        (r#""defaultTtl":"5""#, "'defaultTtl' must be a whole number"),
        (r#""ttlPropertyPath":"/a""#, "needs 'defaultTtl'"),
        (r#""analyticalStorageTtl":-2"#, "'analyticalStorageTtl'"),
        (
            r#""uniqueKeyPolicy":{"uniqueKeys":[{"paths":[]}]}"#,
            "has 0 paths",
        ),
        (
            r#""uniqueKeyPolicy":{"uniqueKeys":[{"paths":["a"]}]}"#,
            "must begin with '/'",
        ),
        (
            r#""uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a","/a"]}]}"#,
            "given twice",
        ),
        (
            r#""conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/a/b"}"#,
            "Invalid path '/a/b' for last writer wins conflict resolution",
        ),
        (
            r#""conflictResolutionPolicy":{"conflictResolutionPath":"a"}"#,
            "Invalid path 'a' for last writer wins conflict resolution",
        ),
        (
            r#""conflictResolutionPolicy":{"mode":"Dice"}"#,
            "LastWriterWins, Custom",
        ),
        (
            r#""geospatialConfig":{"type":"Flat"}"#,
            "Geography, Geometry",
        ),
        (
            r#""computedProperties":[{"name":"id","query":"SELECT VALUE 1"}]"#,
            "name 'id'",
        ),
        (
            r#""computedProperties":[{"name":"","query":"SELECT VALUE 1"}]"#,
            "name ''",
        ),
        (
            r#""computedProperties":[{"name":"n","query":"SELECT 1"}]"#,
            "SELECT VALUE",
        ),
        (
            r#""computedProperties":[{"name":"n"}]"#,
            "'computedProperties[0].query' is missing",
        ),
        (
            r#""computedProperties":[{"name":"n","query":"SELECT VALUE 1"},{"name":"n","query":"SELECT VALUE 2"}]"#,
            "defined twice",
        ),
        (
            r#""changeFeedPolicy":{"retentionDuration":-1}"#,
            "changeFeedPolicy.retentionDuration",
        ),
        (
            r#""clientEncryptionPolicy":{"policyFormatVersion":3}"#,
            "must be 1 or 2, not 3",
        ),
        (r#""clientEncryptionPolicy":[]"#, "must be an object"),
    ]);
}

/// Vector indexes beside embeddings at `/vector1` (256 dimensions) and `/vector2` (550).
fn vectors(indexes: &str) -> String {
    let embedding = |path: &str, dimensions: u32| {
        format!(
            r#"{{"path":"{path}","dataType":"float32","dimensions":{dimensions},"distanceFunction":"cosine"}}"#
        )
    };
    format!(
        r#""vectorEmbeddingPolicy":{{"vectorEmbeddings":[{},{}]}},"indexingPolicy":{{"vectorIndexes":{indexes}}}"#,
        embedding("/vector1", 256),
        embedding("/vector2", 550),
    )
}

#[test]
fn vector_indexes_come_back_as_they_were_sent() {
    for indexes in [
        r#"[{"path":"/vector1","type":"flat"}]"#,
        r#"[{"path":"/vector1","type":"quantizedFlat","quantizationByteSize":256},{"path":"/vector2","type":"diskANN","quantizationByteSize":512,"indexingSearchListSize":50,"vectorIndexShardKey":["/a/b"],"quantizerType":"spherical"}]"#,
    ] {
        let definition = definition(&vectors(indexes));
        let written = definition.to_value();
        assert_eq!(
            written
                .get("indexingPolicy")
                .get("vectorIndexes")
                .to_string(),
            indexes
        );
        assert_eq!(ContainerDefinition::parse(&written), Ok(definition));
    }
}

#[test]
fn vector_policies_that_are_refused() {
    for (indexes, expected) in [
        (
            r#"[{"path":"/vector3","type":"flat"}]"#,
            "path::/vector3 not matching in Embedding's path",
        ),
        (
            r#"[{"path":"/vector1","type":"notFlat"}]"#,
            "Index Type::notFlat is invalid",
        ),
        (r#"[{"path":"/vector1"}]"#, "type' is missing"),
        (
            r#"[{"path":"/vector2","type":"diskANN"},{"path":"/vector2","type":"quantizedFlat"}]"#,
            "Duplicate Path :/vector2 found in Vector Indexing Policy.",
        ),
        (
            r#"[{"path":"/vector2","type":"flat"}]"#,
            "type flat allows up to 505",
        ),
        (
            r#"[{"path":"/vector1","type":"quantizedFlat","quantizationByteSize":0}]"#,
            "QuantizationByteSize value :: 0 is out of range. The allowed range is between 1 and 256.",
        ),
        (
            r#"[{"path":"/vector2","type":"quantizedFlat","quantizationByteSize":513}]"#,
            "QuantizationByteSize value :: 513 is out of range. The allowed range is between 1 and 512.",
        ),
        (
            r#"[{"path":"/vector1","type":"diskANN","indexingSearchListSize":5}]"#,
            "IndexingSearchListSize value :: 5 is out of range. The allowed range is between 25 and 500.",
        ),
        (
            r#"[{"path":"/vector2","type":"diskANN","vectorIndexShardKey":["country"]}]"#,
            "The Vector Indexing Policy has an invalid Shard Path: country.",
        ),
        (
            r#"[{"path":"/vector2","type":"diskANN","vectorIndexShardKey":["/a","/b","/c"]}]"#,
            "The number of shard paths defined in the Vector Indexing Policy: 3 exceeds the maximum: 1.",
        ),
        (
            r#"[{"path":"/vector2","type":"diskANN","vectorIndexShardKey":"/a"}]"#,
            "vectorIndexShardKey' must be an array",
        ),
        (
            r#"[{"path":"/vector1","type":"flat","quantizerType":"x"}]"#,
            "product, spherical",
        ),
    ] {
        check_refusals(&[(&vectors(indexes), expected)]);
    }
    check_refusals(&[(
        r#""indexingPolicy":{"vectorIndexes":[{"path":"/vector1","type":"flat"}]}"#,
        "vector1 not matching in Embedding's path",
    )]);
}

#[test]
fn embeddings_that_are_refused() {
    for (embedding, expected) in [
        (
            r#"{"path":"/v","dimensions":-1}"#,
            "The Vector Embedding Policy has Dimensions:-1",
        ),
        (
            r#"{"path":"/v","dimensions":8000}"#,
            "The Vector Embedding Policy has Dimensions:8000 which is more than the maximum supported value",
        ),
        (
            r#"{"path":"/v","distanceFunction":"handMeasured"}"#,
            "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured",
        ),
        (
            r#"{"path":"/v","dataType":"float33"}"#,
            "Vector Embedding Policy has an invalid DataType:float33",
        ),
        (r#"{"path":"v"}"#, "invalid Path: v"),
        (
            r#"{"path":"/v"},{"path":"/v"}"#,
            "Duplicate Path :/v found in Vector Embedding Policy.",
        ),
    ] {
        let more = format!(r#""vectorEmbeddingPolicy":{{"vectorEmbeddings":[{embedding}]}}"#);
        check_refusals(&[(&more, expected)]);
    }
    let defaults = definition(r#""vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v"}]}"#);
    assert_eq!(
        defaults.to_value().get("vectorEmbeddingPolicy").to_string(),
        r#"{"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":1536,"distanceFunction":"cosine"}]}"#
    );
}

#[test]
fn full_text_policies() {
    let policy = r#""fullTextPolicy":{"fullTextPaths":[{"path":"/t"}]}"#;
    let indexed =
        |indexes: &str| format!(r#"{policy},"indexingPolicy":{{"fullTextIndexes":{indexes}}}"#);
    let written = definition(&indexed(r#"[{"path":"/t"}]"#)).to_value();
    assert_eq!(
        written
            .get("indexingPolicy")
            .get("fullTextIndexes")
            .to_string(),
        r#"[{"path":"/t"}]"#
    );
    assert_eq!(
        written
            .get("fullTextPolicy")
            .get("defaultLanguage")
            .as_str(),
        Some("en-US")
    );
    check_refusals(&[
        (
            r#""fullTextPolicy":{"defaultLanguage":"fr-FR"}"#,
            "The Full Text Policy contains an unsupported language fr-FR. Supported languages are:",
        ),
        (
            r#""fullTextPolicy":{"fullTextPaths":[{"path":"/t","language":"fr-FR"}]}"#,
            "The Full Text Policy contains an unsupported language fr-FR. Supported languages are:",
        ),
        (
            r#""fullTextPolicy":{"defaultLanguage":""}"#,
            "unsupported language",
        ),
        (
            r#""fullTextPolicy":{"fullTextPaths":[{"path":"t"}]}"#,
            "The Full Text Policy contains an invalid Path: t",
        ),
        (
            r#""fullTextPolicy":{"fullTextPaths":[{"path":"/t"},{"path":"/t"}]}"#,
            "Duplicate Path :/t found in Full Text Policy",
        ),
        (
            r#""fullTextPolicy":{"fullTextPaths":[{"path":"/t"},{"path":"/t","language":"xx-YY"}]},"indexingPolicy":{"fullTextIndexes":[{"path":"/t"},{"path":"/t"}]}"#,
            "The Full Text Policy contains an unsupported language xx-YY.",
        ),
        (
            &indexed(r#"[{"path":"/u"}]"#),
            "The path of the Full Text Index /u does not match the path specified in the Full Text Policy",
        ),
        (
            &indexed(r#"[{"path":"t"}]"#),
            "Full-text index specification at index (0) contains invalid path",
        ),
        (
            &indexed("[{}]"),
            "Missing path in full-text index specification at index (0)",
        ),
        (
            &indexed(r#"[{"path":"/t"},{"path":"/t"}]"#),
            "at index (1) repeats the path /t",
        ),
    ]);
}

#[test]
fn replaces_keep_what_cannot_change() {
    let current = definition(
        r#""defaultTtl":5,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},"conflictResolutionPolicy":{"mode":"Custom"},"clientEncryptionPolicy":{"policyFormatVersion":1},"geospatialConfig":{"type":"Geometry"},"vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v"}]},"indexingPolicy":{"vectorIndexes":[{"path":"/v","type":"diskANN"}]}"#,
    );
    let kept = r#""vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v"},{"path":"/w"}]}"#;
    let new = current
        .replacement(&json(&format!(r#"{{"id":"c",{kept}}}"#)))
        .unwrap();
    assert_eq!(new.default_ttl, None);
    assert_eq!(new.unique_keys, current.unique_keys);
    assert_eq!(
        new.conflict,
        ConflictPolicy::Custom {
            procedure: String::new()
        }
    );
    assert_eq!(new.geospatial, Geospatial::Geometry);
    assert_eq!(new.vector_embeddings.len(), 2);
    for (body, expected) in [
        (format!(r#"{{"id":"d",{kept}}}"#), "The id of a container"),
        (format!(r#"{{"id":"c","partitionKey":{{"paths":["/other"]}},{kept}}}"#), "partition key"),
        (format!(r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"version":2}},{kept}}}"#), "partition key"),
        (format!(r#"{{"id":"c","uniqueKeyPolicy":{{"uniqueKeys":[]}},{kept}}}"#), "unique keys"),
        (
            format!(r#"{{"id":"c","conflictResolutionPolicy":{{"mode":"LastWriterWins"}},{kept}}}"#),
            "Updating conflict resolution policy is currently not supported",
        ),
        (
            format!(r#"{{"id":"c","clientEncryptionPolicy":{{"policyFormatVersion":2}},{kept}}}"#),
            "client encryption policy",
        ),
        (
            r#"{"id":"c","vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dimensions":3}]}}"#.to_owned(),
            "Paths in existing embedding policy cannot be modified in Collection Replace",
        ),
        (
            format!(r#"{{"id":"c",{kept},"indexingPolicy":{{"vectorIndexes":[{{"path":"/v","type":"quantizedFlat"}}]}}}}"#),
            "Paths in existing vector indexing policy cannot be modified in Collection Replace. They can only be \
             added or removed.",
        ),
        (
            r#"{"id":"c","indexingPolicy":{"vectorIndexes":[{"path":"/v","type":"diskANN"}]}}"#.to_owned(),
            "The Vector Indexing Policy's path::/v not matching in Embedding's path.",
        ),
    ] {
        let message = message(current.replacement(&json(&body)), &body);
        assert!(message.contains(expected), "{body}: {message}");
    }
    assert!(message(current.replacement(&json("[]")), "[]").contains("JSON object"));
    let removed = current.replacement(&json(r#"{"id":"c"}"#)).unwrap();
    assert!(removed.vector_embeddings.is_empty() && removed.indexing.vector.is_empty());
    // Another spelling of the same path is the same partition key.
    let respelt = format!(r#"{{"id":"c","partitionKey":{{"paths":["/\"pk\""]}},{kept}}}"#);
    assert!(current.replacement(&json(&respelt)).is_ok());
}

#[test]
fn paths_of_new_partition_keys_have_few_characters() {
    let parsed = |path: &str| {
        let path = Value::from(path);
        let body = json(&format!(
            r#"{{"id":"c","partitionKey":{{"paths":[{path}]}}}}"#
        ));
        (ContainerDefinition::parse_new(&body), body)
    };
    for path in [
        "/a",
        "/a/b_c",
        "/\u{e9}1",
        "/a-b",
        "/'a b'/'c/d'",
        r#"/"a.b"/c"#,
    ] {
        assert!(parsed(path).0.is_ok(), "{path}");
    }
    for (path, position) in [
        ("", 0),
        ("id", 0),
        ("/", 1),
        ("/a/", 3),
        ("/a//b", 3),
        ("/*", 1),
        ("/a/?", 3),
        ("/a.b", 2),
        ("/a+b", 2),
        ("/asdwqr31 @#$#$WRadf", 10),
        ("/'a", 1),
        ("/'a'b", 4),
        ("/''", 1),
    ] {
        let message = message(parsed(path).0, path);
        let expected = format!(
            "The partition key component definition path '{path}' could not be accepted, failed near position \
             '{position}'."
        );
        assert!(message.contains(&expected), "{path}: {message}");
    }
    // A container that is stored with such a path stays readable.
    assert!(ContainerDefinition::parse(&parsed("/a.b").1).is_ok());
}

#[test]
fn boxes_of_stored_geography_stay() {
    let box_of = r#""indexingPolicy":{"spatialIndexes":[{"path":"/l/*","types":["Point"],"boundingBox":{"xmin":0,"ymin":0,"xmax":1,"ymax":5}}]}"#;
    let current = definition(box_of);
    assert!(current.replacement(&body(box_of)).is_ok());
    let other = box_of.replace("\"ymax\":5", "\"ymax\":6");
    let message = message(current.replacement(&body(&other)), &other);
    assert!(
        message.contains("the container is of type Geography"),
        "{message}"
    );
}

#[test]
fn unsupported_settings_are_refused() {
    let current = definition("");
    for property in [
        "materializedViewDefinition",
        "globalSecondaryIndexDefinition",
        "backupPolicy",
    ] {
        let body = body(&format!(r#""{property}":{{"type":1}}"#));
        for result in [
            ContainerDefinition::parse_new(&body),
            current.replacement(&body),
        ] {
            assert!(
                matches!(&result, Err(Failure::NotImplemented(message)) if message.contains(property)),
                "{property}: {result:?}"
            );
        }
    }
    assert!(ContainerDefinition::parse_new(&body(r#""backupPolicy":null"#)).is_ok());
}
