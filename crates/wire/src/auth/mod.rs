//! Who is asking: signatures of account keys, resource tokens, the emulator's Entra tokens.

mod action;
mod credential;
mod entra;
mod master;
mod resource_token;

pub use action::{Action, check_role};
pub use credential::{Credential, Signature};
pub use entra::verify_entra;
pub use master::{SignedRequest, SigningKeys};
pub use resource_token::{Access, Grant, TokenSecret};
