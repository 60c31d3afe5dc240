//! The connection on which a region sends to another region: dialled, used, closed and dialled
//! again.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::client::TlsStream;

use super::LinkContext;
use super::error::ConnectionError;
use super::greet;
use super::name::Slug;
use super::queue::{Outlet, Queue};

/// The capacity that the buffer retains for the next write.
const BUFFER_BYTES_KEPT: usize = 1024 * 1024;

pub(super) struct Dialer {
    pub(super) local: Arc<LinkContext>,
    pub(super) region: String,
    pub(super) slug: Slug,
    pub(super) address: String,
    pub(super) queue: Arc<Queue>,
}

/// Since when the other region has not confirmed the bytes that were sent.
#[derive(Default)]
struct Silence(Mutex<SilenceState>);

#[derive(Default)]
struct SilenceState {
    is_writing: bool,
    since: Option<Instant>,
}

impl Dialer {
    pub(super) async fn run(self) {
        let timing = self.local.timing;
        let mut pause = timing.pause_min;
        let mut is_reported = false;
        loop {
            while !self.is_wanted() {
                sleep(timing.pause_max).await;
            }
            let broken = match self.connect().await {
                Ok(stream) => {
                    tracing::info!(region = self.region, "connected to a region");
                    (pause, is_reported) = (timing.pause_min, false);
                    self.send(stream).await
                }
                Err(broken) => broken,
            };
            if is_reported {
                tracing::debug!(region = self.region, %broken, "still no connection to a region");
            } else {
                tracing::warn!(region = self.region, %broken, "no connection to a region");
            }
            is_reported = true;
            sleep(pause).await;
            pause = timing.pause_max.min(pause * 2);
        }
    }

    /// Whether to dial the other region. A region that is no member is dialled only while it dials
    /// this one: it wants to join, or must receive its own removal.
    fn is_wanted(&self) -> bool {
        self.local.links.may_be_member(&self.slug) || self.local.is_heard(&self.slug)
    }

    pub(super) async fn connect(&self) -> Result<TlsStream<TcpStream>, ConnectionError> {
        let limit = self.local.timing.greeting;
        let connecting = async {
            let socket = TcpStream::connect(&self.address).await?;
            socket.set_nodelay(true)?;
            let name = self.slug.dns_name();
            let name = ServerName::try_from(name.clone())
                .map_err(|_| ConnectionError::NotCertified(name))?;
            let connector = &self.local.identity.connector;
            let mut stream = connector.connect(name, socket).await?;
            let is_placed = greet::as_dialer(&mut stream, &self.local, &self.region).await?;
            self.local.met(&self.slug, is_placed);
            Ok(stream)
        };
        let connected = timeout(limit, connecting).await;
        let connected = connected.unwrap_or(Err(ConnectionError::TimedOut(limit)));
        if connected.is_err() {
            self.local.met(&self.slug, false);
        }
        connected
    }

    /// Sends frames until the connection fails.
    async fn send(&self, stream: TlsStream<TcpStream>) -> ConnectionError {
        let outlet = self.queue.open();
        let (mut reader, mut writer) = tokio::io::split(stream);
        let silence = Silence::default();
        let broken = tokio::select! {
            broken = write(&mut writer, &outlet, &silence) => broken,
            broken = self.listen(&mut reader, &silence) => broken,
            () = outlet.disconnected() => ConnectionError::Cut,
        };
        if matches!(broken, ConnectionError::Cut) {
            // A cut must also drop the bytes in the socket buffer, so the socket closes with a
            // reset.
            let _ = reader.unsplit(writer).get_ref().0.set_zero_linger();
        }
        broken
    }

    async fn listen(
        &self,
        reader: &mut (impl AsyncRead + Unpin),
        silence: &Silence,
    ) -> ConnectionError {
        let limit = self.local.timing.silence;
        let mut signs = [0; 64];
        loop {
            match timeout(limit / 8, reader.read(&mut signs)).await {
                // Any bytes from the other region confirm that it has read something.
                Ok(Ok(0)) => return ConnectionError::Closed,
                Ok(Ok(_)) => silence.ends(),
                Ok(Err(error)) => return error.into(),
                Err(_) if silence.lasts(limit) => return ConnectionError::Silent,
                Err(_) => {}
            }
        }
    }
}

async fn write(
    writer: &mut (impl AsyncWrite + Unpin),
    outlet: &Outlet<'_>,
    silence: &Silence,
) -> ConnectionError {
    let mut buffer = Vec::new();
    loop {
        outlet.next(&mut buffer).await;
        // The silence begins with the write itself: a write into a full socket buffer may never
        // return.
        silence.writes();
        let written = async {
            writer.write_all(&buffer).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            return error.into();
        }
        silence.has_written();
        buffer.clear();
        buffer.shrink_to(BUFFER_BYTES_KEPT);
    }
}

impl Silence {
    fn writes(&self) {
        self.change(|state| {
            state.is_writing = true;
            state.since.get_or_insert_with(Instant::now);
        });
    }

    fn has_written(&self) {
        self.change(|state| state.is_writing = false);
    }

    fn ends(&self) {
        self.change(|state| state.since = state.is_writing.then(Instant::now));
    }

    fn lasts(&self, limit: std::time::Duration) -> bool {
        let mut lasts = false;
        self.change(|state| lasts = state.since.is_some_and(|since| since.elapsed() >= limit));
        lasts
    }

    fn change(&self, change: impl FnOnce(&mut SilenceState)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
