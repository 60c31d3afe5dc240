//! Accepts connections until the shutdown signal, and then waits until open requests have finished.

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
use orrery_memory::{Loan, MemoryShare};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::answer_body::{AnswerBody, ResponseGuard};
use crate::body::RequestBody;
use crate::direct::ReplicaRequest;
use crate::governor::{AdmittedConnection, Connection, Governor, Register, Socket};
use crate::hosts::Hosts;

/// The limit on the headers of one request. Session tokens and continuations travel in headers and
/// can be long.
const HEADER_BYTES_MAX: u32 = 128 * 1024;
/// How long open requests may run after the shutdown signal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// When the machine has no file handles left, a pause lets some connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Open requests of one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
/// Flow control of HTTP/2: bytes of request bodies that a client may send on one connection, or on
/// one stream, before the service has read them.
const CONNECTION_WINDOW: u32 = 128 * 1024;
const STREAM_WINDOW: u32 = 64 * 1024;
/// Bytes of the answer to one request that may wait in the buffers of its connection.
const SEND_BYTES_MAX: usize = 64 * 1024;
/// Streams that a client may reset before the server has accepted them; one more ends the
/// connection.
const RESET_STREAMS_MAX: usize = 20;
/// Streams that the server may end for an error of the client, before it ends the connection.
const WRONG_STREAMS_MAX: usize = 256;
/// How long an HTTP/2 client may send nothing before the server sends it a PING, and how long the
/// client may take to acknowledge the PING.
const PING_INTERVAL: Duration = Duration::from_mins(1);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// A request as received.
pub(crate) struct IncomingRequest {
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    pub(crate) parts: Parts,
    pub(crate) body: RequestBody,
    /// The replica that a client in direct mode asks; None for a request over HTTP.
    pub(crate) replica: Option<ReplicaRequest>,
}

/// A response, and the loan for the memory that the request and the response take.
pub(crate) struct LoanedResponse {
    pub(crate) response: Response<Bytes>,
    pub(crate) loan: Loan,
}

/// The service behind a listener.
pub(crate) trait RequestHandler: Send + Sync + 'static {
    fn answer(
        &self,
        request: IncomingRequest,
        connection: &Connection,
    ) -> impl Future<Output = LoanedResponse> + Send;
}

/// A listening socket, and what its connections need.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) register: Arc<Register>,
    pub(crate) hosts: Hosts,
    /// The governor whose low-priority threads serve connections before a client has shown a key.
    /// None if the threads of the listener serve every connection.
    pub(crate) low_priority: Option<Governor>,
}

/// What every connection of a listener shares.
struct ConnectionContext<A> {
    acceptor: Option<TlsAcceptor>,
    hosts: Hosts,
    answers: Arc<A>,
    memory: MemoryShare,
}

/// Serves until `shutdown` is ready; returns when the open requests have ended.
pub(crate) async fn run<A: RequestHandler>(
    listener: Listener,
    answers: Arc<A>,
    shutdown: impl Future<Output = ()>,
) {
    let Listener {
        socket,
        acceptor,
        register,
        hosts,
        low_priority,
    } = listener;
    let context = Arc::new(ConnectionContext {
        acceptor,
        hosts,
        answers,
        memory: register.memory().clone(),
    });
    // Every connection gets a watcher, so that the shutdown can wait for its open request.
    let graceful = GracefulShutdown::new();
    // One task enforces the time limits of all connections, since a timer for each would cost more.
    let watching = Arc::clone(&register);
    let watching = tokio::spawn(async move { watching.watch().await });
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
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
                let serving = serve(stream, admitted, Arc::clone(&context), graceful.watcher());
                match &low_priority {
                    Some(governor) => governor.low_priority_threads().serve(&connection, serving),
                    None => connection.run(|| tokio::spawn(serving)),
                }
            }
            Err(error) => {
                // The usual cause is the limit of open files, and another `accept` at once would
                // fail too.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // The port is free for the next process while open requests still finish.
    drop(socket);
    if timeout(SHUTDOWN_TIMEOUT, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("some requests were still running and were cut off");
    }
    // The sweep runs until here: it also ends clients that stall during the shutdown.
    watching.abort();
}

/// Serves one connection: TLS if the listener has it, then HTTP.
async fn serve<A: RequestHandler>(
    stream: TcpStream,
    admitted: AdmittedConnection,
    context: Arc<ConnectionContext<A>>,
    watcher: Watcher,
) {
    // Small answers must not wait for the acknowledgement of earlier packets.
    let _ = stream.set_nodelay(true);
    let connection = Arc::clone(admitted.connection());
    let socket = Socket::new(stream, admitted);
    match &context.acceptor.clone() {
        None => serve_http(socket, "http", connection, context, watcher).await,
        // The register closes a connection whose handshake takes too long.
        Some(acceptor) => match acceptor.accept(socket).await {
            Ok(stream) => serve_http(stream, "https", connection, context, watcher).await,
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
        },
    }
}

impl<A: RequestHandler> ConnectionContext<A> {
    async fn answer(
        &self,
        scheme: &'static str,
        request: Request<Incoming>,
        connection: &Connection,
    ) -> LoanedResponse {
        let (parts, body) = request.into_parts();
        // The host check comes first: a page that misuses DNS rebinding receives no other answer.
        if let Some(response) = self.hosts.refusal(&parts) {
            let loan = self.memory.loan();
            return LoanedResponse { response, loan };
        }
        let request = IncomingRequest {
            scheme,
            parts,
            body: RequestBody::Incoming(body),
            replica: None,
        };
        self.answers.answer(request, connection).await
    }
}

/// Speaks HTTP/1.1 or HTTP/2, whichever the client begins with.
async fn serve_http<A: RequestHandler>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    scheme: &'static str,
    connection: Arc<Connection>,
    context: Arc<ConnectionContext<A>>,
    watcher: Watcher,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let context = Arc::clone(&context);
        // The request is open from the end of its headers, so that the register does not count it
        // as idle.
        let open = connection.begin(request.version() == Version::HTTP_2);
        async move {
            let LoanedResponse { response, loan } =
                context.answer(scheme, request, open.connection()).await;
            // The guard travels with the body: the request stays open, and its memory is lent,
            // until the client has taken the last byte.
            let guard = ResponseGuard::new(open, loan);
            Ok::<_, Infallible>(response.map(|bytes| AnswerBody::new(bytes, guard)))
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        // The register closes connections with slow headers and idle connections.
        .header_read_timeout(None)
        .max_buf_size(HEADER_BYTES_MAX as usize)
        // A client may close its sending half after the request and still read the answer.
        .half_close(true)
        // Answers are a few kilobytes, so one buffer is cheaper than a list of buffers.
        .writev(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        // Without these limits one connection could open any number of requests, and queue any
        // number of bytes and resets.
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
