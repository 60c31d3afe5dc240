//! Who sends a request, and when: its signature and its date, as the load driver makes them.

use orrery_bench::{RequestDate, Signed, Signer};
use orrery_model::Secret;

/// The value of `authorization` for a query of the items of a container.
pub(super) fn authorization(key: &Secret, container_link: &str, date: &str) -> String {
    let signed = Signed {
        verb: "post",
        resource_type: "docs",
        link: container_link,
    };
    let mut value = Vec::new();
    let signer = Signer::of_bytes(key.expose());
    signer.authorize(&mut value, signed, &date.to_ascii_lowercase());
    String::from_utf8_lossy(&value).into_owned()
}

/// Now, as `x-ms-date` carries it.
pub(super) fn date() -> String {
    let mut now = RequestDate::default();
    now.refresh();
    now.header().to_owned()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::keys::EMULATOR_KEY;

    #[test]
    fn a_published_vector() {
        let key = Secret::new(STANDARD.decode(EMULATOR_KEY).unwrap());
        let date = "Sun, 15 Nov 2026 06:00:00 GMT";
        let header = authorization(&key, "dbs/My Db/colls/C1", date);
        let expected = "type%3Dmaster%26ver%3D1.0%26sig%3D\
                        Nnjz3rFomRvS7NxzulS28ebGm5p%2FWA2GncJQX8cDyy4%3D";
        assert_eq!(header, expected);
    }
}
