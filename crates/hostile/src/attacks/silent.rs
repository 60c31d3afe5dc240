//! Clients that hold a connection and never complete a request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::attack::Outcome;
use crate::http2::{Connection, PREFACE};
use crate::target::Target;

const LARGE_HEAD_BYTES: usize = 120_000;
/// The first bytes of a client hello: a record of 512 bytes that is never sent whole.
const HALF_HELLO: [u8; 11] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];

/// Connects and sends no byte.
pub(super) async fn silent(target: Arc<Target>) -> Outcome {
    send_and_wait(target.address, b"").await
}

/// Sends half of the HTTP/2 preface, so that the server waits for the other half.
pub(super) async fn half_preface(target: Arc<Target>) -> Outcome {
    send_and_wait(target.address, &PREFACE[..PREFACE.len() / 2]).await
}

/// Begins a TLS handshake with a region, and never completes the handshake.
pub(super) async fn half_handshake(target: Arc<Target>) -> Outcome {
    send_and_wait(target.tls_address, &HALF_HELLO).await
}

/// Connects to the port for other regions and sends no byte.
pub(super) async fn silent_peer(target: Arc<Target>) -> Outcome {
    send_and_wait(target.peer_address, b"").await
}

/// Begins a TLS handshake on the port for other regions.
pub(super) async fn half_peer_handshake(target: Arc<Target>) -> Outcome {
    send_and_wait(target.peer_address, &HALF_HELLO).await
}

/// Sends many headers without the empty line that would end the head.
pub(super) async fn large_head(target: Arc<Target>) -> Outcome {
    let mut head = b"GET / HTTP/1.1\r\nhost: localhost\r\n".to_vec();
    while head.len() < LARGE_HEAD_BYTES {
        head.extend_from_slice(b"x-filler: ");
        head.extend_from_slice(&[b'x'; 1_000]);
        head.extend_from_slice(b"\r\n");
    }
    send_and_wait(target.address, &head).await
}

/// Sends one byte of a header per second ("Slowloris").
pub(super) async fn slow_head(target: Arc<Target>) -> Outcome {
    let Ok(mut stream) = TcpStream::connect(target.address).await else {
        return Outcome::NotConnected;
    };
    let head = b"GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ".iter();
    for byte in head.chain(std::iter::repeat(&b'x')) {
        if stream.write_all(&[*byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Outcome::Closed
}

/// Opens an HTTP/2 connection and no stream.
pub(super) async fn idle_http2(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = Connection::open(target.address, 65_535).await else {
        return Outcome::NotConnected;
    };
    while connection.receive().await.is_ok() {}
    Outcome::Closed
}

/// Sends bytes and waits until the server ends the connection.
async fn send_and_wait(address: SocketAddr, bytes: &[u8]) -> Outcome {
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return Outcome::NotConnected;
    };
    if stream.write_all(bytes).await.is_err() {
        return Outcome::Closed;
    }
    let mut answer = Vec::new();
    // A server without a time limit would keep the attacker here until the deadline.
    let _ = stream.read_to_end(&mut answer).await;
    status_of(&answer)
}

/// The status of an HTTP/1.1 answer. Any other bytes count as a closed connection.
fn status_of(answer: &[u8]) -> Outcome {
    let status = answer
        .strip_prefix(b"HTTP/1.1 ")
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok());
    status.map_or(Outcome::Closed, Outcome::Status)
}
