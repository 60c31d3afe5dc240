//! `/_explorer/config.json`: the settings of the explorer, readable without a key.

use orrery_json::write_string;
use orrery_model::{AccountKeyRole, WELL_KNOWN_KEY};

use crate::state::State;

pub(super) fn body(state: &State) -> Vec<u8> {
    let mut out = br#"{"version":"#.to_vec();
    write_string(env!("CARGO_PKG_VERSION"), &mut out);
    out.extend_from_slice(br#","key":"#);
    match offered_key(state) {
        Some(key) => write_string(key, &mut out),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
    out
}

/// The well-known key, if the server offers it to the explorer. The key is public, but a server
/// that other machines reach does not offer it: the user of such a server should type the key, and
/// so notice that anybody can.
fn offered_key(state: &State) -> Option<&'static str> {
    let signer = state.keys().signer_of_text(WELL_KNOWN_KEY.as_bytes());
    let writes = signer.is_some_and(|signer| signer.role == AccountKeyRole::ReadWrite);
    (state.is_loopback() && writes).then_some(WELL_KNOWN_KEY)
}
