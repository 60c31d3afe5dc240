//! Accepts connections until told to stop, then lets open requests finish.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use orrery_memory::{Loan, Share};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::answer_body::{AnswerBody, Held};
use crate::governor::{Admitted, Connection, Register, Socket};
use crate::hosts::Hosts;

/// Session tokens and continuations travel in headers and grow.
const HEADER_BYTES_MAX: u32 = 128 * 1024;
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// When the machine has no file handles left, a pause lets some connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Requests of one connection at one time.
const STREAMS_MAX: u32 = 100;
/// Flow control of HTTP/2: bytes of request bodies that a client may send on one connection, or on
/// one stream, before the service has read them.
const CONNECTION_WINDOW: u32 = 128 * 1024;
const STREAM_WINDOW: u32 = 64 * 1024;
/// What waits of the answer to one request in the buffers of its connection.
const SEND_BYTES_MAX: usize = 64 * 1024;
/// Streams that a client may reset before the server has accepted them; one more ends the
/// connection.
const RESET_STREAMS_MAX: usize = 20;
/// Streams that were ended for a mistake of the client.
const WRONG_STREAMS_MAX: usize = 256;
/// How long an HTTP/2 client may send nothing before the server sends it a PING, and how long the
/// client may take to acknowledge the PING.
const PING_INTERVAL: Duration = Duration::from_mins(1);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// A request as it came in.
pub(crate) struct Call {
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    pub(crate) parts: Parts,
    pub(crate) body: Incoming,
}

/// A response, and the loan for the memory that the request and the response take.
pub(crate) struct Answer {
    pub(crate) response: Response<Bytes>,
    pub(crate) loan: Loan,
}

/// What stands behind a listener.
pub(crate) trait Answers: Send + Sync + 'static {
    fn answer(&self, call: Call, connection: &Connection) -> impl Future<Output = Answer> + Send;
}

/// Where connections come in.
pub(crate) struct Door {
    pub(crate) listener: TcpListener,
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) register: Arc<Register>,
    pub(crate) hosts: Hosts,
}

/// Behind the door.
struct House<A> {
    acceptor: Option<TlsAcceptor>,
    hosts: Hosts,
    answers: Arc<A>,
    strangers: Share,
}

/// Serves until `shutdown` is ready; returns when the open requests have ended.
pub(crate) async fn run<A: Answers>(
    door: Door,
    answers: Arc<A>,
    shutdown: impl Future<Output = ()>,
) {
    let Door {
        listener,
        acceptor,
        register,
        hosts,
    } = door;
    let house = Arc::new(House {
        acceptor,
        hosts,
        answers,
        strangers: register.memory().clone(),
    });
    let graceful = GracefulShutdown::new();
    let watching = Arc::clone(&register);
    let watching = tokio::spawn(async move { watching.watch().await });
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, _)) => {
                // Dropping `stream` closes the connection of a client that the register does not
                // admit.
                let Some(admitted) = register.admit() else {
                    continue;
                };
                let connection = Arc::clone(admitted.connection());
                let task = tokio::spawn(serve(
                    stream,
                    admitted,
                    Arc::clone(&house),
                    graceful.watcher(),
                ));
                connection.runs_as(task.abort_handle());
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    if timeout(SHUTDOWN_TIMEOUT, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("some requests were still running and were cut off");
    }
    watching.abort();
}

async fn serve<A: Answers>(
    stream: TcpStream,
    admitted: Admitted,
    house: Arc<House<A>>,
    watcher: Watcher,
) {
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    let connection = Arc::clone(admitted.connection());
    let socket = Socket::new(stream, admitted);
    match &house.acceptor.clone() {
        None => speak(socket, "http", connection, house, watcher).await,
        // The register ends a handshake that takes too long.
        Some(acceptor) => match acceptor.accept(socket).await {
            Ok(stream) => speak(stream, "https", connection, house, watcher).await,
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
        },
    }
}

impl<A: Answers> House<A> {
    async fn answer(
        &self,
        scheme: &'static str,
        request: Request<Incoming>,
        connection: &Connection,
    ) -> Answer {
        let (parts, body) = request.into_parts();
        if let Some(response) = self.hosts.refusal(&parts) {
            let loan = self.strangers.loan();
            return Answer { response, loan };
        }
        let call = Call {
            scheme,
            parts,
            body,
        };
        self.answers.answer(call, connection).await
    }
}

async fn speak<A: Answers>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    scheme: &'static str,
    connection: Arc<Connection>,
    house: Arc<House<A>>,
    watcher: Watcher,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let house = Arc::clone(&house);
        let open = connection.begin(request.version() == Version::HTTP_2);
        async move {
            let Answer { response, loan } = house.answer(scheme, request, open.connection()).await;
            let held = Held::new(open, loan);
            Ok::<_, Infallible>(response.map(|bytes| AnswerBody::new(bytes, held)))
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        // The register looks after slow headers and idle connections.
        .header_read_timeout(None)
        .max_buf_size(HEADER_BYTES_MAX as usize)
        .half_close(true)
        // Answers are a few kilobytes: one buffer is cheaper than a list of them.
        .writev(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .max_concurrent_streams(STREAMS_MAX)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .max_send_buf_size(SEND_BYTES_MAX)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .max_local_error_reset_streams(WRONG_STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX);
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
