//! Clients whose requests contradict themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::attack::Outcome;
use crate::target::Target;

/// Lengths that cannot both be true, chunks that are none, and a second request hidden in a body.
const LIES: [&str; 6] = [
    "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
    "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /dbs HTTP/1.1\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nabc",
    "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc",
    "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
];

/// Successive rounds use successive lies, across all connections.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Sends a request with contradictory framing, as in HTTP request smuggling.
pub(super) async fn lengths(target: Arc<Target>) -> Outcome {
    let lie = LIES[NEXT.fetch_add(1, Ordering::Relaxed) % LIES.len()];
    send_request(&target, lie).await
}

/// Sends a `Host` header of another domain, as a browser does after DNS rebinding.
pub(super) async fn foreign_host(target: Arc<Target>) -> Outcome {
    let request =
        "GET / HTTP/1.1\r\nhost: rebound.attacker.example:8081\r\nconnection: close\r\n\r\n";
    send_request(&target, request).await
}

/// Sends raw bytes, because an HTTP client would refuse to produce these requests.
async fn send_request(target: &Target, request: &str) -> Outcome {
    let Ok(mut stream) = TcpStream::connect(target.address).await else {
        return Outcome::NotConnected;
    };
    if stream.write_all(request.as_bytes()).await.is_err() {
        return Outcome::Closed;
    }
    let mut answer = [0; 12];
    if stream.read_exact(&mut answer).await.is_err() {
        return Outcome::Closed;
    }
    // The status follows the nine bytes `HTTP/1.1 `.
    let status = std::str::from_utf8(&answer[9..]).ok();
    let status = status.and_then(|text| text.parse().ok());
    status.map_or(Outcome::Closed, Outcome::Status)
}
