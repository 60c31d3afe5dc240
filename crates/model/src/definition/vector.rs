//! Vectors: the paths with embeddings, and the indexes over the embeddings.

use orrery_json::Value;

use super::fields::{
    DefinitionFields, find_word, invalid_input, list_unless_empty, object, word_of,
};
use super::verbatim_path::VerbatimPath;
use crate::Failure;

/// The vector at one path of the items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorEmbedding {
    pub path: VerbatimPath,
    pub data_type: VectorDataType,
    pub dimensions: u32,
    pub distance: DistanceFunction,
}

/// The type of a vector's components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorDataType {
    Float32,
    Float16,
    Int8,
    Uint8,
}

/// The function that compares two vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistanceFunction {
    Cosine,
    Euclidean,
    DotProduct,
}

/// A vector index. Options that the client left out stay absent, because SDKs compare the answer
/// with the body that they sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorIndex {
    pub path: VerbatimPath,
    pub kind: VectorIndexKind,
    pub quantization_bytes: Option<u32>,
    pub search_list_size: Option<u32>,
    pub shard_key: Vec<VerbatimPath>,
    pub quantizer: Option<Quantizer>,
}

/// The algorithm of a vector index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorIndexKind {
    Flat,
    QuantizedFlat,
    DiskAnn,
}

/// The compression of vectors in a quantized index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantizer {
    Product,
    Spherical,
}

const DATA_TYPES: [(&str, VectorDataType); 4] = [
    ("float32", VectorDataType::Float32),
    ("float16", VectorDataType::Float16),
    ("int8", VectorDataType::Int8),
    ("uint8", VectorDataType::Uint8),
];
const DISTANCES: [(&str, DistanceFunction); 3] = [
    ("cosine", DistanceFunction::Cosine),
    ("euclidean", DistanceFunction::Euclidean),
    ("dotproduct", DistanceFunction::DotProduct),
];
const INDEX_KINDS: [(&str, VectorIndexKind); 3] = [
    ("flat", VectorIndexKind::Flat),
    ("quantizedFlat", VectorIndexKind::QuantizedFlat),
    ("diskANN", VectorIndexKind::DiskAnn),
];
const QUANTIZERS: [(&str, Quantizer); 2] = [
    ("product", Quantizer::Product),
    ("spherical", Quantizer::Spherical),
];

/// The dimensions of an embedding whose policy does not name them.
const DIMENSIONS_DEFAULT: u32 = 1_536;
const DIMENSIONS_MAX: u32 = 4_096;
/// The limit of a flat index, which stores whole vectors.
const FLAT_DIMENSIONS_MAX: u32 = 505;
const QUANTIZATION_BYTES_MAX: u32 = 512;
const SEARCH_LIST_SIZE_MIN: u32 = 25;
const SEARCH_LIST_SIZE_MAX: u32 = 500;
/// The limit on the paths of a shard key.
const SHARD_PATHS_MAX: usize = 1;

/// Parses the embeddings of a container. Each path may have one embedding.
pub(super) fn parse_embeddings(
    body: &DefinitionFields<'_>,
) -> Result<Vec<VectorEmbedding>, Failure> {
    let Some(policy) = body.object("vectorEmbeddingPolicy")? else {
        return Ok(Vec::new());
    };
    let mut embeddings: Vec<VectorEmbedding> = Vec::new();
    for fields in policy.objects("vectorEmbeddings")?.unwrap_or_default() {
        let embedding = parse_embedding(&fields)?;
        if embeddings.iter().any(|other| other.path == embedding.path) {
            return Err(duplicate(&embedding.path, "Embedding"));
        }
        embeddings.push(embedding);
    }
    Ok(embeddings)
}

pub(super) fn embeddings_to_value(embeddings: &[VectorEmbedding]) -> Value {
    let list = list_unless_empty(embeddings.iter().map(|embedding| {
        object([
            ("path", embedding.path.to_value()),
            ("dataType", word_of(&embedding.data_type, &DATA_TYPES)),
            ("dimensions", Value::from(i64::from(embedding.dimensions))),
            ("distanceFunction", word_of(&embedding.distance, &DISTANCES)),
        ])
    }));
    // A container without embeddings has no such policy in its body.
    if list.is_undefined() {
        list
    } else {
        object([("vectorEmbeddings", list)])
    }
}

/// Parses the vector indexes of an indexing policy. Each path may have one index.
pub(super) fn parse_indexes(policy: &DefinitionFields<'_>) -> Result<Vec<VectorIndex>, Failure> {
    let mut indexes: Vec<VectorIndex> = Vec::new();
    for fields in policy.objects("vectorIndexes")?.unwrap_or_default() {
        let index = parse_index(&fields)?;
        if indexes.iter().any(|other| other.path == index.path) {
            return Err(duplicate(&index.path, "Indexing"));
        }
        indexes.push(index);
    }
    Ok(indexes)
}

pub(super) fn indexes_to_value(indexes: &[VectorIndex]) -> Value {
    let number =
        |value: Option<u32>| value.map_or(Value::Undefined, |value| Value::from(i64::from(value)));
    list_unless_empty(indexes.iter().map(|index| {
        let quantizer = index.quantizer.map_or(Value::Undefined, |quantizer| {
            word_of(&quantizer, &QUANTIZERS)
        });
        object([
            ("path", index.path.to_value()),
            ("type", word_of(&index.kind, &INDEX_KINDS)),
            ("quantizationByteSize", number(index.quantization_bytes)),
            ("indexingSearchListSize", number(index.search_list_size)),
            (
                "vectorIndexShardKey",
                list_unless_empty(index.shard_key.iter().map(VerbatimPath::to_value)),
            ),
            ("quantizerType", quantizer),
        ])
    }))
}

/// Checks that every index belongs to an embedding, and that its options fit the dimensions of the
/// embedding.
pub(super) fn check_indexes(
    indexes: &[VectorIndex],
    embeddings: &[VectorEmbedding],
) -> Result<(), Failure> {
    for index in indexes {
        let embedding = embeddings
            .iter()
            .find(|embedding| embedding.path == index.path);
        let Some(embedding) = embedding else {
            return Err(invalid_input(format!(
                "The Vector Indexing Policy's path::{} not matching in Embedding's path. Add the \
                 path to the vector embedding policy.",
                index.path.text()
            )));
        };
        if index.kind == VectorIndexKind::Flat && embedding.dimensions > FLAT_DIMENSIONS_MAX {
            return Err(invalid_input(format!(
                "The vector at '{}' has {} dimensions. An index of type flat allows up to \
                 {FLAT_DIMENSIONS_MAX}; use quantizedFlat or diskANN.",
                index.path.text(),
                embedding.dimensions
            )));
        }
        if let Some(bytes) = index.quantization_bytes {
            // The limit is the number of dimensions, and at most `QUANTIZATION_BYTES_MAX`.
            let bytes_max = embedding.dimensions.min(QUANTIZATION_BYTES_MAX);
            check_range("QuantizationByteSize", i64::from(bytes), 1, bytes_max)?;
        }
    }
    Ok(())
}

/// Checks that embeddings are only added or removed. An embedding at an existing path must not
/// change.
pub(super) fn check_replaced_embeddings(
    current: &[VectorEmbedding],
    new: &[VectorEmbedding],
) -> Result<(), Failure> {
    let is_changed =
        |old: &&VectorEmbedding| new.iter().any(|new| new.path == old.path && new != *old);
    let changed = current.iter().find(is_changed);
    changed.map_or(Ok(()), |old| Err(modified("embedding", &old.path)))
}

/// Checks that vector indexes are only added or removed.
pub(super) fn check_replaced_indexes(
    current: &[VectorIndex],
    new: &[VectorIndex],
) -> Result<(), Failure> {
    let is_changed = |old: &&VectorIndex| new.iter().any(|new| new.path == old.path && new != *old);
    let changed = current.iter().find(is_changed);
    changed.map_or(Ok(()), |old| Err(modified("vector indexing", &old.path)))
}

/// The refusal of a change to an existing path.
fn modified(policy: &str, path: &VerbatimPath) -> Failure {
    invalid_input(format!(
        "Paths in existing {policy} policy cannot be modified in Collection Replace. They can only be added \
         or removed. The path is '{}'.",
        path.text()
    ))
}

fn parse_embedding(fields: &DefinitionFields<'_>) -> Result<VectorEmbedding, Failure> {
    let text = fields.required_text("path")?;
    let path = VerbatimPath::parse(text).map_err(|_| {
        invalid_input(format!(
            "The Vector Embedding Policy has an invalid Path: {text}."
        ))
    })?;
    let data_type = fields.text("dataType")?.unwrap_or("float32");
    let data_type = find_word(data_type, &DATA_TYPES).ok_or_else(|| {
        invalid_input(format!(
            "The Vector Embedding Policy has an invalid DataType:{data_type}. Use float32, \
             float16, int8 or uint8."
        ))
    })?;
    let distance = fields.text("distanceFunction")?.unwrap_or("cosine");
    let distance = find_word(distance, &DISTANCES).ok_or_else(|| {
        invalid_input(format!(
            "The Vector Embedding Policy has an invalid DistanceFunction:{distance}. Use cosine, \
             euclidean or dotproduct."
        ))
    })?;
    let dimensions = parse_dimensions(fields)?;
    Ok(VectorEmbedding {
        path,
        data_type,
        dimensions,
        distance,
    })
}

fn parse_dimensions(fields: &DefinitionFields<'_>) -> Result<u32, Failure> {
    let Some(dimensions) = fields.integer("dimensions")? else {
        return Ok(DIMENSIONS_DEFAULT);
    };
    match u32::try_from(dimensions) {
        Ok(valid @ 1..=DIMENSIONS_MAX) => Ok(valid),
        _ if dimensions < 1 => Err(invalid_input(format!(
            "The Vector Embedding Policy has Dimensions:{dimensions} which is less than the \
             minimum supported value 1."
        ))),
        _ => Err(invalid_input(format!(
            "The Vector Embedding Policy has Dimensions:{dimensions} which is more than the \
             maximum supported value {DIMENSIONS_MAX}."
        ))),
    }
}

fn parse_index(fields: &DefinitionFields<'_>) -> Result<VectorIndex, Failure> {
    let text = fields.required_text("path")?;
    let path = VerbatimPath::parse(text).map_err(|_| {
        invalid_input(format!(
            "The Vector Indexing Policy has an invalid Path: {text}."
        ))
    })?;
    let kind = fields.required_text("type")?;
    let kind = find_word(kind, &INDEX_KINDS).ok_or_else(|| {
        invalid_input(format!(
            "The Vector Indexing Policy's Index Type::{kind} is invalid. Use flat, quantizedFlat \
             or diskANN."
        ))
    })?;
    let search_list_size = fields.integer("indexingSearchListSize")?.map(|value| {
        let (min, max) = (SEARCH_LIST_SIZE_MIN, SEARCH_LIST_SIZE_MAX);
        check_range("IndexingSearchListSize", value, min, max)
    });
    Ok(VectorIndex {
        path,
        kind,
        quantization_bytes: parse_quantization_bytes(fields)?,
        search_list_size: search_list_size.transpose()?,
        shard_key: parse_shard_key(fields)?,
        quantizer: fields.choice("quantizerType", &QUANTIZERS)?,
    })
}

/// The number of bytes. The upper bound depends on the embedding, so `check_indexes` checks it.
fn parse_quantization_bytes(fields: &DefinitionFields<'_>) -> Result<Option<u32>, Failure> {
    let Some(value) = fields.integer("quantizationByteSize")? else {
        return Ok(None);
    };
    u32::try_from(value)
        .map(Some)
        .map_err(|_| out_of_range("QuantizationByteSize", value, 1, QUANTIZATION_BYTES_MAX))
}

fn parse_shard_key(fields: &DefinitionFields<'_>) -> Result<Vec<VerbatimPath>, Failure> {
    let texts = fields.texts("vectorIndexShardKey")?.unwrap_or_default();
    if texts.len() > SHARD_PATHS_MAX {
        return Err(invalid_input(format!(
            "The number of shard paths defined in the Vector Indexing Policy: {} exceeds the \
             maximum: {SHARD_PATHS_MAX}.",
            texts.len()
        )));
    }
    let path = |text: &str| {
        VerbatimPath::parse(text).map_err(|_| {
            invalid_input(format!(
                "The Vector Indexing Policy has an invalid Shard Path: {text}."
            ))
        })
    };
    texts.into_iter().map(path).collect()
}

/// Checks an option with constant limits.
fn check_range(parameter: &str, value: i64, min: u32, max: u32) -> Result<u32, Failure> {
    u32::try_from(value)
        .ok()
        .filter(|valid| (min..=max).contains(valid))
        .ok_or_else(|| out_of_range(parameter, value, min, max))
}

fn out_of_range(parameter: &str, value: i64, min: u32, max: u32) -> Failure {
    invalid_input(format!(
        "The Vector Indexing Policy parameter {parameter} value :: {value} is out of range. The \
         allowed range is between {min} and {max}."
    ))
}

fn duplicate(path: &VerbatimPath, policy: &str) -> Failure {
    invalid_input(format!(
        "Duplicate Path :{} found in Vector {policy} Policy.",
        path.text()
    ))
}
