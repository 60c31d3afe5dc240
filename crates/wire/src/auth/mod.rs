//! Authentication: signatures with account keys, resource tokens, and the emulator's Entra tokens.

mod action;
mod credential;
mod entra;
mod grant;
mod master;
mod resource_token;
mod token_action;

pub use action::{Action, check_role};
pub use credential::{Credential, Signature};
pub use entra::verify_entra;
pub use grant::{Grant, GrantTarget, GrantedItems, token_forbidden};
pub use master::{SignedRequest, Signer, SigningKeys, TokenKey};
pub use resource_token::TokenSecret;
pub use token_action::TokenAction;
