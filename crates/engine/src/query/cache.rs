//! The cache of compiled queries.
//!
//! Pages of one query, and queries that an application repeats with other values, are parsed and
//! checked once. The result depends on the text, on the container's definition and on the names of
//! its functions, so these three are the complete cache key.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use orrery_model::Failure;
use orrery_partition::Container;
use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use super::cached_query::CachedQuery;
use super::{CompiledQuery, QueryText, parameters};
use crate::Engine;

const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Estimated bytes of a cached query: a multiple of its key's bytes, plus a constant.
const BYTES_PER_KEY_BYTE: u64 = 32;
const CACHED_QUERY_BYTES: u64 = 1024;
const CACHED_QUERIES_EXPECTED: usize = 1_000;

pub(crate) struct QueryCache {
    cached: Cache<CacheKey, Arc<CachedQuery>, KeyWeighter>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Hits and misses of the cache, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryCacheCounts {
    pub hits: u64,
    pub misses: u64,
    pub cached: u64,
    /// Estimated memory of the cached queries.
    pub bytes: u64,
}

struct CacheKey {
    /// The version of the container's definition; no other definition has it.
    version: u64,
    text: String,
    functions: Vec<String>,
}

/// A borrowed key for lookups, which saves copying the text.
struct CacheKeyRef<'a> {
    version: u64,
    text: &'a str,
    functions: &'a [String],
}

impl CacheKey {
    fn as_ref(&self) -> CacheKeyRef<'_> {
        CacheKeyRef {
            version: self.version,
            text: &self.text,
            functions: &self.functions,
        }
    }
}

// The borrowed and the owned key must hash alike, so the owned key hashes through the borrowed
// form.
impl Hash for CacheKeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.version, self.text, self.functions).hash(state);
    }
}

impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl Equivalent<CacheKey> for CacheKeyRef<'_> {
    fn equivalent(&self, key: &CacheKey) -> bool {
        self.version == key.version && self.text == key.text && self.functions == key.functions
    }
}

impl PartialEq for CacheKey {
    fn eq(&self, other: &CacheKey) -> bool {
        self.as_ref().equivalent(other)
    }
}

impl Eq for CacheKey {}

#[derive(Clone)]
struct KeyWeighter;

impl Weighter<CacheKey, Arc<CachedQuery>> for KeyWeighter {
    fn weight(&self, key: &CacheKey, _: &Arc<CachedQuery>) -> u64 {
        let names: usize = key.functions.iter().map(String::len).sum();
        (key.text.len() + names) as u64 * BYTES_PER_KEY_BYTE + CACHED_QUERY_BYTES
    }
}

impl QueryCache {
    pub(crate) fn new() -> QueryCache {
        QueryCache {
            cached: Cache::with_weighter(CACHED_QUERIES_EXPECTED, BYTES_MAX, KeyWeighter),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }
}

impl Engine {
    /// Compiles a query over the items of a container with the values of its parameters. The cache
    /// serves a text that this container has compiled before.
    pub fn compile(
        &self,
        query: &QueryText,
        container: &Container,
    ) -> Result<Arc<CompiledQuery>, Failure> {
        let begun = Instant::now();
        // The memory bound is checked first: compiling copies parameter values.
        let parameter_bytes = parameters::bytes(query)?;
        let cache = &self.queries;
        let functions = self.function_names(&query.text, container);
        let key = CacheKeyRef {
            version: container.version(),
            text: &query.text,
            functions: &functions,
        };
        let bound = if let Some(shape) = cache.cached.get(&key) {
            cache.hits.fetch_add(1, Ordering::Relaxed);
            shape.bind(query)?
        } else {
            cache.misses.fetch_add(1, Ordering::Relaxed);
            let made = CachedQuery::over_items(query, &container.definition, functions.clone());
            let (shape, bound) = made?;
            let key = CacheKey {
                version: container.version(),
                text: query.text.clone(),
                functions,
            };
            cache.cached.insert(key, Arc::new(shape));
            bound
        };
        Ok(Arc::new(CompiledQuery {
            bound,
            compile_time: begun.elapsed(),
            parameter_bytes,
        }))
    }

    /// Statistics of the query cache since the start.
    pub fn query_cache(&self) -> QueryCacheCounts {
        let cache = &self.queries;
        QueryCacheCounts {
            hits: cache.hits.load(Ordering::Relaxed),
            misses: cache.misses.load(Ordering::Relaxed),
            cached: cache.cached.len() as u64,
            bytes: cache.cached.weight(),
        }
    }
}
