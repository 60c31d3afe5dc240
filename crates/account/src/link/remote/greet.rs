//! The greeting on a new connection, with which both regions confirm each other's names.

use tokio::io::{AsyncRead, AsyncWrite};

use super::LinkContext;
use super::error::ConnectionError;
use super::framing::{read_greeting, write_greeting};
use super::name::Slug;
use crate::codec::Greeting;

/// Sends this region's name and the name of the region it dials; the answer must have the same
/// names in the other direction. Returns whether the other region has a number in the account.
pub(super) async fn as_dialer(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    local: &LinkContext,
    region: &str,
) -> Result<bool, ConnectionError> {
    write_greeting(stream, &greeting(local, region).encode()).await?;
    let theirs = read(stream).await?;
    check(local, &theirs)?;
    let is_meant = Slug::new(&theirs.from) == Slug::new(region);
    is_meant
        .then_some(theirs.is_placed)
        .ok_or(ConnectionError::OtherRegion(theirs.from))
}

/// Reads the dialling region's greeting and answers it; returns the region's name. The answer is
/// sent even for a wrong greeting, so that both sides can report the error.
pub(super) async fn as_listener(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    local: &LinkContext,
) -> Result<Slug, ConnectionError> {
    let theirs = read(stream).await?;
    write_greeting(stream, &greeting(local, &theirs.from).encode()).await?;
    check(local, &theirs)?;
    Slug::new(&theirs.from).ok_or(ConnectionError::OtherRegion(theirs.from))
}

fn greeting(local: &LinkContext, to: &str) -> Greeting {
    Greeting {
        account: local.account.clone(),
        from: local.region.clone(),
        to: to.to_owned(),
        is_placed: local.links.me().is_some(),
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Greeting, ConnectionError> {
    let bytes = read_greeting(stream).await?;
    Greeting::decode(bytes).ok_or(ConnectionError::Unreadable)
}

fn check(local: &LinkContext, theirs: &Greeting) -> Result<(), ConnectionError> {
    if theirs.account != local.account {
        return Err(ConnectionError::OtherAccount(theirs.account.clone()));
    }
    if Slug::new(&theirs.to).as_ref() != Some(&local.slug) {
        return Err(ConnectionError::NotMeant(theirs.to.clone()));
    }
    Ok(())
}
