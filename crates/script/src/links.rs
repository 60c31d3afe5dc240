//! The links that a script may use: its collection and documents in it, by resource id or by name.

use crate::{DocumentRef, Host, HostError};

/// Whether a link is that of the script's collection, in either form.
pub(crate) fn is_collection(host: &dyn Host, link: &str) -> bool {
    let link = link.trim_matches('/');
    link == host.self_link().trim_matches('/') || link == host.alt_link().trim_matches('/')
}

/// Refuses a link that is not that of the script's collection.
pub(crate) fn collection(host: &dyn Host, link: &str) -> Result<(), HostError> {
    if is_collection(host, link) {
        return Ok(());
    }
    Err(
        match link.trim_matches('/').split('/').collect::<Vec<_>>()[..] {
            ["dbs", _, "colls", _] => outside(),
            _ => malformed(link),
        },
    )
}

/// The document that a link names.
pub(crate) fn document(host: &dyn Host, link: &str) -> Result<DocumentRef, HostError> {
    let trimmed = link.trim_matches('/');
    let Some((owner, id)) = trimmed.split_once("/docs/") else {
        return Err(malformed(link));
    };
    if id.is_empty() || id.contains('/') {
        return Err(malformed(link));
    }
    if owner == host.alt_link().trim_matches('/') {
        return Ok(DocumentRef::Id(id.to_owned()));
    }
    if owner == host.self_link().trim_matches('/') {
        return Ok(DocumentRef::Rid(id.to_owned()));
    }
    collection(host, owner).map(|()| DocumentRef::Id(id.to_owned()))
}

fn outside() -> HostError {
    HostError::new(
        400,
        "The script is not allowed to operate on resources outside current collection.",
    )
}

fn malformed(link: &str) -> HostError {
    HostError::new(400, format!("The link '{link}' is malformed."))
}
