//! `/_explorer/config.json`: what the explorer knows before it has a key.

use orrery_json::write_string;
use orrery_model::{KeyRole, WELL_KNOWN_KEY};

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

/// Everybody knows the well-known key. Still a server that others can reach does not offer it:
/// whoever runs one with it should be asked, and stumble over it.
fn offered_key(state: &State) -> Option<&'static str> {
    let signer = state.keys().signer_of_text(WELL_KNOWN_KEY.as_bytes());
    let writes = signer.is_some_and(|signer| signer.role == KeyRole::ReadWrite);
    (state.is_loopback() && writes).then_some(WELL_KNOWN_KEY)
}
