//! Connections that other regions have dialled; this region only reads from them.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_rustls::server::TlsStream;

use super::LinkContext;
use super::error::ConnectionError;
use super::framing::{READ_RECEIPT, take_envelope};
use super::greet;
use super::identity::is_certified;
use super::name::Slug;
use super::unauthenticated::{AddOutcome, UnauthenticatedPeer, UnauthenticatedPeers};

/// The limit of connections on which no region has proved its name.
const UNAUTHENTICATED_MAX: usize = 128;
/// Buffer space for small frames; a larger frame gets more space as its bytes arrive.
const READ_BYTES: usize = 64 * 1024;
/// Below this free space in the buffer a new read would be too small.
const ROOM_BYTES_MIN: usize = 4 * 1024;
/// How many connections the listener accepts in a row while strangers crowd each other out, and how
/// long it pauses then, so that a flood of connections cannot take a processor. A region that
/// connects meanwhile waits in the queue of the system.
const CROWDED_IN_A_ROW: u32 = 4;
const CROWDED_PAUSE: Duration = Duration::from_millis(1);
/// The pause after an error of `accept`, for instance when the process has no file descriptors
/// left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn run(listener: TcpListener, local: Arc<LinkContext>) {
    let mut strangers = UnauthenticatedPeers::new(UNAUTHENTICATED_MAX);
    let mut connections = JoinSet::new();
    let mut crowded = 0_u32;
    loop {
        match listener.accept().await {
            Ok((socket, address)) => {
                let local = Arc::clone(&local);
                let stranger = UnauthenticatedPeer::default();
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
                if strangers.add(stranger, task) == AddOutcome::InPlaceOfAnother {
                    crowded = crowded.wrapping_add(1);
                    if crowded.is_multiple_of(CROWDED_IN_A_ROW) {
                        sleep(CROWDED_PAUSE).await;
                    }
                }
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
    local: &LinkContext,
    stranger: &UnauthenticatedPeer,
) -> Result<(TlsStream<TcpStream>, Slug), ConnectionError> {
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
            return Err(ConnectionError::NotCertified(slug.dns_name()));
        }
        Ok((stream, slug))
    };
    let greeted = timeout(limit, greeting).await;
    greeted.unwrap_or(Err(ConnectionError::TimedOut(limit)))
}

/// Reads frames until the connection fails or the region dials another one.
async fn read(stream: TlsStream<TcpStream>, slug: &Slug, local: &LinkContext) -> ConnectionError {
    let (newest, replaced) = oneshot::channel();
    // The new sender replaces the older one in the table, and its drop ends the older connection's
    // task.
    local.reading().insert(slug.clone(), newest);
    tracing::info!(region = %slug, "a region is heard");
    tokio::select! {
        biased;
        _ = replaced => ConnectionError::Replaced,
        broken = read_frames(stream, slug, local) => broken,
    }
}

async fn read_frames(
    mut stream: TlsStream<TcpStream>,
    slug: &Slug,
    local: &LinkContext,
) -> ConnectionError {
    let timing = local.timing;
    let mut buffer = BytesMut::new();
    // Whether bytes were read without a receipt, and the earliest time of the next receipt.
    let (mut is_owed, mut due) = (false, Instant::now());
    let mut is_reported = false;
    loop {
        if is_owed && due <= Instant::now() {
            let sign = timeout(timing.silence, async {
                stream.write_all(&READ_RECEIPT).await?;
                stream.flush().await
            });
            match sign.await {
                Ok(Ok(())) => (is_owed, due) = (false, Instant::now() + timing.heard),
                Ok(Err(error)) => return error.into(),
                Err(_) => return ConnectionError::Silent,
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
            Ok(0) => return ConnectionError::Closed,
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
                    return ConnectionError::Stopping;
                }
                is_reported = true;
                tracing::warn!(region = %slug, %from, %to, "a region knows other numbers of regions");
            }
        }
    }
}

/// Decoded records are slices of the read buffer and keep it in memory. So frames share a buffer
/// until the buffer is full: with one buffer for each frame, small records would pin large buffers.
/// The buffer grows with the received bytes, not with the announced length.
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
        let (mut buffers, mut payloads) = (0, Vec::new());
        for _ in 0..10_000 {
            let before = buffer.capacity();
            make_room(&mut buffer);
            buffers += usize::from(buffer.capacity() > before);
            buffer.extend_from_slice(&[0; 100]);
            payloads.push(buffer.split().freeze());
        }
        let bytes: usize = payloads.iter().map(bytes::Bytes::len).sum();
        assert!(buffers * READ_BYTES < bytes * 5 / 4, "{buffers} buffers");
    }
}
