//! A walk over sets of documents in the order of their places.
//!
//! Each set can say which is its first place from a given one on. A union asks all and takes the
//! first; an intersection lets its members leap over each other until they agree.

use bytes::Bytes;
use orrery_index::{IndexDefinition, Places, Run};
use orrery_model::Failure;
use orrery_storage::Range;

use super::{EntryFlow, EntryPosition, View};
use crate::Error;
use crate::committer::internal;
use crate::spaces::INDEX;

/// Rounds of leaps between two looks at the clock.
const ROUNDS_PER_LOOK: u32 = 256;
/// Entries that are passed one by one before a run is sought anew.
const STEPS_BEFORE_SEEK: usize = 16;

/// A set of documents, walked once from its beginning to its end.
pub struct PlaceWalk<'a> {
    set: Set<'a>,
    /// Entries read so far.
    pub entries: u64,
    /// Whether the walk ended because its time was over.
    pub is_stopped: bool,
}

/// The counters and the time limit that the members of a set share while they search for a common
/// place.
struct Looking<'w> {
    entries: &'w mut u64,
    is_over: &'w dyn Fn() -> bool,
    is_stopped: &'w mut bool,
}

enum Set<'a> {
    Run(RunWalk<'a>),
    Any(Vec<Member<'a>>),
    All(Vec<Set<'a>>),
    Gathered { places: Vec<Bytes>, next: usize },
}

/// A member of a union with the place it stands at.
struct Member<'a> {
    set: Set<'a>,
    at: Option<Bytes>,
    is_begun: bool,
}

struct RunWalk<'a> {
    view: &'a View,
    /// Bytes of a key before its place.
    value_end: usize,
    value: Vec<u8>,
    to: Option<Vec<u8>>,
    range: Range,
    /// The entry that was read and not yet passed.
    at: Option<Bytes>,
    is_over: bool,
}

impl View {
    /// Begins a walk over a set; the definition must be the one it was planned with.
    pub fn walk<'a>(
        &'a self,
        definition: &IndexDefinition,
        places: &Places,
    ) -> Result<PlaceWalk<'a>, Failure> {
        let mut entries = 0;
        let set = Set::new(self, definition, places, &mut entries)?;
        Ok(PlaceWalk {
            set,
            entries,
            is_stopped: false,
        })
    }
}

impl PlaceWalk<'_> {
    /// Gives the first place of the set that is not before `at`; the caller never passes a smaller
    /// `at` than before. Two sets without a common place may be walked to their ends, so the walk
    /// asks `is_over` now and then whether to stop.
    pub fn seek(
        &mut self,
        at: &[u8],
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Bytes>, Failure> {
        let mut looking = Looking {
            entries: &mut self.entries,
            is_over,
            is_stopped: &mut self.is_stopped,
        };
        let found = self.set.seek(at, &mut looking);
        found.map_err(|error| internal(&error))
    }
}

impl<'a> Set<'a> {
    fn new(
        view: &'a View,
        definition: &IndexDefinition,
        places: &Places,
        entries: &mut u64,
    ) -> Result<Set<'a>, Failure> {
        let mut all = |list: &[Places]| -> Result<Vec<Set<'a>>, Failure> {
            list.iter()
                .map(|places| Set::new(view, definition, places, entries))
                .collect()
        };
        Ok(match places {
            Places::Run(run) => Set::Run(RunWalk::new(view, run)),
            Places::Any(list) => {
                let member = |set| Member {
                    set,
                    at: None,
                    is_begun: false,
                };
                Set::Any(all(list)?.into_iter().map(member).collect())
            }
            Places::All(list) => Set::All(all(list)?),
            Places::Gathered(runs) => Set::Gathered {
                places: gather(view, definition, runs, entries)?,
                next: 0,
            },
        })
    }

    fn seek(&mut self, at: &[u8], looking: &mut Looking<'_>) -> Result<Option<Bytes>, Error> {
        match self {
            Set::Run(run) => run.seek(at, looking.entries),
            Set::Any(members) => {
                let mut first: Option<Bytes> = None;
                for member in members {
                    let is_behind = member.at.as_ref().is_some_and(|place| place[..] < *at);
                    if !member.is_begun || is_behind {
                        member.at = member.set.seek(at, looking)?;
                        member.is_begun = true;
                    }
                    first = match (first, &member.at) {
                        (Some(first), Some(place)) => Some(first.min(place.clone())),
                        (first, place) => first.or_else(|| place.clone()),
                    };
                }
                Ok(first)
            }
            Set::All(sets) => {
                let mut target = Bytes::copy_from_slice(at);
                for round in 1_u32.. {
                    let before = target.clone();
                    for set in sets.iter_mut() {
                        let Some(place) = set.seek(&target, looking)? else {
                            return Ok(None);
                        };
                        target = place;
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
            Set::Gathered { places, next } => {
                let ahead = places[*next..].partition_point(|place| place[..] < *at);
                *next += ahead;
                Ok(places.get(*next).cloned())
            }
        }
    }
}

/// The places of a few runs, sorted, each once.
fn gather(
    view: &View,
    definition: &IndexDefinition,
    runs: &[Run],
    entries: &mut u64,
) -> Result<Vec<Bytes>, Failure> {
    let mut places = Vec::new();
    for run in runs {
        let scan = orrery_index::EntryScan {
            runs: vec![run.clone()],
            direction: orrery_index::Direction::Forward,
            ordered_columns: 0,
            take: orrery_index::Take::Documents { once: true },
        };
        *entries += view.entries(definition, &scan, EntryPosition::Start, &mut |entry| {
            places.push(Bytes::copy_from_slice(entry.place));
            Ok(EntryFlow::Next)
        })?;
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

impl<'a> RunWalk<'a> {
    fn new(view: &'a View, run: &Run) -> RunWalk<'a> {
        let prefix = crate::statistics::entry_prefix(view.number(), run.index);
        let value = [&prefix[..], &run.from].concat();
        let (from, to) = view.bounds(run);
        RunWalk {
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
        if let Some(place) = &self.at
            && place[..] >= *at
        {
            return Ok(Some(place.clone()));
        }
        if self.is_over {
            return Ok(None);
        }
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
            let place = key.slice(self.value_end..);
            if place[..] >= *at {
                self.at = Some(place.clone());
                return Ok(Some(place));
            }
        }
        self.at = None;
        self.is_over = true;
        Ok(None)
    }
}
