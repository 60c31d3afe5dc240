//! An account in which every region writes: what one region's engine does for it.
//!
//! Items are written here like in any account; their records go out through a
//! [`StreamReader`](orrery_partition::StreamReader) and those of others come in through
//! [`Engine::merge`]. Databases, containers and whatever else is in the catalogue are changed in
//! one region, the *hub*: it decides the change, hands it to the account stream
//! ([`AccountWriter`]), and applies it like every other region when the stream says so
//! ([`Engine::apply_account`]). The hub also ends what would never end by itself: it removes what
//! has expired, decides conflicts by procedure, and removes what lost a unique key.

mod access;
mod account;
mod conflicts;
mod hub;
mod procedure;
mod region;

pub use account::AccountWriter;
pub(crate) use account::Proposed;
pub use conflicts::{Conflict, ConflictOperation, ConflictsPage};
pub(crate) use hub::HubState;
