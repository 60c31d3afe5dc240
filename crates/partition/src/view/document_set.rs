//! Walks over sets of documents in document key order.
//!
//! Each set can seek to its first member at or after a key position. A union seeks in all its
//! members and takes the first result; an intersection lets its members seek in turn until they
//! agree.

use bytes::Bytes;
use orrery_index::{DocumentSet, EntryRange, IndexDefinition};
use orrery_model::Failure;
use orrery_storage::Range;

use super::{EntryFlow, EntryPosition, View};
use crate::Error;
use crate::committer::internal;
use crate::keyspaces::INDEX;

/// Number of seek rounds between two checks of the time limit.
const ROUNDS_PER_LOOK: u32 = 256;
/// Number of entries to step over before the cursor seeks.
const STEPS_BEFORE_SEEK: usize = 16;

/// A forward-only cursor over a set of documents.
pub struct DocumentSetCursor<'a> {
    set: SetCursor<'a>,
    /// Number of entries read so far.
    pub entries: u64,
    /// Whether the time limit ended the walk.
    pub is_stopped: bool,
}

/// The entry counter and the time limit that the members of a set share during a seek.
struct SeekContext<'w> {
    entries: &'w mut u64,
    is_over: &'w dyn Fn() -> bool,
    is_stopped: &'w mut bool,
}

enum SetCursor<'a> {
    Run(EntryRangeCursor<'a>),
    Union(Vec<UnionMember<'a>>),
    Intersection(Vec<SetCursor<'a>>),
    Gathered {
        key_positions: Vec<Bytes>,
        next: usize,
    },
}

/// A member of a union with its current key position.
struct UnionMember<'a> {
    set: SetCursor<'a>,
    at: Option<Bytes>,
    is_begun: bool,
}

struct EntryRangeCursor<'a> {
    view: &'a View,
    /// Number of bytes before the key position in an entry.
    value_end: usize,
    value: Vec<u8>,
    to: Option<Vec<u8>>,
    range: Range,
    /// The last entry that was read and not passed.
    at: Option<Bytes>,
    is_over: bool,
}

impl View {
    /// Starts a walk over a set. `definition` must be the definition that the set was planned with.
    pub fn walk<'a>(
        &'a self,
        definition: &IndexDefinition,
        document_set: &DocumentSet,
    ) -> Result<DocumentSetCursor<'a>, Failure> {
        let mut entries = 0;
        let set = SetCursor::new(self, definition, document_set, &mut entries)?;
        Ok(DocumentSetCursor {
            set,
            entries,
            is_stopped: false,
        })
    }
}

impl DocumentSetCursor<'_> {
    /// Returns the first key position of the set at or after `at`. Successive calls must not
    /// decrease `at`. An intersection without common members may walk to the end of its sets, so
    /// the walk checks `is_over` from time to time.
    pub fn seek(
        &mut self,
        at: &[u8],
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Bytes>, Failure> {
        let mut looking = SeekContext {
            entries: &mut self.entries,
            is_over,
            is_stopped: &mut self.is_stopped,
        };
        let found = self.set.seek(at, &mut looking);
        found.map_err(|error| internal(&error))
    }
}

impl<'a> SetCursor<'a> {
    fn new(
        view: &'a View,
        definition: &IndexDefinition,
        document_set: &DocumentSet,
        entries: &mut u64,
    ) -> Result<SetCursor<'a>, Failure> {
        let mut all = |list: &[DocumentSet]| -> Result<Vec<SetCursor<'a>>, Failure> {
            list.iter()
                .map(|member| SetCursor::new(view, definition, member, entries))
                .collect()
        };
        Ok(match document_set {
            DocumentSet::Point(run) => SetCursor::Run(EntryRangeCursor::new(view, run)),
            DocumentSet::Union(list) => {
                let member = |set| UnionMember {
                    set,
                    at: None,
                    is_begun: false,
                };
                SetCursor::Union(all(list)?.into_iter().map(member).collect())
            }
            DocumentSet::Intersection(list) => SetCursor::Intersection(all(list)?),
            DocumentSet::Gathered(runs) => SetCursor::Gathered {
                key_positions: gather(view, definition, runs, entries)?,
                next: 0,
            },
        })
    }

    fn seek(&mut self, at: &[u8], looking: &mut SeekContext<'_>) -> Result<Option<Bytes>, Error> {
        match self {
            SetCursor::Run(run) => run.seek(at, looking.entries),
            SetCursor::Union(members) => {
                let mut first: Option<Bytes> = None;
                for member in members {
                    let is_behind = member
                        .at
                        .as_ref()
                        .is_some_and(|key_position| key_position[..] < *at);
                    if !member.is_begun || is_behind {
                        member.at = member.set.seek(at, looking)?;
                        member.is_begun = true;
                    }
                    first = match (first, &member.at) {
                        (Some(first), Some(key_position)) => Some(first.min(key_position.clone())),
                        (first, key_position) => first.or_else(|| key_position.clone()),
                    };
                }
                Ok(first)
            }
            SetCursor::Intersection(sets) => {
                let mut target = Bytes::copy_from_slice(at);
                for round in 1_u32.. {
                    let before = target.clone();
                    for set in sets.iter_mut() {
                        let Some(key_position) = set.seek(&target, looking)? else {
                            return Ok(None);
                        };
                        target = key_position;
                    }
                    if target == before {
                        return Ok(Some(target));
                    }
                    if round.is_multiple_of(ROUNDS_PER_LOOK) && (looking.is_over)() {
                        *looking.is_stopped = true;
                    }
                    if *looking.is_stopped {
                        return Ok(None);
                    }
                }
                Ok(None)
            }
            SetCursor::Gathered {
                key_positions,
                next,
            } => {
                let ahead =
                    key_positions[*next..].partition_point(|key_position| key_position[..] < *at);
                *next += ahead;
                Ok(key_positions.get(*next).cloned())
            }
        }
    }
}

/// The key positions of a few entry ranges, sorted, without duplicates.
fn gather(
    view: &View,
    definition: &IndexDefinition,
    runs: &[EntryRange],
    entries: &mut u64,
) -> Result<Vec<Bytes>, Failure> {
    let mut key_positions = Vec::new();
    for run in runs {
        let scan = orrery_index::EntryScan {
            ranges: vec![run.clone()],
            direction: orrery_index::ScanDirection::Forward,
            ordered_columns: 0,
            output: orrery_index::EntryOutput::Documents { once: true },
        };
        *entries += view.entries(definition, &scan, EntryPosition::Start, &mut |entry| {
            key_positions.push(Bytes::copy_from_slice(entry.key_position));
            Ok(EntryFlow::Next)
        })?;
    }
    key_positions.sort_unstable();
    key_positions.dedup();
    Ok(key_positions)
}

impl<'a> EntryRangeCursor<'a> {
    fn new(view: &'a View, run: &EntryRange) -> EntryRangeCursor<'a> {
        let prefix = crate::statistics::entry_prefix(view.number(), run.index);
        let value = [&prefix[..], &run.from].concat();
        let (from, to) = view.bounds(run);
        EntryRangeCursor {
            view,
            value_end: value.len(),
            range: view.snapshot.range(INDEX, &from, to.as_deref()),
            value,
            to,
            at: None,
            is_over: false,
        }
    }

    fn seek(&mut self, at: &[u8], entries: &mut u64) -> Result<Option<Bytes>, Error> {
        if let Some(key_position) = &self.at
            && key_position[..] >= *at
        {
            return Ok(Some(key_position.clone()));
        }
        if self.is_over {
            return Ok(None);
        }
        // Stepping over a few entries is cheaper than a seek of the storage engine.
        for step in 0.. {
            if step == STEPS_BEFORE_SEEK {
                let from = [&self.value[..], at].concat();
                self.range = self.view.snapshot.range(INDEX, &from, self.to.as_deref());
            }
            let Some(entry) = self.range.next() else {
                break;
            };
            *entries += 1;
            let (key, _) = entry?;
            let key_position = key.slice(self.value_end..);
            if key_position[..] >= *at {
                self.at = Some(key_position.clone());
                return Ok(Some(key_position));
            }
        }
        self.at = None;
        self.is_over = true;
        Ok(None)
    }
}
