//! One region's engine in an account in which every region writes.
//!
//! Items are written here as in any account. Their records leave through a
//! [`StreamReader`](orrery_partition::StreamReader), and records of other regions arrive through
//! [`Engine::merge_records`](crate::Engine::merge_records). Catalogue changes (databases,
//! containers and other resources) are made in one region, the *hub*: the hub decides a change,
//! writes it into the account stream ([`AccountStreamWriter`]) and applies it when the stream
//! delivers it, as every other region does
//! ([`Engine::apply_account_record`](crate::Engine::apply_account_record)). The hub also ends
//! states that would otherwise last: it removes expired items, resolves conflicts by procedure, and
//! removes versions that lost a unique key.

mod access;
mod account;
mod conflicts;
mod hub;
mod procedure;
mod region;

pub use account::AccountStreamWriter;
pub(crate) use account::CatalogueProposal;
pub use conflicts::{Conflict, ConflictOperation, ConflictsPage};
pub(crate) use hub::HubState;
