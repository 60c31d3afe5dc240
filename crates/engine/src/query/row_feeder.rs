//! Feeds a page of a query with the documents or index entries of its access plan.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_exec::{
    ExecError, Flow, InputDocument, OrderBound, Page, PageLease, PageResult, PathStep, Program,
};
use orrery_index::{
    AccessPath, AccessPlan, DocumentSet, EntryOutput, EntryScan, IndexDefinition,
    STRING_BYTES_CUT_MIN, decode, encode, skip,
};
use orrery_json::{Object, Value, allocated_bytes_max, parse, parse_fields};
use orrery_model::{Failure, QueryWork, SortOrder};
use orrery_partition::{EntryFlow, EntryPosition, ScannedItem, StoredItem, View, Visit};

use super::{PageSchedule, exec_failure};

/// Documents between two checks of the deadline.
const DOCUMENTS_PER_TIME_CHECK: u64 = 64;
/// Index entries between two checks of the deadline.
const ENTRIES_PER_TIME_CHECK: u64 = 256;
/// Parsing a document up to this size takes little memory even in the worst case, so it needs no
/// lease.
const SMALL_DOCUMENT_BYTES: usize = 4 * 1024;
/// Bytes of a hash set entry in addition to the key position itself.
const KEY_POSITION_BYTES: usize = 96;
/// Limit of remembered documents in a walk that can reach one document several times.
const DISTINCT_DOCUMENTS_MAX: usize = 1_000_000;

/// The work of a page to find its rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AccessWork {
    pub(crate) seeks: usize,
    pub(crate) entries: u64,
    pub(crate) covered_entries: u64,
    pub(crate) documents: u64,
    pub(crate) index_time: Duration,
    pub(crate) load_time: Duration,
}

/// Feeds a page until the page is full or the access ends.
pub(crate) struct RowFeeder<'a, 'p> {
    pub(crate) program: &'p Program,
    pub(crate) page: Page<'p>,
    pub(crate) view: &'a View,
    pub(crate) definition: &'a IndexDefinition,
    pub(crate) schedule: &'a PageSchedule<'a>,
    /// How long the page may take.
    pub(crate) patience: Duration,
    pub(crate) work: AccessWork,
    pub(crate) entries_seen: u64,
    /// Whether to measure the time of each phase for a report.
    pub(crate) is_timed: bool,
    /// Whether the query passes over items that their writes left out of the index.
    pub(crate) only_indexed: bool,
}

/// The access met an index entry whose value cannot stand in for its document.
pub(crate) struct NeedsDocuments;

impl RowFeeder<'_, '_> {
    /// Feeds the page. After [`NeedsDocuments`] the caller must begin the page again without
    /// entries in place of documents.
    pub(crate) fn feed(
        &mut self,
        plan: &AccessPlan,
    ) -> Result<Result<(), NeedsDocuments>, Failure> {
        match &plan.access {
            AccessPath::Nothing => {}
            AccessPath::DocumentScan => self.document_scan()?,
            AccessPath::StoredCount(count) => self.stored_count(*count)?,
            AccessPath::DocumentSet(documents) => self.document_set(documents)?,
            AccessPath::IdLookup(names) => self.id_lookup(names)?,
            AccessPath::Entries(scan) => match scan.output {
                EntryOutput::Documents { once } => self.entry_documents(scan, once)?,
                EntryOutput::Values | EntryOutput::DistinctValues | EntryOutput::FirstValue => {
                    return self.entry_values(scan);
                }
            },
        }
        Ok(Ok(()))
    }

    pub(crate) fn finish(self) -> Result<(PageResult, AccessWork), Failure> {
        let finished = self.page.finish().map_err(|error| exec_failure(&error))?;
        Ok((finished, self.work))
    }

    /// Feeds a count that the store keeps, as that many identical empty documents.
    fn stored_count(&mut self, count: u64) -> Result<(), Failure> {
        let document = InputDocument {
            value: &Value::Object(Object::default()),
            rid: 0,
            text: &Bytes::new(),
            scan_position: &[],
        };
        let flow = self.page.push_repeated(document, count);
        flow.map(|_| ()).map_err(|error| exec_failure(&error))
    }

    fn document_scan(&mut self) -> Result<(), Failure> {
        let view = self.view;
        let start = self.page.start_position().map(<[u8]>::to_vec);
        let mut failed = None;
        // The time inside the program is subtracted, so that the load time covers the storage only.
        let (timer, mut excluded_time) = (self.start_timer(), Duration::ZERO);
        view.documents(start.as_deref(), &mut |scanned: ScannedItem<'_>| {
            let pushing = self.start_timer();
            let flow = self.push(scanned.key_position, scanned.item);
            excluded_time += since(pushing);
            match flow {
                Ok(Flow::More) => Visit::Taken,
                Ok(Flow::Full) => Visit::Full,
                Err(failure) => {
                    failed = Some(failure);
                    Visit::Full
                }
            }
        })?;
        self.work.load_time += since(timer).saturating_sub(excluded_time);
        failed.map_or(Ok(()), Err)
    }

    fn document_set(&mut self, documents: &DocumentSet) -> Result<(), Failure> {
        let view = self.view;
        self.work.seeks += count_ranges(documents);
        let mut walk = view.walk(self.definition, documents)?;
        let mut at = Bytes::copy_from_slice(self.page.start_position().unwrap_or_default());
        loop {
            let timer = self.start_timer();
            let schedule = self.schedule;
            let found = walk.seek(&at, &|| schedule.yield_and_check())?;
            self.work.index_time += since(timer);
            self.work.entries = walk.entries;
            let Some(key_position) = found else {
                return if walk.is_stopped {
                    Err(Failure::Timeout)
                } else {
                    Ok(())
                };
            };
            if self.push_at(&key_position, &key_position)? == Flow::Full {
                return Ok(());
            }
            // The next seek begins directly behind this key.
            let mut next = key_position.to_vec();
            next.push(0);
            at = next.into();
        }
    }

    fn id_lookup(&mut self, names: &[String]) -> Result<(), Failure> {
        let view = self.view;
        self.work.seeks += names.len();
        let start = self.page.start_position().unwrap_or_default();
        let key_positions = names.iter().map(|name| view.key_position_of(name));
        let mut key_positions: Vec<_> = key_positions
            .filter(|key_position| key_position[..] >= *start)
            .collect();
        // A continuation names a stored key, so the ids are visited in stored-key order.
        key_positions.sort_unstable();
        key_positions.dedup();
        for key_position in key_positions {
            if self.push_at(&key_position, &key_position)? == Flow::Full {
                break;
            }
        }
        Ok(())
    }

    fn entry_documents(&mut self, scan: &EntryScan, once: bool) -> Result<(), Failure> {
        let view = self.view;
        self.work.seeks += scan.ranges.len();
        let mut seen: HashSet<Bytes> = HashSet::new();
        let mut held = self.page.lease(0).map_err(|error| exec_failure(&error))?;
        let start = self.page.start_position().map(<[u8]>::to_vec);
        let order = EntryOrder::of(self.definition, scan);
        let hint = order
            .as_ref()
            .and_then(|order| order.seek_bytes(&self.page.seek_hint()?.value));
        let begin = match (&start, &hint) {
            (Some(position), _) => EntryPosition::At(position),
            (None, Some(value)) => EntryPosition::Value(value),
            (None, None) => EntryPosition::Start,
        };
        let (timer, mut excluded_time) = (self.start_timer(), Duration::ZERO);
        let read = view.entries(self.definition, scan, begin, &mut |entry| {
            let bound = order.as_ref().and_then(|order| order.bound(entry.value));
            // Entries come in row order: behind this bound no document can contribute to the page.
            if bound.is_some_and(|bound| self.page.is_past(&bound)) {
                return Ok(EntryFlow::Stop);
            }
            if self.must_end(entry.position)? {
                return Ok(EntryFlow::Stop);
            }
            // An array path has several entries per document, and the document must count once.
            if once && !seen.insert(Bytes::copy_from_slice(entry.key_position)) {
                return Ok(EntryFlow::Next);
            }
            if once {
                let bytes = entry.key_position.len() + KEY_POSITION_BYTES;
                held.add(bytes).map_err(|error| exec_failure(&error))?;
            }
            if seen.len() > DISTINCT_DOCUMENTS_MAX {
                return Err(Failure::bad_request(
                    "The query is too large: its filter leads to more than a million items through \
                     elements of arrays. Narrow the filter.",
                ));
            }
            let pushing = self.start_timer();
            let flow = self.push_at(entry.position, entry.key_position)?;
            excluded_time += since(pushing);
            Ok(match flow {
                Flow::More => EntryFlow::Next,
                Flow::Full => EntryFlow::Stop,
            })
        })?;
        self.work.index_time += since(timer).saturating_sub(excluded_time);
        self.work.entries += read;
        Ok(())
    }

    fn entry_values(&mut self, scan: &EntryScan) -> Result<Result<(), NeedsDocuments>, Failure> {
        let view = self.view;
        let path = self.program.covering_path().unwrap_or_default();
        let (mut last, mut run) = (Vec::new(), IdenticalDocuments::default());
        let mut needs_documents = false;
        let (timer, mut excluded_time) = (self.start_timer(), Duration::ZERO);
        let read = view.entries(self.definition, scan, EntryPosition::Start, &mut |entry| {
            let next = if scan.output == EntryOutput::DistinctValues {
                EntryFlow::NextValue
            } else {
                EntryFlow::Next
            };
            if self.must_end(entry.position)? {
                return Ok(EntryFlow::Stop);
            }
            // Equal neighbouring values form one run, which reaches the page as one value with a
            // count.
            if !last.is_empty() && last == entry.value {
                run.times += 1;
                return Ok(next);
            }
            let emitting = self.start_timer();
            let flow = run.emit(&mut self.page)?;
            excluded_time += since(emitting);
            if flow == Flow::Full {
                return Ok(EntryFlow::Stop);
            }
            last.clear();
            let decoded = decode(entry.value).map(|(decoded, _)| decoded);
            let decoded = decoded.filter(|decoded| decoded.is_exact);
            // A minimum or maximum needs only the first entry, but it needs its exact value.
            if scan.output == EntryOutput::FirstValue {
                match decoded.filter(|decoded| !is_long(&decoded.value)) {
                    Some(decoded) => run.begin(&path.0, decoded.value),
                    None => needs_documents = true,
                }
                return Ok(EntryFlow::Stop);
            }
            match decoded {
                Some(decoded) => {
                    last.extend_from_slice(entry.value);
                    run.begin(&path.0, decoded.value);
                    Ok(next)
                }
                // The entry holds only the beginning of a long value, so this document is loaded.
                None => {
                    let pushing = self.start_timer();
                    let flow = self.push_at(entry.position, entry.key_position)?;
                    excluded_time += since(pushing);
                    Ok(match flow {
                        Flow::More => EntryFlow::Next,
                        Flow::Full => EntryFlow::Stop,
                    })
                }
            }
        })?;
        self.work.index_time += since(timer).saturating_sub(excluded_time);
        run.emit(&mut self.page)?;
        self.work.covered_entries += read;
        Ok(if needs_documents {
            Err(NeedsDocuments)
        } else {
            Ok(())
        })
    }

    /// Loads the document at a key position and pushes it into the page, if the document is
    /// visible.
    fn push_at(&mut self, position: &[u8], key_position: &[u8]) -> Result<Flow, Failure> {
        let timer = self.start_timer();
        let item = self.view.document(key_position)?;
        self.work.load_time += since(timer);
        match item {
            Some(item) => self.push(position, &item),
            None => Ok(Flow::More),
        }
    }

    /// Checks the deadline at intervals, also while entries lead to no documents. A late stream
    /// ends its page here; any other query fails.
    fn must_end(&mut self, position: &[u8]) -> Result<bool, Failure> {
        self.entries_seen += 1;
        if !self.entries_seen.is_multiple_of(ENTRIES_PER_TIME_CHECK)
            || !self.schedule.yield_and_check()
        {
            return Ok(false);
        }
        if self.program.needs_whole_scope() {
            return Err(Failure::Timeout);
        }
        self.page.end_before(position);
        Ok(true)
    }

    fn push(&mut self, position: &[u8], item: &StoredItem) -> Result<Flow, Failure> {
        // A page of a stream may end at any document behind its first one. A page without any
        // document would not progress.
        let is_stream = !self.program.needs_whole_scope();
        self.work.documents += 1;
        if is_stream
            && self.work.documents.is_multiple_of(DOCUMENTS_PER_TIME_CHECK)
            && (self.schedule.yield_and_check() || self.schedule.elapsed() >= self.patience)
        {
            self.page.end_before(position);
            return Ok(Flow::Full);
        }
        if self.only_indexed && !item.is_indexed() {
            return Ok(Flow::More);
        }
        let text = item.text();
        // The lease covers the parsed form for as long as the program reads it.
        let _held = match self.lease(&text) {
            Ok(held) => held,
            Err(error) if self.page.try_end_before(&error, position) => return Ok(Flow::Full),
            Err(error) => return Err(exec_failure(&error)),
        };
        // Fields that the program never reads are not parsed.
        let parsed = match self.program.fields() {
            Some(fields) => parse_fields(&text, fields),
            None => parse(&text),
        };
        let value = parsed.map_err(|error| {
            Failure::Internal(format!("a stored document does not parse: {error}"))
        })?;
        let document = InputDocument {
            value: &value,
            rid: item.rid_counter(),
            text: &text,
            scan_position: position,
        };
        self.page
            .push(document)
            .map_err(|error| exec_failure(&error))
    }

    /// Leases memory for the parsed form of a large document, which is many times the size of its
    /// text.
    fn lease(&self, text: &[u8]) -> Result<Option<PageLease>, ExecError> {
        if text.len() <= SMALL_DOCUMENT_BYTES {
            return Ok(None);
        }
        self.page.lease(allocated_bytes_max(text)).map(Some)
    }

    /// Adds the work of the page to `work`, from which the engine computes the charge.
    pub(crate) fn report_work(&self, work: &mut QueryWork) {
        let made = self.page.work();
        work.documents = made.documents;
        work.bytes_loaded = to_usize(made.document_bytes);
        work.steps = made.steps;
        work.function_calls = made.calls;
        work.seeks = self.work.seeks;
        work.scanned_entries = self.work.entries;
        work.covered_entries = self.work.covered_entries;
    }

    fn start_timer(&self) -> Option<Instant> {
        self.is_timed.then(Instant::now)
    }
}

/// A run of documents that agree in everything that the query reads.
#[derive(Default)]
struct IdenticalDocuments {
    document: Value,
    times: u64,
}

impl IdenticalDocuments {
    /// Starts a run with a document that has only this value at this path.
    fn begin(&mut self, path: &[PathStep], value: Value) {
        self.times = 1;
        let mut value_at_path = &mut self.document;
        for step in path {
            let PathStep::Name(name) = step else {
                return;
            };
            if !matches!(value_at_path, Value::Object(_)) {
                *value_at_path = Value::Object(Object::default());
            }
            let Value::Object(object) = value_at_path else {
                return;
            };
            if !object.contains_key(name) {
                object.insert(name.clone(), Value::Undefined);
            }
            let Some(next) = object.get_mut(name) else {
                return;
            };
            value_at_path = next;
        }
        *value_at_path = value;
    }

    fn emit(&mut self, page: &mut Page<'_>) -> Result<Flow, Failure> {
        let document = InputDocument {
            value: &self.document,
            rid: 0,
            text: &Bytes::new(),
            scan_position: &[],
        };
        let times = std::mem::take(&mut self.times);
        let flow = page.push_repeated(document, times);
        flow.map_err(|error| exec_failure(&error))
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn since(timer: Option<Instant>) -> Duration {
    timer.map_or(Duration::ZERO, |timer| timer.elapsed())
}

/// The number of index ranges in a set of documents.
fn count_ranges(documents: &DocumentSet) -> usize {
    match documents {
        DocumentSet::Point(_) => 1,
        DocumentSet::Union(list) | DocumentSet::Intersection(list) => {
            list.iter().map(count_ranges).sum()
        }
        DocumentSet::Gathered(runs) => runs.len(),
    }
}

fn is_long(value: &Value) -> bool {
    matches!(value, Value::String(text) if text.len() >= STRING_BYTES_CUT_MIN)
}

/// The prefix of a long string that an index entry is sure to contain.
fn exact_prefix(value: Value) -> (Value, bool) {
    match value {
        Value::String(mut text) if text.len() >= STRING_BYTES_CUT_MIN => {
            text.truncate(text.floor_char_boundary(STRING_BYTES_CUT_MIN));
            (Value::String(text), true)
        }
        value => (value, false),
    }
}

/// The order of index entries relative to the query's `ORDER BY`.
struct EntryOrder {
    /// Leading columns that the filter fixes to one value each.
    before: usize,
    columns: usize,
    /// The encoded values of these leading columns.
    beginning: Vec<u8>,
    /// Whether the index stores the first ordered column inverted (descending).
    is_inverted: bool,
}

impl EntryOrder {
    /// Returns `None` if the order of entries does not serve the query.
    fn of(definition: &IndexDefinition, scan: &EntryScan) -> Option<EntryOrder> {
        let run = scan.ranges.first().filter(|_| scan.ordered_columns > 0)?;
        let mut composites = definition.composites();
        let composite = composites.find(|(hash, _)| *hash == run.index);
        let parts = composite.map_or(&[][..], |(_, parts)| parts);
        let before = parts.len().saturating_sub(scan.ordered_columns);
        let mut rest = &run.from[..];
        for _ in 0..before {
            rest = skip(rest)?;
        }
        let is_inverted = parts.get(before).map(|part| part.order) == Some(SortOrder::Descending);
        Some(EntryOrder {
            before,
            columns: scan.ordered_columns,
            beginning: run.from[..run.from.len() - rest.len()].to_vec(),
            is_inverted,
        })
    }

    /// The bound that an entry implies for its own document and for all later ones.
    fn bound(&self, mut encoded: &[u8]) -> Option<OrderBound> {
        for _ in 0..self.before {
            encoded = skip(encoded)?;
        }
        let mut values = Vec::with_capacity(self.columns);
        // Behind a cut value the remaining columns are not in order, so the bound ends there.
        let mut is_cut_last = false;
        while values.len() < self.columns && !is_cut_last {
            let (decoded, rest) = decode(encoded)?;
            encoded = rest;
            let (value, is_cut) = exact_prefix(decoded.value);
            values.push(value);
            is_cut_last = is_cut || !decoded.is_exact;
        }
        Some(OrderBound {
            values,
            is_cut_last,
        })
    }

    /// The encoded position of the first entries whose leading value can equal this value.
    fn seek_bytes(&self, value: &Value) -> Option<Vec<u8>> {
        if value.is_undefined() {
            return None;
        }
        let (value, is_cut) = exact_prefix(value.clone());
        let mut bytes = Vec::new();
        encode(&value, &mut bytes);
        if is_cut {
            // The terminator is cut off, so that the bytes are a prefix of every string with this
            // beginning.
            bytes.truncate(bytes.len() - 2);
        }
        if self.is_inverted {
            for byte in &mut bytes {
                *byte = !*byte;
            }
        }
        Some([&self.beginning[..], &bytes].concat())
    }
}
