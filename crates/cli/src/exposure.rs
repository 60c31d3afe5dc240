//! Decides on which addresses a server may listen with the well-known key of the emulator.
//!
//! The well-known key of the emulator is a convenience of one machine. On an address that others
//! reach, everybody could read and change the database with this key, so the server refuses to
//! start there until it has keys of its own or a setting allows the well-known key, as in a
//! container that only its host reaches.

use std::net::SocketAddr;

use anyhow::{Result, bail};

use crate::keys::KeySet;

/// Refuses the well-known key on an address that is not a loopback address, unless it is `allowed`.
pub(crate) fn check(keys: &KeySet, address: SocketAddr, allowed: bool) -> Result<()> {
    // An IPv4 loopback address mapped into IPv6 (`::ffff:127.0.0.1`) is loopback too.
    if allowed || address.ip().to_canonical().is_loopback() || !keys.has_well_known() {
        return Ok(());
    }
    bail!(
        "with the well-known key of the emulator whoever reaches {address} may read and change everything; give \
         --key-file FILE, which is made with new keys when there is none, or say with --allow-well-known-key (in the \
         environment ORRERY_ALLOW_WELL_KNOWN_KEY=true) that this is meant"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{EMULATOR_KEY, KeyTexts, fresh_key};

    #[test]
    fn the_well_known_key_stays_on_this_machine() {
        let own = Some(fresh_key().unwrap().parse().unwrap());
        let known = Some(EMULATOR_KEY.parse().unwrap());
        let keys = |primary, secondary_read_only| {
            let texts = KeyTexts {
                primary,
                secondary_read_only,
                ..KeyTexts::default()
            };
            KeySet::parse(&texts).unwrap()
        };
        for (keys, is_public) in [
            (keys(None, None), true),
            (keys(own.clone(), known.clone()), true),
            (keys(own.clone(), own), false),
        ] {
            for (address, is_loopback) in [
                ("127.0.0.1:1", true),
                ("127.9.0.1:1", true),
                ("[::1]:1", true),
                ("[::ffff:127.0.0.1]:1", true),
                ("0.0.0.0:1", false),
                ("[::]:1", false),
                ("10.0.0.1:1", false),
            ] {
                let address = address.parse().unwrap();
                let checked = check(&keys, address, false);
                assert_eq!(checked.is_ok(), is_loopback || !is_public, "{address}");
                if let Err(error) = checked {
                    let error = error.to_string();
                    assert!(
                        error.contains("--key-file") && !error.contains("C2y6"),
                        "{error}"
                    );
                }
                check(&keys, address, true).unwrap();
            }
        }
    }
}
