//! Who is asking: signatures of account keys, resource tokens, the emulator's Entra tokens.

mod action;
mod credential;
mod deed;
mod entra;
mod grant;
mod master;
mod resource_token;

pub use action::{Action, check_role};
pub use credential::{Credential, Signature};
pub use deed::Deed;
pub use entra::verify_entra;
pub use grant::{Grant, GrantedItems, Target, refused};
pub use master::{KeyMark, SignedRequest, Signer, SigningKeys};
pub use resource_token::TokenSecret;
