//! A long walk reads ahead: another thread gets the entries from the engine while this one looks at
//! those it has. It begins when a walk has shown that it is long, and ends with it. Only as many
//! walks do that as there are cores beside the first: with more of them nobody would gain.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use bytes::Bytes;
use orrery_storage::{Error, Range};

/// Entries after which a walk is long.
const LONG: usize = 20_000;
/// Entries handed over together, and how many times that many may wait.
const BATCH: usize = 2_048;
const WAITING: usize = 4;

type Entry = Result<(Bytes, Bytes), Error>;

/// Walks that read ahead now.
static READING: AtomicUsize = AtomicUsize::new(0);

/// Leave to read ahead, for as long as it is held.
struct Leave;

impl Leave {
    fn ask() -> Option<Leave> {
        static READING_MAX: OnceLock<usize> = OnceLock::new();
        let most = *READING_MAX.get_or_init(|| {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            cores.saturating_sub(1).max(1)
        });
        let more = |reading: usize| (reading < most).then_some(reading + 1);
        let asked = READING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        asked.ok().map(|_| Leave)
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        READING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The entries of a range, in order.
pub(super) struct ReadAhead {
    source: Source,
}

enum Source {
    Near {
        range: Range,
        read: usize,
    },
    Ahead {
        batches: Receiver<Vec<Entry>>,
        batch: std::vec::IntoIter<Entry>,
    },
}

impl ReadAhead {
    pub(super) fn new(range: Range) -> ReadAhead {
        ReadAhead {
            source: Source::Near { range, read: 0 },
        }
    }
}

impl Iterator for ReadAhead {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if let Source::Near { read: LONG, .. } = self.source {
            let empty = Source::Ahead {
                batches: sync_channel(0).1,
                batch: Vec::new().into_iter(),
            };
            if let Source::Near { range, .. } = std::mem::replace(&mut self.source, empty) {
                self.source = ahead(range);
            }
        }
        match &mut self.source {
            Source::Near { range, read } => {
                *read += 1;
                range.next()
            }
            Source::Ahead { batches, batch } => loop {
                if let Some(entry) = batch.next() {
                    return Some(entry);
                }
                *batch = batches.recv().ok()?.into_iter();
            },
        }
    }
}

/// Goes on with a range on a thread of its own, or here if there is none to be had.
fn ahead(range: Range) -> Source {
    let Some(leave) = Leave::ask() else {
        return near(range);
    };
    let (sender, batches) = sync_channel(WAITING);
    let (hand_over, range_there) = sync_channel::<Range>(1);
    let read = move || {
        let _leave = leave;
        let Ok(mut range) = range_there.recv() else {
            return;
        };
        loop {
            let batch: Vec<Entry> = range.by_ref().take(BATCH).collect();
            // Who walked may have seen enough.
            if batch.is_empty() || sender.send(batch).is_err() {
                return;
            }
        }
    };
    let name = "orrery-ahead".to_owned();
    match thread::Builder::new().name(name).spawn(read) {
        Ok(_) => match hand_over.send(range) {
            Ok(()) => Source::Ahead {
                batches,
                batch: Vec::new().into_iter(),
            },
            Err(unsent) => near(unsent.0),
        },
        Err(_) => near(range),
    }
}

/// A range that is never handed over.
fn near(range: Range) -> Source {
    Source::Near {
        range,
        read: LONG + 1,
    }
}

#[cfg(test)]
mod tests {
    use orrery_storage::{Batch, Space, Storage};

    use super::*;

    #[test]
    fn long_and_short_ranges_are_whole_and_in_order() {
        let storage = Storage::in_memory(&["a"]);
        let mut batch = Batch::default();
        let count = u32::try_from(LONG + 3 * BATCH + 7).unwrap();
        for number in 0..count {
            let key = Bytes::copy_from_slice(&number.to_be_bytes());
            batch.put(Space(0), key, Bytes::new());
        }
        storage.write(batch).unwrap();
        for end in [0, 10, LONG, LONG + 1, count as usize] {
            let end = u32::try_from(end).unwrap();
            let range = storage
                .snapshot()
                .range(Space(0), &[], Some(&end.to_be_bytes()));
            let mut walk = ReadAhead::new(range);
            for number in 0..end {
                let (key, _) = walk.next().unwrap().unwrap();
                assert_eq!(key[..], number.to_be_bytes());
            }
            assert!(walk.next().is_none());
        }
        // Nobody waits for who has seen enough.
        let range = storage.snapshot().range(Space(0), &[], None);
        let taken = ReadAhead::new(range).take(LONG + 1).count();
        assert_eq!(taken, LONG + 1);
    }
}
