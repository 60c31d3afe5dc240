//! A region that is too far behind, or has another history, gets the whole state of another one: asked
//! for piece by piece, filled into a directory beside, and put in place of the own in one step.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions, Role};
use orrery_partition::{Error, Filling, Position, SnapshotPiece, SnapshotStream};
use orrery_regions::{Head, Millis, RegionId, Sequence};

use super::{Driver, head_of, subscribe};
use crate::{Frame, SnapshotFrame};

const PIECE_BYTES: usize = 1024 * 1024;
/// After so long without an answer a piece is asked for again, and later the copy given up.
const RETRY_MS: u64 = 1_000;
const PATIENCE_MS: u64 = 15_000;
/// Copies that are given at the same time; the oldest goes first.
const GIVING_MAX: usize = 8;
const RETIRE_LOOK: Duration = Duration::from_millis(100);

/// A copy that another region takes of this one.
pub(super) struct Giving {
    copy: u64,
    stream: SnapshotStream,
    next: u64,
    last: Option<SnapshotFrame>,
}

/// The copy that this region takes.
pub(super) struct Copying {
    copy: u64,
    from: RegionId,
    /// None until the other region has said what it gives.
    filling: Option<(Filling, Head)>,
    next: u64,
    asked: Millis,
    moved: Millis,
}

impl Driver {
    /// Begins a copy, unless one is under way.
    pub(super) fn fetch_copy(&mut self, from: RegionId) {
        if self.copying.is_some() {
            return;
        }
        let now = self.shared.now();
        let copy = now.0;
        self.copying = Some(Copying {
            copy,
            from,
            filling: None,
            next: 0,
            asked: now,
            moved: now,
        });
        self.send(from, Frame::Snapshot(SnapshotFrame::Ask { copy }));
    }

    /// Asks again for what did not come, and for a copy where the history is another one.
    pub(super) fn ask_for_copy(&mut self, now: Millis) {
        if let Some(copying) = &mut self.copying {
            if now.since(copying.moved) >= PATIENCE_MS {
                self.copying = None;
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
            return;
        }
        if self.rejoining.is_some() {
            let source = self.shared.lock().replica.write_region();
            if let Some(source) = source.filter(|source| *source != self.shared.me) {
                self.fetch_copy(source);
            }
        }
    }

    pub(super) async fn take_snapshot_frame(&mut self, from: RegionId, frame: SnapshotFrame) {
        match frame {
            SnapshotFrame::Ask { copy } => self.begin_giving(from, copy),
            SnapshotFrame::Next { copy, piece } => self.give(from, copy, piece),
            SnapshotFrame::Gone { copy } => {
                self.copying.take_if(|copying| copying.copy == copy);
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
                let is_ours = |copying: &&mut Copying| {
                    (copying.copy, copying.from, copying.next) == (copy, from, pieces)
                };
                if let Some(copying) = self.copying.as_mut().filter(is_ours)
                    && let Some((filling, head)) = copying.filling.take()
                {
                    self.copying = None;
                    self.install(filling, head).await;
                }
            }
        }
    }

    fn begin_giving(&mut self, to: RegionId, copy: u64) {
        let is_known = |(region, giving): &(RegionId, Giving)| *region == to && giving.copy == copy;
        if self.rejoining.is_some() || self.giving.iter().any(is_known) {
            return;
        }
        self.giving.retain(|(region, _)| *region != to);
        let begun = self.engine.snapshot_stream().and_then(|stream| {
            let note = stream.note()?.unwrap_or_default();
            Ok((stream, note))
        });
        match begun {
            Ok((stream, note)) => {
                let position = stream.position().0;
                if self.giving.len() >= GIVING_MAX {
                    self.giving.remove(0);
                }
                let giving = Giving {
                    copy,
                    stream,
                    next: 0,
                    last: None,
                };
                self.giving.push((to, giving));
                let frame = SnapshotFrame::Begins {
                    copy,
                    position,
                    note,
                };
                self.send(to, Frame::Snapshot(frame));
            }
            Err(error) => tracing::error!(%error, "a copy of the state cannot be given"),
        }
    }

    fn give(&mut self, to: RegionId, copy: u64, piece: u64) {
        let is_asked =
            |(region, giving): &&mut (RegionId, Giving)| *region == to && giving.copy == copy;
        let Some((_, giving)) = self.giving.iter_mut().find(is_asked) else {
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
        let head = head_of(Some(note), Sequence(position.0));
        let is_accepted = self.shared.lock().replica.accepts(&head);
        let Some(copying) = self.copying.as_mut() else {
            return;
        };
        if (copying.copy, copying.from) != (copy, from) || copying.filling.is_some() {
            return;
        }
        if !is_accepted {
            self.copying = None;
            return;
        }
        match fill_beside(
            &self.options,
            self.place.side(self.place.kept.side ^ 1),
            position,
        ) {
            Ok(filling) => {
                let now = self.shared.now();
                copying.filling = Some((filling, head));
                (copying.asked, copying.moved) = (now, now);
                self.send(
                    from,
                    Frame::Snapshot(SnapshotFrame::Next { copy, piece: 0 }),
                );
            }
            Err(error) => {
                tracing::error!(%error, "a copy of another region cannot be begun");
                self.copying = None;
            }
        }
    }

    fn fill(&mut self, from: RegionId, copy: u64, piece: u64, entries: Option<SnapshotPiece>) {
        let now = self.shared.now();
        let Some(copying) = self.copying.as_mut() else {
            return;
        };
        let is_next = (copying.copy, copying.from, copying.next) == (copy, from, piece);
        let (true, Some((filling, _)), Some(entries)) = (is_next, &mut copying.filling, entries)
        else {
            return;
        };
        if let Err(error) = filling.add(entries) {
            tracing::error!(%error, "a copy of another region cannot be written");
            self.copying = None;
            return;
        }
        copying.next += 1;
        (copying.asked, copying.moved) = (now, now);
        let piece = copying.next;
        self.send(from, Frame::Snapshot(SnapshotFrame::Next { copy, piece }));
    }

    /// Puts a copy in place of the own state.
    async fn install(&mut self, filling: Filling, head: Head) {
        if !self.shared.lock().replica.accepts(&head) || self.is_writing {
            return;
        }
        let options = EngineOptions {
            directory: self.place.side(self.place.kept.side ^ 1),
            ..self.options.clone()
        };
        let opened = filling
            .finish()
            .and_then(|store| Engine::over(store, options, Role::Follower));
        let engine = match opened {
            Ok(engine) => engine,
            Err(error) => {
                tracing::error!(%error, "a copy of another region cannot be opened");
                return;
            }
        };
        let left = self.place.side(self.place.kept.side);
        if let Err(error) = self.place.turn() {
            tracing::error!(%error, "a copy of another region cannot be put in place");
            return;
        }
        let old = std::mem::replace(&mut self.engine, Arc::clone(&engine));
        self.subscription = subscribe(&self.engine, &self.place);
        self.watch_engine().await;
        self.rejoining = None;
        self.broken = None;
        self.giving.clear();
        let now = self.shared.now();
        self.shared.lock().replica.installed(now, head);
        // A state and the version of its tokens change together.
        self.region.set_engine(engine);
        self.publish();
        tracing::info!(
            region = self.region.name(),
            "copied the state of another region"
        );
        tokio::spawn(retire(old, left));
    }
}

fn fill_beside(
    options: &EngineOptions,
    directory: Option<std::path::PathBuf>,
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

/// Closes an engine when the requests that use it have ended, and removes what it had.
async fn retire(engine: Arc<Engine>, directory: Option<std::path::PathBuf>) {
    while Arc::strong_count(&engine) > 1 {
        tokio::time::sleep(RETIRE_LOOK).await;
    }
    if let Err(error) = Engine::close(engine) {
        tracing::warn!(%error, "a state that was replaced is not closed in order");
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
