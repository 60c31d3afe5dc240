//! Vectors: which paths hold embeddings, and how those are indexed.

use orrery_json::Value;

use super::fields::{Fields, find_word, list_unless_empty, object, refused, word_of};
use super::written_path::WrittenPath;
use crate::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorEmbedding {
    pub path: WrittenPath,
    pub data_type: VectorDataType,
    pub dimensions: u32,
    pub distance: DistanceFunction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorDataType {
    Float32,
    Float16,
    Int8,
    Uint8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistanceFunction {
    Cosine,
    Euclidean,
    DotProduct,
}

/// Options that the client left out stay absent, because clients compare what they sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorIndex {
    pub path: WrittenPath,
    pub kind: VectorIndexKind,
    pub quantization_bytes: Option<u32>,
    pub search_list_size: Option<u32>,
    pub shard_key: Vec<WrittenPath>,
    pub quantizer: Option<Quantizer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorIndexKind {
    Flat,
    QuantizedFlat,
    DiskAnn,
}

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

const DIMENSIONS_DEFAULT: u32 = 1_536;
const DIMENSIONS_MAX: u32 = 4_096;
const FLAT_DIMENSIONS_MAX: u32 = 505;
const QUANTIZATION_BYTES_MAX: u32 = 512;
const SEARCH_LIST_SIZE_MIN: u32 = 25;
const SEARCH_LIST_SIZE_MAX: u32 = 500;
const SHARD_PATHS_MAX: usize = 1;

pub(super) fn parse_embeddings(body: &Fields<'_>) -> Result<Vec<VectorEmbedding>, Failure> {
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
    if list.is_undefined() {
        list
    } else {
        object([("vectorEmbeddings", list)])
    }
}

pub(super) fn parse_indexes(policy: &Fields<'_>) -> Result<Vec<VectorIndex>, Failure> {
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
                list_unless_empty(index.shard_key.iter().map(WrittenPath::to_value)),
            ),
            ("quantizerType", quantizer),
        ])
    }))
}

/// Every index is for an embedding, and its options fit the dimensions of that.
pub(super) fn check_indexes(
    indexes: &[VectorIndex],
    embeddings: &[VectorEmbedding],
) -> Result<(), Failure> {
    for index in indexes {
        let embedding = embeddings
            .iter()
            .find(|embedding| embedding.path == index.path);
        let Some(embedding) = embedding else {
            return Err(refused(format!(
                "The Vector Indexing Policy's path::{} not matching in Embedding's path. Add the \
                 path to the vector embedding policy.",
                index.path.text()
            )));
        };
        if index.kind == VectorIndexKind::Flat && embedding.dimensions > FLAT_DIMENSIONS_MAX {
            return Err(refused(format!(
                "The vector at '{}' has {} dimensions. An index of type flat allows up to \
                 {FLAT_DIMENSIONS_MAX}; use quantizedFlat or diskANN.",
                index.path.text(),
                embedding.dimensions
            )));
        }
        if let Some(bytes) = index.quantization_bytes {
            let bytes_max = embedding.dimensions.min(QUANTIZATION_BYTES_MAX);
            check_range("QuantizationByteSize", i64::from(bytes), 1, bytes_max)?;
        }
    }
    Ok(())
}

/// Embeddings may be added to a container; those that are there stay as they are.
pub(super) fn check_replace(
    current: &[VectorEmbedding],
    new: &[VectorEmbedding],
) -> Result<(), Failure> {
    match current.iter().find(|embedding| !new.contains(embedding)) {
        None => Ok(()),
        Some(embedding) => Err(refused(format!(
            "The Vector Embedding Policy cannot be changed in a replace: keep the embedding at \
             '{}' as it is.",
            embedding.path.text()
        ))),
    }
}

fn parse_embedding(fields: &Fields<'_>) -> Result<VectorEmbedding, Failure> {
    let text = fields.required_text("path")?;
    let path = WrittenPath::parse(text).map_err(|_| {
        refused(format!(
            "The Vector Embedding Policy has an invalid Path: {text}."
        ))
    })?;
    let data_type = fields.text("dataType")?.unwrap_or("float32");
    let data_type = find_word(data_type, &DATA_TYPES).ok_or_else(|| {
        refused(format!(
            "The Vector Embedding Policy has an invalid DataType:{data_type}. Use float32, \
             float16, int8 or uint8."
        ))
    })?;
    let distance = fields.text("distanceFunction")?.unwrap_or("cosine");
    let distance = find_word(distance, &DISTANCES).ok_or_else(|| {
        refused(format!(
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

fn parse_dimensions(fields: &Fields<'_>) -> Result<u32, Failure> {
    let Some(dimensions) = fields.integer("dimensions")? else {
        return Ok(DIMENSIONS_DEFAULT);
    };
    match u32::try_from(dimensions) {
        Ok(valid @ 1..=DIMENSIONS_MAX) => Ok(valid),
        _ if dimensions < 1 => Err(refused(format!(
            "The Vector Embedding Policy has Dimensions:{dimensions} which is less than the \
             minimum supported value 1."
        ))),
        _ => Err(refused(format!(
            "The Vector Embedding Policy has Dimensions:{dimensions} which is more than the \
             maximum supported value {DIMENSIONS_MAX}."
        ))),
    }
}

fn parse_index(fields: &Fields<'_>) -> Result<VectorIndex, Failure> {
    let text = fields.required_text("path")?;
    let path = WrittenPath::parse(text).map_err(|_| {
        refused(format!(
            "The Vector Indexing Policy has an invalid Path: {text}."
        ))
    })?;
    let kind = fields.required_text("type")?;
    let kind = find_word(kind, &INDEX_KINDS).ok_or_else(|| {
        refused(format!(
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

/// The upper bound depends on the embedding, which is not known yet.
fn parse_quantization_bytes(fields: &Fields<'_>) -> Result<Option<u32>, Failure> {
    let Some(value) = fields.integer("quantizationByteSize")? else {
        return Ok(None);
    };
    u32::try_from(value)
        .map(Some)
        .map_err(|_| out_of_range("QuantizationByteSize", value, 1, QUANTIZATION_BYTES_MAX))
}

fn parse_shard_key(fields: &Fields<'_>) -> Result<Vec<WrittenPath>, Failure> {
    let texts = fields.texts("vectorIndexShardKey")?.unwrap_or_default();
    if texts.len() > SHARD_PATHS_MAX {
        return Err(refused(format!(
            "The number of shard paths defined in the Vector Indexing Policy: {} exceeds the \
             maximum: {SHARD_PATHS_MAX}.",
            texts.len()
        )));
    }
    let path = |text: &str| {
        WrittenPath::parse(text).map_err(|_| {
            refused(format!(
                "The Vector Indexing Policy has an invalid Shard Path: {text}."
            ))
        })
    };
    texts.into_iter().map(path).collect()
}

fn check_range(parameter: &str, value: i64, min: u32, max: u32) -> Result<u32, Failure> {
    u32::try_from(value)
        .ok()
        .filter(|valid| (min..=max).contains(valid))
        .ok_or_else(|| out_of_range(parameter, value, min, max))
}

fn out_of_range(parameter: &str, value: i64, min: u32, max: u32) -> Failure {
    refused(format!(
        "The Vector Indexing Policy parameter {parameter} value :: {value} is out of range. The \
         allowed range is between {min} and {max}."
    ))
}

fn duplicate(path: &WrittenPath, policy: &str) -> Failure {
    refused(format!(
        "Duplicate Path :{} found in Vector {policy} Policy.",
        path.text()
    ))
}
