//! Queries that were compiled before.
//!
//! Pages of one query and queries that an application repeats are compiled once. What a query is
//! compiled to depends on its text, its parameters and the definition of the container, so these
//! are the key, in full.

use std::sync::Arc;

use orrery_json::write_value;
use orrery_model::Failure;
use orrery_partition::Container;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::{CompiledQuery, QueryText};
use crate::Engine;

const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// A program has about so many bytes for each byte of its text and parameters.
const BYTES_PER_KEY_BYTE: u64 = 16;
const QUERIES_EXPECTED: usize = 1_000;

pub(crate) struct QueryCache(Cache<Vec<u8>, Arc<CompiledQuery>, ByText>);

#[derive(Clone)]
struct ByText;

impl Weighter<Vec<u8>, Arc<CompiledQuery>> for ByText {
    fn weight(&self, key: &Vec<u8>, _: &Arc<CompiledQuery>) -> u64 {
        key.len() as u64 * BYTES_PER_KEY_BYTE
    }
}

impl QueryCache {
    pub(crate) fn new() -> QueryCache {
        QueryCache(Cache::with_weighter(QUERIES_EXPECTED, BYTES_MAX, ByText))
    }
}

impl Engine {
    /// Compiles a query over the items of a container, or finds it compiled.
    pub fn compile(
        &self,
        query: &QueryText,
        container: &Container,
    ) -> Result<Arc<CompiledQuery>, Failure> {
        let functions = self.function_names(&query.text, container);
        let key = key(query, container, &functions);
        if let Some(compiled) = self.queries.0.get(&key) {
            return Ok(compiled);
        }
        let compiled = Arc::new(CompiledQuery::over_items_with(
            query,
            &container.definition,
            &functions,
        )?);
        self.queries.0.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }
}

fn key(query: &QueryText, container: &Container, functions: &[String]) -> Vec<u8> {
    let mut key = Vec::with_capacity(64 + query.text.len());
    key.extend_from_slice(&container.version().to_be_bytes());
    let mut part = |bytes: &[u8]| {
        key.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        key.extend_from_slice(bytes);
    };
    part(query.text.as_bytes());
    for function in functions {
        part(function.as_bytes());
    }
    part(&[]);
    let mut value = Vec::new();
    for (name, parameter) in &query.parameters {
        part(name.as_bytes());
        value.clear();
        write_value(parameter, &mut value);
        part(&value);
    }
    if let Some(resume) = &query.resume {
        part(&[u8::from(resume.exclude)]);
        part(&resume.rid_counter.map_or([0; 8], u64::to_be_bytes));
        part(&[u8::from(resume.rid_counter.is_some())]);
        for resume_value in &resume.values {
            value.clear();
            write_value(resume_value, &mut value);
            part(&value);
        }
    }
    key
}
