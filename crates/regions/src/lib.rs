//! Replication between regions as pure state machines: streams, epochs, quorums, sessions, conflicts.
//!
//! Nothing here does I/O, reads a clock or starts a thread: times and messages come in as values, and
//! what is to be sent or kept goes out as values. A driver connects it to the store and to links;
//! `docs/regions.md` says what it must do, and in which order. The simulation in `tests/` is such
//! a driver with a world that loses, doubles, delays and crashes.
//!
//! Two kinds of streams carry everything. The *account stream* has one author at a time, the write
//! region of an epoch ([`Replica`]). In a multi-write account every region has a *region stream* for
//! its items, applied where what it depends on has been applied ([`Mesh`]), with conflicts
//! resolved by a rule that does not look at the order of arrival ([`Siblings`]).
//!
//! One numbering for the account stream across epochs, instead of one for each write region: then a
//! commit index, a lag and a session token of a single-write account are plain numbers, and a region
//! that writes again after another leaves no hole in a numbering of its own.

mod effect;
mod ids;
mod ledger;
mod level;
mod lineage;
mod membership;
mod message;
mod multi;
mod progress;
mod puller;
mod read_gate;
mod record;
mod replica;
mod token;
mod write_gate;

pub use effect::{Effect, ReadOutcome, Rejoin, Saved};
pub use ids::{Epoch, Millis, RegionId, Sequence, StreamId};
pub use ledger::Head;
pub use level::{Bound, Level, Settings};
pub use lineage::Lineage;
pub use membership::{Member, Membership, MembershipError, Standing};
pub use message::{
    Ballot, Beat, Canvass, Cause, Message, Page, PageHead, Place, Pull, Refused, Unconfirmed,
};
pub use multi::{
    Change, Merged, Mesh, MeshEffect, MeshMessage, MeshSettings, Resolution, Siblings, Stamp,
    StreamEnd, Version, clashes,
};
pub use progress::Progress;
pub use puller::Puller;
pub use read_gate::{ReadVerdict, Readable, may_read};
pub use record::{Body, EpochStart, StreamRecord};
pub use replica::{Force, HandOverError, Lag, PromotionError, Replica, Restart};
pub use token::{SessionToken, TokenVerdict, TokenVersion};
pub use write_gate::{Follows, WriteRefusal, majority_kept, may_begin, settled};
