//! A cache of compiled scripts; the least recently used one is evicted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ScriptOptions;
use crate::bytecode::Bytecode;

/// The cache. Its lock is not held while a script compiles.
pub(crate) struct Cache {
    entries_max: usize,
    bytes_max: usize,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_source: HashMap<Arc<str>, Entry>,
    bytes: usize,
    uses: u64,
}

struct Entry {
    code: Arc<Bytecode>,
    used: u64,
}

impl Cache {
    pub(crate) fn new(options: &ScriptOptions) -> Cache {
        Cache {
            entries_max: options.cache_entries,
            bytes_max: options.cache_bytes,
            entries: Mutex::default(),
        }
    }

    /// The compiled form of `source`, compiled if it is missing. Two threads may compile the same
    /// source at the same time; one result is kept.
    pub(crate) fn get<E>(
        &self,
        source: &Arc<str>,
        compile: impl FnOnce() -> Result<Bytecode, E>,
    ) -> Result<Arc<Bytecode>, E> {
        if let Some(code) = self.lookup(source) {
            return Ok(code);
        }
        let code = Arc::new(compile()?);
        self.insert(source, Arc::clone(&code));
        Ok(code)
    }

    fn lookup(&self, source: &str) -> Option<Arc<Bytecode>> {
        let mut entries = self.lock();
        entries.uses += 1;
        let used = entries.uses;
        let entry = entries.by_source.get_mut(source)?;
        entry.used = used;
        Some(Arc::clone(&entry.code))
    }

    fn insert(&self, source: &Arc<str>, code: Arc<Bytecode>) {
        let bytes = cost(source, &code);
        // A script larger than the whole cache would evict everything and then itself.
        if bytes > self.bytes_max || self.entries_max == 0 {
            return;
        }
        let mut entries = self.lock();
        let used = entries.uses;
        if let Some(old) = entries
            .by_source
            .insert(Arc::clone(source), Entry { code, used })
        {
            entries.bytes -= cost(source, &old.code);
        }
        entries.bytes += bytes;
        while entries.by_source.len() > self.entries_max || entries.bytes > self.bytes_max {
            entries.evict();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn evict(&mut self) {
        #[expect(clippy::iter_over_hash_type, reason = "`used` differs between entries")]
        let oldest = {
            let mut oldest: Option<(&Arc<str>, u64)> = None;
            for (source, entry) in &self.by_source {
                if oldest.is_none_or(|(_, used)| entry.used < used) {
                    oldest = Some((source, entry.used));
                }
            }
            oldest.map(|(source, _)| Arc::clone(source))
        };
        if let Some(source) = oldest
            && let Some(entry) = self.by_source.remove(&source)
        {
            self.bytes -= cost(&source, &entry.code);
        }
    }
}

/// The memory of an entry: its source is the key, so it counts too.
fn cost(source: &str, code: &Bytecode) -> usize {
    source.len() + code.len()
}

#[cfg(test)]
mod tests {
    use orrery_memory::MemoryShare;

    use super::*;
    use crate::{Clock, ScriptError, compile};

    fn use_script(cache: &Cache, options: &ScriptOptions, name: &str) -> bool {
        let source: Arc<str> = format!("function {name}() {{}}").into();
        let mut compiled = false;
        let result: Result<_, ScriptError> = cache.get(&source, || {
            compiled = true;
            compile::function(options, &Clock::Steps, &MemoryShare::unlimited(), &source)
        });
        assert!(result.is_ok());
        compiled
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let options = ScriptOptions {
            cache_entries: 2,
            ..ScriptOptions::default()
        };
        let cache = Cache::new(&options);
        let compiled =
            ["a", "b", "a", "c", "a", "b"].map(|name| use_script(&cache, &options, name));
        assert_eq!(compiled, [true, true, false, true, false, true]);
        assert_eq!(cache.lock().by_source.len(), 2);
    }

    #[test]
    fn bytes_are_bounded() {
        let options = ScriptOptions {
            cache_bytes: 600,
            ..ScriptOptions::default()
        };
        let cache = Cache::new(&options);
        for number in 0..100 {
            use_script(&cache, &options, &format!("f{number}"));
            assert!(cache.lock().bytes <= 600);
        }
        assert!(!cache.lock().by_source.is_empty());
    }
}
