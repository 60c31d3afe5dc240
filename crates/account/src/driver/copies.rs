//! A region that is too far behind, or has another history, gets the whole state of another one: asked
//! for piece by piece, filled into a directory beside, and put in place of the own in one step.
//!
//! Every driver does it alike. They differ in what a state says of itself beside its entries (the note),
//! in which states they accept, and in what they do with one that is there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions, Role};
use orrery_partition::{Error, Filling, Position, SnapshotPiece, SnapshotStream};
use orrery_regions::{Millis, RegionId};

use super::core::Shared;
use super::saved::Place;
use crate::{Frame, SnapshotFrame};

const PIECE_BYTES: usize = 1024 * 1024;
/// After so long without an answer a piece is asked for again, and later the copy given up.
const RETRY_MS: u64 = 1_000;
const PATIENCE_MS: u64 = 15_000;
/// Copies that are given at the same time; the oldest goes first.
const GIVING_MAX: usize = 8;
const RETIRE_LOOK: Duration = Duration::from_millis(100);

/// The copies that a region gives and takes.
#[derive(Default)]
pub(super) struct Copies {
    giving: Vec<(RegionId, Giving)>,
    copying: Option<Copying>,
}

/// A copy that another region takes of this one.
struct Giving {
    copy: u64,
    stream: SnapshotStream,
    next: u64,
    last: Option<SnapshotFrame>,
}

/// The copy that this region takes.
struct Copying {
    copy: u64,
    from: RegionId,
    /// None until the other region has said what it gives.
    filling: Option<Copied>,
    next: u64,
    asked: Millis,
    moved: Millis,
}

/// A state of another region beside the own one.
pub(super) struct Copied {
    filling: Filling,
    pub(super) position: Position,
    pub(super) note: Bytes,
}

impl Copies {
    pub(super) fn is_taking(&self) -> bool {
        self.copying.is_some()
    }

    /// What was being given is of a state that is no more.
    pub(super) fn stop_giving(&mut self) {
        self.giving.clear();
    }
}

/// A driver whose region gives copies of its state and takes those of others.
pub(super) trait Copier {
    fn copies(&mut self) -> &mut Copies;
    fn shared(&self) -> &Shared;
    fn engine(&self) -> &Engine;
    fn options(&self) -> &EngineOptions;
    fn place(&self) -> &Place;
    fn send(&self, to: RegionId, frame: Frame);
    /// What others must know of a state of this region before they take it; none if it gives none now.
    fn describe(&self, stream: &SnapshotStream) -> Result<Option<Bytes>, Error>;
    /// Whether a state may replace the own one.
    fn accepts(&mut self, position: Position, note: &Bytes) -> bool;

    /// Begins a copy, unless one is under way.
    fn fetch_copy(&mut self, from: RegionId) {
        if self.copies().is_taking() {
            return;
        }
        let now = self.shared().now();
        let copy = now.0;
        self.copies().copying = Some(Copying {
            copy,
            from,
            filling: None,
            next: 0,
            asked: now,
            moved: now,
        });
        self.send(from, Frame::Snapshot(SnapshotFrame::Ask { copy }));
    }

    /// Asks again for what did not come.
    fn ask_again_for_copy(&mut self, now: Millis) {
        let Some(copying) = &mut self.copies().copying else {
            return;
        };
        if now.since(copying.moved) >= PATIENCE_MS {
            self.copies().copying = None;
        } else if now.since(copying.asked) >= RETRY_MS {
            copying.asked = now;
            let Copying {
                copy, from, next, ..
            } = *copying;
            let frame = match &copying.filling {
                None => SnapshotFrame::Ask { copy },
                Some(_) => SnapshotFrame::Next { copy, piece: next },
            };
            self.send(from, Frame::Snapshot(frame));
        }
    }

    /// Gives the copy that this region takes, when all of it is there.
    fn take_snapshot_frame(&mut self, from: RegionId, frame: SnapshotFrame) -> Option<Copied> {
        match frame {
            SnapshotFrame::Ask { copy } => self.begin_giving(from, copy),
            SnapshotFrame::Next { copy, piece } => self.give(from, copy, piece),
            SnapshotFrame::Gone { copy } => {
                let copies = self.copies();
                copies.copying.take_if(|copying| copying.copy == copy);
            }
            SnapshotFrame::Begins {
                copy,
                position,
                note,
            } => self.begin_filling(from, copy, Position(position), note),
            SnapshotFrame::Piece {
                copy,
                piece,
                space,
                entries,
            } => self.fill(from, copy, piece, SnapshotPiece::new(space, entries)),
            SnapshotFrame::Ends { copy, pieces } => {
                let is_ours = |copying: &mut Copying| {
                    (copying.copy, copying.from, copying.next) == (copy, from, pieces)
                };
                return self.copies().copying.take_if(is_ours)?.filling;
            }
        }
        None
    }

    fn begin_giving(&mut self, to: RegionId, copy: u64) {
        let is_known = |(region, giving): &(RegionId, Giving)| *region == to && giving.copy == copy;
        if self.copies().giving.iter().any(is_known) {
            return;
        }
        let begun = self.engine().snapshot_stream().and_then(|stream| {
            let note = self.describe(&stream)?;
            Ok(note.map(|note| (stream, note)))
        });
        let (stream, note) = match begun {
            Ok(Some(begun)) => begun,
            Ok(None) => return,
            Err(error) => {
                return tracing::error!(%error, "a copy of the state cannot be given");
            }
        };
        let position = stream.position().0;
        let giving = &mut self.copies().giving;
        giving.retain(|(region, _)| *region != to);
        if giving.len() >= GIVING_MAX {
            giving.remove(0);
        }
        let new = Giving {
            copy,
            stream,
            next: 0,
            last: None,
        };
        giving.push((to, new));
        let frame = SnapshotFrame::Begins {
            copy,
            position,
            note,
        };
        self.send(to, Frame::Snapshot(frame));
    }

    fn give(&mut self, to: RegionId, copy: u64, piece: u64) {
        let is_asked =
            |(region, giving): &&mut (RegionId, Giving)| *region == to && giving.copy == copy;
        let Some((_, giving)) = self.copies().giving.iter_mut().find(is_asked) else {
            return self.send(to, Frame::Snapshot(SnapshotFrame::Gone { copy }));
        };
        if piece == giving.next {
            let frame = match giving.stream.next_piece(PIECE_BYTES) {
                Ok(Some(next)) => {
                    let (space, entries) = next.into_parts();
                    SnapshotFrame::Piece {
                        copy,
                        piece,
                        space,
                        entries,
                    }
                }
                Ok(None) => SnapshotFrame::Ends {
                    copy,
                    pieces: piece,
                },
                Err(error) => {
                    tracing::error!(%error, "a copy of the state cannot be read");
                    SnapshotFrame::Gone { copy }
                }
            };
            giving.next += 1;
            giving.last = Some(frame);
        }
        let last = giving.last.clone().filter(|_| piece + 1 == giving.next);
        if let Some(frame) = last {
            self.send(to, Frame::Snapshot(frame));
        }
    }

    fn begin_filling(&mut self, from: RegionId, copy: u64, position: Position, note: Bytes) {
        let is_expected = |copying: &Copying| {
            (copying.copy, copying.from) == (copy, from) && copying.filling.is_none()
        };
        if !self.copies().copying.as_ref().is_some_and(is_expected) {
            return;
        }
        if !self.accepts(position, &note) {
            self.copies().copying = None;
            return;
        }
        let now = self.shared().now();
        match fill_beside(self.options(), beside(self.place()), position) {
            Ok(filling) => {
                if let Some(copying) = &mut self.copies().copying {
                    copying.filling = Some(Copied {
                        filling,
                        position,
                        note,
                    });
                    (copying.asked, copying.moved) = (now, now);
                }
                let next = SnapshotFrame::Next { copy, piece: 0 };
                self.send(from, Frame::Snapshot(next));
            }
            Err(error) => {
                tracing::error!(%error, "a copy of another region cannot be begun");
                self.copies().copying = None;
            }
        }
    }

    fn fill(&mut self, from: RegionId, copy: u64, piece: u64, entries: Option<SnapshotPiece>) {
        let now = self.shared().now();
        let Some(copying) = self.copies().copying.as_mut() else {
            return;
        };
        let is_next = (copying.copy, copying.from, copying.next) == (copy, from, piece);
        let (true, Some(copied), Some(entries)) = (is_next, &mut copying.filling, entries) else {
            return;
        };
        if let Err(error) = copied.filling.add(entries) {
            tracing::error!(%error, "a copy of another region cannot be written");
            self.copies().copying = None;
            return;
        }
        copying.next += 1;
        (copying.asked, copying.moved) = (now, now);
        let piece = copying.next;
        self.send(from, Frame::Snapshot(SnapshotFrame::Next { copy, piece }));
    }

    /// Opens a copy beside the own state, which is still the one that holds.
    fn open_copy(&self, copied: Copied, role: Role) -> Result<Arc<Engine>, Error> {
        let options = EngineOptions {
            directory: beside(self.place()),
            ..self.options().clone()
        };
        let store = copied.filling.finish()?;
        Engine::over(store, options, role)
    }
}

fn beside(place: &Place) -> Option<PathBuf> {
    place.side(place.kept.side ^ 1)
}

fn fill_beside(
    options: &EngineOptions,
    directory: Option<PathBuf>,
    position: Position,
) -> Result<Filling, Error> {
    if let Some(path) = &directory {
        clear(path);
    }
    let options = EngineOptions {
        directory,
        ..options.clone()
    };
    Engine::fill(&options, position)
}

/// Ends an engine when the requests that use it have ended, and removes what it had. Nobody opens it again, so it
/// is not closed: that would write everything out, and never end where its files are gone already.
pub(super) async fn retire(mut engine: Arc<Engine>, directory: Option<PathBuf>) {
    loop {
        match Arc::try_unwrap(engine) {
            Ok(alone) => break drop(alone),
            Err(held) => engine = held,
        }
        tokio::time::sleep(RETIRE_LOOK).await;
    }
    if let Some(path) = &directory {
        clear(path);
    }
}

fn clear(path: &Path) {
    if let Err(error) = std::fs::remove_dir_all(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %path.display(), "what is left of a state cannot be removed");
    }
}
