//! The part of a region's task in the failover of single partitions: it carries out what the
//! [`Keeper`] decides, and tells the others what is down here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_engine::{AccessTable, Engine};
use orrery_regions::{Mesh, RegionId, StreamRecord};

use super::core::Shared;
use super::mesh_account::propose;
use crate::codec::encode_move;
use crate::partitions::{Board, Keeper, Sight};
use crate::{Frame, PartitionsFrame};

const SHOW_EVERY: Duration = Duration::from_millis(10);
const TELL_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Partitions {
    board: Arc<Board>,
    keeper: Keeper,
    /// What the store was told last.
    table: Option<AccessTable>,
    told: Option<(PartitionsFrame, Instant)>,
    shown: Option<Instant>,
}

impl Partitions {
    /// With what is applied of the account stream.
    pub(super) fn new(shared: &Shared, board: Arc<Board>, applied: &[StreamRecord]) -> Partitions {
        Partitions {
            board,
            keeper: Keeper::new(shared.me, shared.now(), applied),
            table: None,
            told: None,
            shown: None,
        }
    }

    /// Records of the account stream are in the state, the last of them since now. When this returns,
    /// what they close is closed: only then others may hear that they are applied.
    pub(super) async fn applied(
        &mut self,
        shared: &Shared,
        engine: &Engine,
        mesh: &Mesh,
        records: &[StreamRecord],
    ) {
        self.keeper.follow(records);
        self.refresh(shared, engine, mesh).await;
    }

    /// Another state takes the place of the one before. It takes no writes until it is told to.
    pub(super) fn attach(&mut self, engine: &Engine) {
        engine.begin_divided();
        self.table = None;
    }

    /// The region goes on with another [`Mesh`].
    pub(super) fn listen_anew(&mut self, shared: &Shared) {
        self.keeper.listen_anew(shared.now());
    }

    /// Another region says how it is.
    pub(super) fn take(&mut self, from: RegionId, frame: PartitionsFrame) {
        self.keeper.hear(from, frame);
    }

    /// The region is down: when it is back it must not go on as if nothing had happened.
    pub(super) async fn leave(&mut self, shared: &Shared, engine: &Engine) {
        self.keeper.leave(shared.now());
        self.set(engine, AccessTable::closed()).await;
    }

    /// Lets the store take what it may by now, and shows everybody how things are.
    pub(super) async fn refresh(&mut self, shared: &Shared, engine: &Engine, mesh: &Mesh) {
        let down = self.board.down();
        let table = see(shared, mesh, |sight| self.keeper.refresh(sight, down));
        let has_changed = self.set(engine, table).await;
        // This is done after every group of writes; nobody looks so often.
        if has_changed || self.shown.is_none_or(|shown| shown.elapsed() >= SHOW_EVERY) {
            self.shown = Some(Instant::now());
            let seen = see(shared, mesh, |sight| self.keeper.seen(sight));
            self.board.see(seen);
        }
    }

    /// True if the store was told something new.
    async fn set(&mut self, engine: &Engine, table: AccessTable) -> bool {
        let is_new = self.table.as_ref() != Some(&table);
        if is_new {
            self.table = Some(table.clone());
            engine.set_access(table).await;
        }
        is_new
    }

    /// What the others are to be told now.
    pub(super) fn untold(&mut self) -> Option<Frame> {
        let frame = PartitionsFrame {
            down: self.board.failing(),
            opened: self.keeper.opened(),
        };
        let is_told = self
            .told
            .as_ref()
            .is_some_and(|(told, at)| *told == frame && at.elapsed() < TELL_EVERY);
        if is_told {
            return None;
        }
        self.told = Some((frame.clone(), Instant::now()));
        Some(Frame::Partitions(frame))
    }

    /// Moves what failed, if this is the write region and such is its work.
    pub(super) fn watch(&mut self, shared: &Shared, mesh: &Mesh) {
        let decided = see(shared, mesh, |sight| self.keeper.decide(sight));
        let Some(range_move) = decided else {
            return;
        };
        match propose(shared, encode_move(&range_move)) {
            Ok((sequence, _)) => {
                tracing::warn!(
                    container = range_move.keys.container,
                    to = range_move.owner.unwrap_or(shared.me).0,
                    "the writes of a partition go to another region"
                );
                self.keeper.ordered(sequence);
            }
            Err(failure) => tracing::debug!(%failure, "a partition cannot be moved now"),
        }
    }
}

/// Looks at the region as it is now.
fn see<T>(shared: &Shared, mesh: &Mesh, look: impl FnOnce(Sight<'_>) -> T) -> T {
    let now = shared.now();
    let core = shared.lock();
    look(Sight {
        now,
        replica: &core.replica,
        mesh,
    })
}
