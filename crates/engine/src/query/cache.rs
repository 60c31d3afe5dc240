//! Shapes of queries that were asked before.
//!
//! Pages of one query and queries that an application repeats with other values are read and
//! checked once. What that gives depends on the text, on the definition of the container and on the
//! names of its functions, so these are the key, in full.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use orrery_model::Failure;
use orrery_partition::Container;
use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use super::shape::Shape;
use super::{CompiledQuery, QueryText, parameters};
use crate::Engine;

const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// A shape has about so many bytes for each byte of its key, and so many beside.
const BYTES_PER_KEY_BYTE: u64 = 32;
const SHAPE_BYTES: u64 = 1024;
const SHAPES_EXPECTED: usize = 1_000;

pub(crate) struct QueryCache {
    shapes: Cache<Key, Arc<Shape>, ByKey>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// How often the shape of a query was known, and how many shapes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryCacheCounts {
    pub hits: u64,
    pub misses: u64,
    pub shapes: u64,
    /// About what they need of memory.
    pub bytes: u64,
}

struct Key {
    /// Of the container's definition, which no other definition has.
    version: u64,
    text: String,
    functions: Vec<String>,
}

/// A key that is only looked for.
struct KeyRef<'a> {
    version: u64,
    text: &'a str,
    functions: &'a [String],
}

impl Key {
    fn as_ref(&self) -> KeyRef<'_> {
        KeyRef {
            version: self.version,
            text: &self.text,
            functions: &self.functions,
        }
    }
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.version, self.text, self.functions).hash(state);
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.version == key.version && self.text == key.text && self.functions == key.functions
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.as_ref().equivalent(other)
    }
}

impl Eq for Key {}

#[derive(Clone)]
struct ByKey;

impl Weighter<Key, Arc<Shape>> for ByKey {
    fn weight(&self, key: &Key, _: &Arc<Shape>) -> u64 {
        let names: usize = key.functions.iter().map(String::len).sum();
        (key.text.len() + names) as u64 * BYTES_PER_KEY_BYTE + SHAPE_BYTES
    }
}

impl QueryCache {
    pub(crate) fn new() -> QueryCache {
        QueryCache {
            shapes: Cache::with_weighter(SHAPES_EXPECTED, BYTES_MAX, ByKey),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }
}

impl Engine {
    /// A query over the items of a container with the values of its parameters. Only a text that
    /// was not asked of this container before is read and checked.
    pub fn compile(
        &self,
        query: &QueryText,
        container: &Container,
    ) -> Result<Arc<CompiledQuery>, Failure> {
        let begun = Instant::now();
        let parameter_bytes = parameters::bytes(query)?;
        let cache = &self.queries;
        let functions = self.function_names(&query.text, container);
        let key = KeyRef {
            version: container.version(),
            text: &query.text,
            functions: &functions,
        };
        let bound = if let Some(shape) = cache.shapes.get(&key) {
            cache.hits.fetch_add(1, Ordering::Relaxed);
            shape.bind(query)?
        } else {
            cache.misses.fetch_add(1, Ordering::Relaxed);
            let made = Shape::over_items(query, &container.definition, functions.clone());
            let (shape, bound) = made?;
            let key = Key {
                version: container.version(),
                text: query.text.clone(),
                functions,
            };
            cache.shapes.insert(key, Arc::new(shape));
            bound
        };
        Ok(Arc::new(CompiledQuery {
            bound,
            compile_time: begun.elapsed(),
            parameter_bytes,
        }))
    }

    /// What has become of the queries since the start.
    pub fn query_cache(&self) -> QueryCacheCounts {
        let cache = &self.queries;
        QueryCacheCounts {
            hits: cache.hits.load(Ordering::Relaxed),
            misses: cache.misses.load(Ordering::Relaxed),
            shapes: cache.shapes.len() as u64,
            bytes: cache.shapes.weight(),
        }
    }
}
