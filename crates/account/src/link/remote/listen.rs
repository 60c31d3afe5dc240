//! Connections of other regions, on which they send.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_rustls::server::TlsStream;

use super::Local;
use super::error::Broken;
use super::framing::{HEARD, take_envelope};
use super::greet;
use super::identity::is_certified;
use super::name::Slug;
use super::strangers::{Stranger, Strangers};

/// Connections that have not said who they are.
const STRANGERS_MAX: usize = 128;
/// Room for small frames; one that is larger gets more as it comes.
const READ_BYTES: usize = 64 * 1024;
/// With less room than this there is no point in a read.
const ROOM_BYTES_MIN: usize = 4 * 1024;
/// When there are no sockets left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn run(listener: TcpListener, local: Arc<Local>) {
    let mut strangers = Strangers::new(STRANGERS_MAX);
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((socket, address)) => {
                let local = Arc::clone(&local);
                let stranger = Stranger::default();
                let greeting = stranger.clone();
                let task = connections.spawn(async move {
                    match greet(socket, &local, &greeting).await {
                        Ok((stream, slug)) => {
                            greeting.is_greeted();
                            let broken = read(stream, &slug, &local).await;
                            tracing::info!(region = %slug, %broken, "a region is not heard");
                        }
                        Err(broken) => tracing::warn!(%address, %broken, "refused a region"),
                    }
                });
                strangers.add(stranger, task);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection of a region");
                sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn greet(
    socket: TcpStream,
    local: &Local,
    stranger: &Stranger,
) -> Result<(TlsStream<TcpStream>, Slug), Broken> {
    let limit = local.timing.greeting;
    let greeting = async {
        socket.set_nodelay(true)?;
        socket.readable().await?;
        stranger.speaks();
        let mut stream = local.identity.acceptor.accept(socket).await?;
        let slug = greet::as_listener(&mut stream, local).await?;
        let shown = stream.get_ref().1.peer_certificates();
        let certificate = shown.and_then(<[_]>::first);
        if !certificate.is_some_and(|certificate| is_certified(certificate, &slug)) {
            return Err(Broken::NotCertified(slug.dns_name()));
        }
        Ok((stream, slug))
    };
    let greeted = timeout(limit, greeting).await;
    greeted.unwrap_or(Err(Broken::TimedOut(limit)))
}

/// Reads until something is wrong, or a newer connection of the region comes.
async fn read(stream: TlsStream<TcpStream>, slug: &Slug, local: &Local) -> Broken {
    let (newest, replaced) = oneshot::channel();
    local.reading().insert(slug.clone(), newest);
    tracing::info!(region = %slug, "a region is heard");
    tokio::select! {
        biased;
        _ = replaced => Broken::Replaced,
        broken = read_frames(stream, slug, local) => broken,
    }
}

async fn read_frames(mut stream: TlsStream<TcpStream>, slug: &Slug, local: &Local) -> Broken {
    let timing = local.timing;
    let mut buffer = BytesMut::new();
    // Whether something was read without a sign of it, and from when on one may be given.
    let (mut is_owed, mut due) = (false, Instant::now());
    let mut is_reported = false;
    loop {
        if is_owed && due <= Instant::now() {
            let sign = timeout(timing.silence, async {
                stream.write_all(&HEARD).await?;
                stream.flush().await
            });
            match sign.await {
                Ok(Ok(())) => (is_owed, due) = (false, Instant::now() + timing.heard),
                Ok(Err(error)) => return error.into(),
                Err(_) => return Broken::Silent,
            }
        }
        make_room(&mut buffer);
        let read = stream.read_buf(&mut buffer);
        let read = if is_owed {
            match timeout_at(due, read).await {
                Ok(read) => read,
                Err(_) => continue,
            }
        } else {
            read.await
        };
        match read {
            Ok(0) => return Broken::Closed,
            Ok(_) => is_owed = true,
            Err(error) => return error.into(),
        }
        loop {
            let envelope = match take_envelope(&mut buffer) {
                Ok(Some(envelope)) => envelope,
                Ok(None) => break,
                Err(broken) => return broken,
            };
            let (from, to) = (envelope.from, envelope.to);
            if !local.links.arrived(slug, envelope) && !is_reported {
                if local.links.is_closed() {
                    return Broken::Stopping;
                }
                is_reported = true;
                tracing::warn!(region = %slug, %from, %to, "a region knows other numbers of regions");
            }
        }
    }
}

/// Records stay in the buffer that they were read into, for as long as somebody has them. So frames
/// share a buffer until it is full: with a new one for each, small records would keep large
/// buffers. A buffer grows with what is there, not with what is announced.
fn make_room(buffer: &mut BytesMut) {
    if buffer.capacity() - buffer.len() >= ROOM_BYTES_MIN {
        return;
    }
    if buffer.is_empty() {
        *buffer = BytesMut::with_capacity(READ_BYTES);
    } else {
        buffer.reserve(READ_BYTES.max(buffer.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_frames_share_buffers() {
        let mut buffer = BytesMut::new();
        let (mut buffers, mut kept) = (0, Vec::new());
        for _ in 0..10_000 {
            let before = buffer.capacity();
            make_room(&mut buffer);
            buffers += usize::from(buffer.capacity() > before);
            buffer.extend_from_slice(&[0; 100]);
            kept.push(buffer.split().freeze());
        }
        let bytes: usize = kept.iter().map(bytes::Bytes::len).sum();
        assert!(buffers * READ_BYTES < bytes * 5 / 4, "{buffers} buffers");
    }
}
