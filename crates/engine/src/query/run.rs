//! A page of a query, from the access that was chosen for it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_exec::{
    Document, ExecError, Finished, Flow, HeldMemory, OrderBound, Page, PathStep, Program,
};
use orrery_index::{
    Access, AccessPlan, EntryScan, IndexDefinition, Places, STRING_BYTES_CUT_MIN, Take, decode,
    encode, skip,
};
use orrery_json::{Object, Value, allocated_bytes_max, parse, parse_fields};
use orrery_model::{Failure, QueryWork, SortOrder, limits};
use orrery_partition::{EntryFlow, EntryPosition, Scanned, StoredItem, View, Visit};

use super::{Pace, stopped};

/// Documents between two looks at the clock.
const DOCUMENTS_PER_LOOK: u64 = 64;
/// Entries of an index between two looks at the clock.
const ENTRIES_PER_LOOK: u64 = 256;
/// A document of this size takes little even in the worst case.
const SMALL_DOCUMENT_BYTES: usize = 4 * 1024;
/// Bytes that a set takes for one place, beside the bytes of the place itself.
const PLACE_BYTES: usize = 96;
/// Places of documents met already, of a walk that may lead to one several times.
const ONCE_PLACES_MAX: usize = 1_000_000;

/// What a page did to find its rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) seeks: usize,
    pub(crate) entries: u64,
    pub(crate) entries_instead: u64,
    pub(crate) documents: u64,
    pub(crate) index_time: Duration,
    pub(crate) load_time: Duration,
}

/// Feeds a page until it is full or the access has no more.
pub(crate) struct Feeder<'a, 'p> {
    pub(crate) program: &'p Program,
    pub(crate) page: Page<'p>,
    pub(crate) view: &'a View,
    pub(crate) definition: &'a IndexDefinition,
    pub(crate) pace: &'a Pace<'a>,
    pub(crate) work: Work,
    pub(crate) entries_met: u64,
    /// Whether to measure where the time goes.
    pub(crate) is_timed: bool,
}

/// The value of an entry cannot stand for its document.
pub(crate) struct NeedsDocuments;

impl Feeder<'_, '_> {
    /// With [`NeedsDocuments`] the page must be begun again, without entries in place of documents.
    pub(crate) fn feed(
        &mut self,
        plan: &AccessPlan,
    ) -> Result<Result<(), NeedsDocuments>, Failure> {
        match &plan.access {
            Access::Nothing => {}
            Access::Documents => self.documents()?,
            Access::Counted(count) => self.counted(*count)?,
            Access::Places(places) => self.places(places)?,
            Access::Named(names) => self.named(names)?,
            Access::Entries(scan) => match scan.take {
                Take::Documents { once } => self.entry_documents(scan, once)?,
                Take::Values | Take::DistinctValues | Take::FirstValue => {
                    return self.entry_values(scan);
                }
            },
        }
        Ok(Ok(()))
    }

    pub(crate) fn finish(self) -> Result<(Finished, Work), Failure> {
        let finished = self.page.finish().map_err(|error| stopped(&error))?;
        Ok((finished, self.work))
    }

    fn counted(&mut self, count: u64) -> Result<(), Failure> {
        let document = Document {
            value: &Value::Object(Object::default()),
            rid: 0,
            text: &Bytes::new(),
            place: &[],
        };
        let flow = self.page.push_alike(document, count);
        flow.map(|_| ()).map_err(|error| stopped(&error))
    }

    fn documents(&mut self) -> Result<(), Failure> {
        let view = self.view;
        let start = self.page.start_place().map(<[u8]>::to_vec);
        let mut failed = None;
        view.documents(start.as_deref(), &mut |scanned: Scanned<'_>| match self
            .push(scanned.place, scanned.item)
        {
            Ok(Flow::More) => Visit::Taken,
            Ok(Flow::Full) => Visit::Full,
            Err(failure) => {
                failed = Some(failure);
                Visit::Full
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    fn places(&mut self, places: &Places) -> Result<(), Failure> {
        let view = self.view;
        self.work.seeks += runs(places);
        let mut walk = view.walk(self.definition, places)?;
        let mut at = Bytes::copy_from_slice(self.page.start_place().unwrap_or_default());
        loop {
            let look = self.look();
            let pace = self.pace;
            let found = walk.seek(&at, &|| pace.is_over())?;
            self.work.index_time += since(look);
            self.work.entries = walk.entries;
            let Some(place) = found else {
                return if walk.is_stopped {
                    Err(Failure::Timeout)
                } else {
                    Ok(())
                };
            };
            if self.push_at(&place, &place)? == Flow::Full {
                return Ok(());
            }
            let mut next = place.to_vec();
            next.push(0);
            at = next.into();
        }
    }

    fn named(&mut self, names: &[String]) -> Result<(), Failure> {
        let view = self.view;
        self.work.seeks += names.len();
        let start = self.page.start_place().unwrap_or_default();
        let places = names.iter().map(|name| view.place_of(name));
        let mut places: Vec<_> = places.filter(|place| place[..] >= *start).collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            if self.push_at(&place, &place)? == Flow::Full {
                break;
            }
        }
        Ok(())
    }

    fn entry_documents(&mut self, scan: &EntryScan, once: bool) -> Result<(), Failure> {
        let view = self.view;
        self.work.seeks += scan.runs.len();
        let mut met: HashSet<Bytes> = HashSet::new();
        let mut held = self.page.hold(0).map_err(|error| stopped(&error))?;
        let start = self.page.start_place().map(<[u8]>::to_vec);
        let order = EntryOrder::of(self.definition, scan);
        let hint = order
            .as_ref()
            .and_then(|order| order.seek_bytes(&self.page.seek_hint()?.value));
        let begin = match (&start, &hint) {
            (Some(position), _) => EntryPosition::At(position),
            (None, Some(value)) => EntryPosition::Value(value),
            (None, None) => EntryPosition::Start,
        };
        let (look, mut elsewhere) = (self.look(), Duration::ZERO);
        let read = view.entries(self.definition, scan, begin, &mut |entry| {
            let bound = order.as_ref().and_then(|order| order.bound(entry.value));
            if bound.is_some_and(|bound| self.page.is_past(&bound)) {
                return Ok(EntryFlow::Stop);
            }
            if self.must_end(entry.position)? {
                return Ok(EntryFlow::Stop);
            }
            if once && !met.insert(Bytes::copy_from_slice(entry.place)) {
                return Ok(EntryFlow::Next);
            }
            if once {
                let bytes = entry.place.len() + PLACE_BYTES;
                held.add(bytes).map_err(|error| stopped(&error))?;
            }
            if met.len() > ONCE_PLACES_MAX {
                return Err(Failure::bad_request(
                    "The query is too large: its filter leads to more than a million items through \
                     elements of arrays. Narrow the filter.",
                ));
            }
            let pushing = self.look();
            let flow = self.push_at(entry.position, entry.place)?;
            elsewhere += since(pushing);
            Ok(match flow {
                Flow::More => EntryFlow::Next,
                Flow::Full => EntryFlow::Stop,
            })
        })?;
        self.work.index_time += since(look).saturating_sub(elsewhere);
        self.work.entries += read;
        Ok(())
    }

    fn entry_values(&mut self, scan: &EntryScan) -> Result<Result<(), NeedsDocuments>, Failure> {
        let view = self.view;
        let path = self.program.reads_only().unwrap_or_default();
        let (mut last, mut alike) = (Vec::new(), Alike::default());
        let mut needs_documents = false;
        let (look, mut elsewhere) = (self.look(), Duration::ZERO);
        let read = view.entries(self.definition, scan, EntryPosition::Start, &mut |entry| {
            let next = if scan.take == Take::DistinctValues {
                EntryFlow::NextValue
            } else {
                EntryFlow::Next
            };
            if self.must_end(entry.position)? {
                return Ok(EntryFlow::Stop);
            }
            if !last.is_empty() && last == entry.value {
                alike.times += 1;
                return Ok(next);
            }
            let giving = self.look();
            let flow = alike.give(&mut self.page)?;
            elsewhere += since(giving);
            if flow == Flow::Full {
                return Ok(EntryFlow::Stop);
            }
            last.clear();
            let decoded = decode(entry.value).map(|(decoded, _)| decoded);
            let decoded = decoded.filter(|decoded| decoded.is_exact);
            if scan.take == Take::FirstValue {
                match decoded.filter(|decoded| !is_long(&decoded.value)) {
                    Some(decoded) => alike.begin(&path.0, decoded.value),
                    None => needs_documents = true,
                }
                return Ok(EntryFlow::Stop);
            }
            match decoded {
                Some(decoded) => {
                    last.extend_from_slice(entry.value);
                    alike.begin(&path.0, decoded.value);
                    Ok(next)
                }
                None => {
                    let pushing = self.look();
                    let flow = self.push_at(entry.position, entry.place)?;
                    elsewhere += since(pushing);
                    Ok(match flow {
                        Flow::More => EntryFlow::Next,
                        Flow::Full => EntryFlow::Stop,
                    })
                }
            }
        })?;
        self.work.index_time += since(look).saturating_sub(elsewhere);
        alike.give(&mut self.page)?;
        self.work.entries_instead += read;
        Ok(if needs_documents {
            Err(NeedsDocuments)
        } else {
            Ok(())
        })
    }

    /// Loads the document at `place`, if it is visible, and gives it to the page.
    fn push_at(&mut self, position: &[u8], place: &[u8]) -> Result<Flow, Failure> {
        let look = self.look();
        let item = self.view.document(place)?;
        self.work.load_time += since(look);
        match item {
            Some(item) => self.push(position, &item),
            None => Ok(Flow::More),
        }
    }

    /// Looks at the clock now and then, also where entries lead to no documents. A page of a stream
    /// ends there, any other fails.
    fn must_end(&mut self, position: &[u8]) -> Result<bool, Failure> {
        self.entries_met += 1;
        if !self.entries_met.is_multiple_of(ENTRIES_PER_LOOK) || !self.pace.is_over() {
            return Ok(false);
        }
        if self.program.needs_whole_scope() {
            return Err(Failure::Timeout);
        }
        self.page.interrupt(position);
        Ok(true)
    }

    fn push(&mut self, position: &[u8], item: &StoredItem) -> Result<Flow, Failure> {
        // A page of a stream may end anywhere; at least one document must be behind it.
        let is_stream = !self.program.needs_whole_scope();
        self.work.documents += 1;
        if is_stream
            && self.work.documents.is_multiple_of(DOCUMENTS_PER_LOOK)
            && (self.pace.is_over()
                || self.pace.elapsed() >= Duration::from_secs(limits::EXECUTION_SECONDS_MAX))
        {
            self.page.interrupt(position);
            return Ok(Flow::Full);
        }
        let text = item.text();
        let _held = match self.hold(&text) {
            Ok(held) => held,
            Err(error) if self.page.ends_early(&error, position) => return Ok(Flow::Full),
            Err(error) => return Err(stopped(&error)),
        };
        let parsed = match self.program.fields() {
            Some(fields) => parse_fields(&text, fields),
            None => parse(&text),
        };
        let value = parsed.map_err(|error| {
            Failure::Internal(format!("a stored document does not parse: {error}"))
        })?;
        let document = Document {
            value: &value,
            rid: item.rid_counter(),
            text: &text,
            place: position,
        };
        self.page.push(document).map_err(|error| stopped(&error))
    }

    /// A large document takes many times its text when it is read.
    fn hold(&self, text: &[u8]) -> Result<Option<HeldMemory>, ExecError> {
        if text.len() <= SMALL_DOCUMENT_BYTES {
            return Ok(None);
        }
        self.page.hold(allocated_bytes_max(text)).map(Some)
    }

    /// Writes into `work` what the page did to find its rows and to make them, from which the
    /// engine computes the charge.
    pub(crate) fn tell(&self, work: &mut QueryWork) {
        let made = self.page.work();
        work.documents = made.documents;
        work.bytes_loaded = to_usize(made.document_bytes);
        work.steps = made.steps;
        work.function_calls = made.calls;
        work.seeks = self.work.seeks;
        work.entries_walked = self.work.entries;
        work.entries_instead = self.work.entries_instead;
    }

    fn look(&self) -> Option<Instant> {
        self.is_timed.then(Instant::now)
    }
}

/// Documents that differ in nothing that is read of them.
#[derive(Default)]
struct Alike {
    document: Value,
    times: u64,
}

impl Alike {
    /// Begins with one document that has only this value at this path.
    fn begin(&mut self, path: &[PathStep], value: Value) {
        self.times = 1;
        let mut place = &mut self.document;
        for step in path {
            let PathStep::Name(name) = step else {
                return;
            };
            if !matches!(place, Value::Object(_)) {
                *place = Value::Object(Object::default());
            }
            let Value::Object(object) = place else {
                return;
            };
            if !object.contains_key(name) {
                object.insert(name.clone(), Value::Undefined);
            }
            let Some(next) = object.get_mut(name) else {
                return;
            };
            place = next;
        }
        *place = value;
    }

    fn give(&mut self, page: &mut Page<'_>) -> Result<Flow, Failure> {
        let document = Document {
            value: &self.document,
            rid: 0,
            text: &Bytes::new(),
            place: &[],
        };
        let times = std::mem::take(&mut self.times);
        let flow = page.push_alike(document, times);
        flow.map_err(|error| stopped(&error))
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn since(look: Option<Instant>) -> Duration {
    look.map_or(Duration::ZERO, |look| look.elapsed())
}

/// Runs that a set of documents is made of.
fn runs(places: &Places) -> usize {
    match places {
        Places::Run(_) => 1,
        Places::Any(list) | Places::All(list) => list.iter().map(runs).sum(),
        Places::Gathered(runs) => runs.len(),
    }
}

fn is_long(value: &Value) -> bool {
    matches!(value, Value::String(text) if text.len() >= STRING_BYTES_CUT_MIN)
}

/// The beginning of a long string, which is what is sure of its place in an index.
fn sure(value: Value) -> (Value, bool) {
    match value {
        Value::String(mut text) if text.len() >= STRING_BYTES_CUT_MIN => {
            text.truncate(text.floor_char_boundary(STRING_BYTES_CUT_MIN));
            (Value::String(text), true)
        }
        value => (value, false),
    }
}

/// Entries in the order of the rows.
struct EntryOrder {
    /// Values of an entry before those of the order; the filter has one for each of them.
    before: usize,
    columns: usize,
    /// The bytes of those values.
    beginning: Vec<u8>,
    /// Whether the first value of the order is held inverted.
    is_inverted: bool,
}

impl EntryOrder {
    /// None if the entries have no order that matters.
    fn of(definition: &IndexDefinition, scan: &EntryScan) -> Option<EntryOrder> {
        let run = scan.runs.first().filter(|_| scan.ordered_columns > 0)?;
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

    /// What the values of an entry say of its document and of all behind it.
    fn bound(&self, mut encoded: &[u8]) -> Option<OrderBound> {
        for _ in 0..self.before {
            encoded = skip(encoded)?;
        }
        let mut values = Vec::with_capacity(self.columns);
        let mut is_cut_last = false;
        while values.len() < self.columns && !is_cut_last {
            let (decoded, rest) = decode(encoded)?;
            encoded = rest;
            let (value, is_cut) = sure(decoded.value);
            values.push(value);
            is_cut_last = is_cut || !decoded.is_exact;
        }
        Some(OrderBound {
            values,
            is_cut_last,
        })
    }

    /// Where the entries begin that have this value first in the order, or may have it.
    fn seek_bytes(&self, value: &Value) -> Option<Vec<u8>> {
        if value.is_undefined() {
            return None;
        }
        let (value, is_cut) = sure(value.clone());
        let mut bytes = Vec::new();
        encode(&value, &mut bytes);
        if is_cut {
            // Without the end of the string, so that it is the beginning of all that begin so.
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
