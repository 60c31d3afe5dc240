//! A region that is too far behind, or has a diverged state, gets the whole state of another
//! region: it requests the state piece by piece, fills a directory beside its own, and replaces its
//! state in one step (`install.rs`).
//!
//! All modes of an account share the transfer. [`SnapshotRules`] says how modes differ: in the
//! metadata of a state (the note), and in the states that a region accepts.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions};
use orrery_partition::{Error, Position, SnapshotChunk, SnapshotInstaller, SnapshotStream};
use orrery_regions::{Millis, RegionId};
use tokio::task::JoinHandle;

use super::Driver;
use crate::{LinkFrame, SnapshotFrame};

const PIECE_BYTES: usize = 1024 * 1024;
/// The times after which a request is repeated and a transfer is given up.
const RETRY_MS: u64 = 1_000;
const PATIENCE_MS: u64 = 15_000;
/// The limit of outgoing transfers at a time; the oldest transfer is dropped first.
const OUTGOING_MAX: usize = 8;

/// The snapshot transfers of a region, in both directions.
#[derive(Default)]
pub(super) struct SnapshotTransfers {
    outgoing: Vec<OutgoingSnapshot>,
    incoming: Option<IncomingSnapshot>,
    /// Removes the directory of the state that was replaced last, once no request uses that state.
    pub(super) discarding: Option<JoinHandle<()>>,
}

/// A transfer of this region's state to another region.
struct OutgoingSnapshot {
    to: RegionId,
    copy: u64,
    stream: SnapshotStream,
    next: u64,
    last: Option<SnapshotFrame>,
}

/// A transfer of another region's state to this region.
struct IncomingSnapshot {
    copy: u64,
    from: RegionId,
    /// None until the other region has described its state.
    received: Option<ReceivedSnapshot>,
    next: u64,
    asked: Millis,
    progressed_at: Millis,
}

/// The state of another region in the directory beside the current one.
pub(super) struct ReceivedSnapshot {
    pub(super) installer: SnapshotInstaller,
    pub(super) position: Position,
    pub(super) note: Bytes,
}

impl SnapshotTransfers {
    pub(super) fn is_receiving(&self) -> bool {
        self.incoming.is_some()
    }

    fn is_discarding(&self) -> bool {
        let discarding = self.discarding.as_ref();
        discarding.is_some_and(|discarding| !discarding.is_finished())
    }

    fn outgoing(&mut self, to: RegionId, copy: u64) -> Option<&mut OutgoingSnapshot> {
        let mut outgoing = self.outgoing.iter_mut();
        outgoing.find(|outgoing| (outgoing.to, outgoing.copy) == (to, copy))
    }

    /// Drops the outgoing transfers, because their state was replaced.
    pub(super) fn stop_sending(&mut self) {
        self.outgoing.clear();
    }
}

/// Which states a region gives and takes, and what makes a copy the region's state.
pub(super) trait SnapshotRules {
    /// The metadata of a state of this region, which the receiver checks first; none if this region
    /// sends none now.
    fn describe(&self, stream: &SnapshotStream) -> Result<Option<Bytes>, Error>;

    /// Whether a snapshot may replace this region's state.
    fn accepts(&mut self, position: Position, note: &Bytes) -> bool;

    /// Requests a snapshot if the state is not part of the history. Called while no transfer to this
    /// region is in progress.
    fn request_snapshot(&mut self, now: Millis);

    /// Merges records that only this region has into a copy, before the copy replaces the state.
    async fn complete_copy(&mut self, _copy: &Arc<Engine>) -> Result<(), String> {
        Ok(())
    }

    /// Connects the replica to the copy, which has replaced the old engine.
    async fn attach(&mut self, old: &Engine, position: Position, note: Bytes) -> Result<(), Error>;
}

impl<S> Driver<S>
where
    Driver<S>: SnapshotRules,
{
    /// Repeats an unanswered request, or begins a transfer if the state needs one.
    pub(super) fn tick_copy(&mut self, now: Millis) {
        if self.snapshot_transfers.is_receiving() {
            self.retry_snapshot(now);
        } else {
            self.request_snapshot(now);
        }
    }

    /// Begins a transfer, unless one is in progress.
    pub(super) fn fetch_snapshot(&mut self, from: RegionId) {
        let transfers = &self.snapshot_transfers;
        // A copy needs the directory of the state that was replaced last. While a request still uses
        // that state, its directory is removed later, and a copy in it would be removed with it.
        if transfers.is_receiving() || transfers.is_discarding() {
            return;
        }
        let now = self.shared.now();
        self.snapshot_transfers.incoming = Some(IncomingSnapshot {
            copy: now.0,
            from,
            received: None,
            next: 0,
            asked: now,
            progressed_at: now,
        });
        self.ask_for_next();
    }

    /// Repeats the last request if its answer is overdue.
    fn retry_snapshot(&mut self, now: Millis) {
        let Some(incoming) = &mut self.snapshot_transfers.incoming else {
            return;
        };
        if now.since(incoming.progressed_at) >= PATIENCE_MS {
            self.snapshot_transfers.incoming = None;
        } else if now.since(incoming.asked) >= RETRY_MS {
            incoming.asked = now;
            self.ask_for_next();
        }
    }

    /// Requests the description of the state, or the next piece.
    fn ask_for_next(&self) {
        let Some(incoming) = &self.snapshot_transfers.incoming else {
            return;
        };
        let (copy, piece) = (incoming.copy, incoming.next);
        let frame = match incoming.received {
            None => SnapshotFrame::Ask { copy },
            Some(_) => SnapshotFrame::Next { copy, piece },
        };
        self.send(incoming.from, LinkFrame::Snapshot(frame));
    }

    /// Handles a frame of a transfer; returns the received snapshot once it is complete.
    pub(super) fn take_snapshot_frame(
        &mut self,
        from: RegionId,
        frame: SnapshotFrame,
    ) -> Option<ReceivedSnapshot> {
        match frame {
            SnapshotFrame::Ask { copy } => self.begin_sending(from, copy),
            SnapshotFrame::Next { copy, piece } => self.send_piece(from, copy, piece),
            SnapshotFrame::NotFound { copy } => {
                let incoming = &mut self.snapshot_transfers.incoming;
                incoming.take_if(|incoming| incoming.copy == copy);
            }
            SnapshotFrame::Metadata {
                copy,
                position,
                note,
            } => self.begin_receiving(from, copy, Position(position), note),
            SnapshotFrame::Piece {
                copy,
                piece,
                space,
                entries,
            } => self.receive_piece(from, copy, piece, SnapshotChunk::new(space, entries)),
            SnapshotFrame::Ends { copy, pieces } => {
                let is_ours = |incoming: &mut IncomingSnapshot| {
                    (incoming.copy, incoming.from, incoming.next) == (copy, from, pieces)
                };
                return self.snapshot_transfers.incoming.take_if(is_ours)?.received;
            }
        }
        None
    }

    fn begin_sending(&mut self, to: RegionId, copy: u64) {
        if self.snapshot_transfers.outgoing(to, copy).is_some() {
            return;
        }
        let begun = self.engine.snapshot_stream().and_then(|stream| {
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
        let outgoing = &mut self.snapshot_transfers.outgoing;
        outgoing.retain(|outgoing| outgoing.to != to);
        if outgoing.len() >= OUTGOING_MAX {
            outgoing.remove(0);
        }
        outgoing.push(OutgoingSnapshot {
            to,
            copy,
            stream,
            next: 0,
            last: None,
        });
        let frame = SnapshotFrame::Metadata {
            copy,
            position,
            note,
        };
        self.send(to, LinkFrame::Snapshot(frame));
    }

    fn send_piece(&mut self, to: RegionId, copy: u64, piece: u64) {
        let Some(outgoing) = self.snapshot_transfers.outgoing(to, copy) else {
            return self.send(to, LinkFrame::Snapshot(SnapshotFrame::NotFound { copy }));
        };
        // The next piece is read only once. A repeated request gets the stored frame again, because
        // the stream cannot go back.
        if piece == outgoing.next {
            let frame = match outgoing.stream.next_chunk(PIECE_BYTES) {
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
                    SnapshotFrame::NotFound { copy }
                }
            };
            outgoing.next += 1;
            outgoing.last = Some(frame);
        }
        let last = outgoing.last.clone().filter(|_| piece + 1 == outgoing.next);
        if let Some(frame) = last {
            self.send(to, LinkFrame::Snapshot(frame));
        }
    }

    fn begin_receiving(&mut self, from: RegionId, copy: u64, position: Position, note: Bytes) {
        let is_expected = |incoming: &IncomingSnapshot| {
            (incoming.copy, incoming.from) == (copy, from) && incoming.received.is_none()
        };
        let incoming = self.snapshot_transfers.incoming.as_ref();
        if !incoming.is_some_and(is_expected) {
            return;
        }
        if !self.accepts(position, &note) {
            self.snapshot_transfers.incoming = None;
            return;
        }
        match self.begin_copy(position) {
            Ok(installer) => self.record_progress(|incoming| {
                incoming.received = Some(ReceivedSnapshot {
                    installer,
                    position,
                    note,
                });
            }),
            Err(error) => {
                tracing::error!(%error, "a copy of another region cannot be begun");
                self.snapshot_transfers.incoming = None;
            }
        }
    }

    fn receive_piece(
        &mut self,
        from: RegionId,
        copy: u64,
        piece: u64,
        entries: Option<SnapshotChunk>,
    ) {
        let Some(incoming) = self.snapshot_transfers.incoming.as_mut() else {
            return;
        };
        let is_next = (incoming.copy, incoming.from, incoming.next) == (copy, from, piece);
        let (true, Some(snapshot), Some(entries)) = (is_next, &mut incoming.received, entries)
        else {
            return;
        };
        match snapshot.installer.add(entries) {
            Ok(()) => self.record_progress(|incoming| incoming.next += 1),
            Err(error) => {
                tracing::error!(%error, "a copy of another region cannot be written");
                self.snapshot_transfers.incoming = None;
            }
        }
    }

    /// The options of an engine in the directory beside the one in use.
    pub(super) fn copy_options(&self) -> EngineOptions {
        EngineOptions {
            directory: self.directory.side(self.directory.metadata.side ^ 1),
            ..self.options.clone()
        }
    }

    fn begin_copy(&self, position: Position) -> Result<SnapshotInstaller, Error> {
        let options = self.copy_options();
        if let Some(path) = &options.directory {
            clear(path);
        }
        Engine::install_snapshot(&options, position)
    }

    /// Changes the transfer after an answer, and requests the next piece.
    fn record_progress(&mut self, change: impl FnOnce(&mut IncomingSnapshot)) {
        let now = self.shared.now();
        if let Some(incoming) = &mut self.snapshot_transfers.incoming {
            change(incoming);
            (incoming.asked, incoming.progressed_at) = (now, now);
        }
        self.ask_for_next();
    }
}

pub(super) fn clear(path: &Path) {
    if let Err(error) = std::fs::remove_dir_all(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %path.display(), "what is left of a state cannot be removed");
    }
}
