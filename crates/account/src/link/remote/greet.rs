//! Two regions that have just been connected make sure that they mean each other.

use tokio::io::{AsyncRead, AsyncWrite};

use super::Local;
use super::error::Broken;
use super::framing::{read_greeting, write_greeting};
use super::name::Slug;
use crate::codec::Greeting;

/// Says who dials and whom it means; the answer must say the same from the other side. Gives whether the other one
/// has a number in the account.
pub(super) async fn as_dialer(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    local: &Local,
    region: &str,
) -> Result<bool, Broken> {
    write_greeting(stream, &greeting(local, region).encode()).await?;
    let theirs = read(stream).await?;
    check(local, &theirs)?;
    let is_meant = Slug::new(&theirs.from) == Slug::new(region);
    is_meant
        .then_some(theirs.is_placed)
        .ok_or(Broken::OtherRegion(theirs.from))
}

/// Hears who dials and answers; gives whom it says it is. The answer goes out whatever the greeting
/// says, so that both sides can tell what is wrong.
pub(super) async fn as_listener(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    local: &Local,
) -> Result<Slug, Broken> {
    let theirs = read(stream).await?;
    write_greeting(stream, &greeting(local, &theirs.from).encode()).await?;
    check(local, &theirs)?;
    Slug::new(&theirs.from).ok_or(Broken::OtherRegion(theirs.from))
}

fn greeting(local: &Local, to: &str) -> Greeting {
    Greeting {
        account: local.account.clone(),
        from: local.region.clone(),
        to: to.to_owned(),
        is_placed: local.links.me().is_some(),
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Greeting, Broken> {
    let bytes = read_greeting(stream).await?;
    Greeting::decode(bytes).ok_or(Broken::Unreadable)
}

fn check(local: &Local, theirs: &Greeting) -> Result<(), Broken> {
    if theirs.account != local.account {
        return Err(Broken::OtherAccount(theirs.account.clone()));
    }
    if Slug::new(&theirs.to).as_ref() != Some(&local.slug) {
        return Err(Broken::NotMeant(theirs.to.clone()));
    }
    Ok(())
}
