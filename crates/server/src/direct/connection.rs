//! One connection in direct mode: its negotiation, its requests, its answers.
//!
//! The requests of a connection run beside each other, and their answers leave in the order in
//! which they are ready. A connection has a limited number of requests, each from its first byte
//! until its answer has left; beyond it the connection reads no further frame.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use orrery_memory::Loan;
use orrery_model::{AccountKeyRole, limits};
use orrery_rntbd::{
    ContextRequest, ContextResponse, FrameLimits, Malformed, RequestHead, RequestReader, Step,
    refuse_context,
};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf,
};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::answer::{self, Frame};
use super::request::{RequestEcho, TranslatedRequest, translate};
use crate::accept::{IncomingRequest, LoanedResponse};
use crate::answer_body::ResponseGuard;
use crate::body::RequestBody;
use crate::governor::{ClientIdentity, Connection, Governor, OpenRequest, STALL_RATE};
use crate::service;
use crate::state::State;

/// Requests of one connection at a time. The SDKs send 30 unless a program sets another number.
const REQUESTS_MAX: usize = 128;
/// The head and the tokens of one frame.
const HEAD_BYTES_MAX: usize = 1024 * 1024;
/// A larger body ends its connection; a smaller one that is too large receives an answer.
const PAYLOAD_BYTES_MAX: usize = 4 * limits::REQUEST_BYTES_MAX;
/// Bytes of a frame that need no loan of their own: the memory of a connection includes them.
const FRAME_BYTES_FREE: usize = 16 * 1024;
/// The size of the pieces in which large answers leave.
const PIECE_BYTES: usize = 32 * 1024;

const SERVER_AGENT: &str = "Orrery";
const SERVER_VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) struct DirectConnection {
    state: Arc<State>,
    connection: Arc<Connection>,
    /// The threads of the listener, which serve clients that have shown a key.
    listener_runtime: Handle,
}

/// An answer that waits for the connection to send it.
struct ReadyAnswer {
    frame: Frame,
    guard: ResponseGuard,
    _permit: OwnedSemaphorePermit,
}

/// Why a connection reads no further frame.
enum End {
    /// The client has closed its half, or the server stops.
    Finished,
    /// The client sends too slowly, or no memory is left for its frame.
    Refused(&'static str),
    Malformed(Malformed),
    Broken(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> End {
        End::Broken(error)
    }
}

impl From<Malformed> for End {
    fn from(malformed: Malformed) -> End {
        End::Malformed(malformed)
    }
}

impl DirectConnection {
    pub(super) fn new(
        state: Arc<State>,
        connection: Arc<Connection>,
        listener_runtime: Handle,
    ) -> DirectConnection {
        connection.carries_frames();
        DirectConnection {
            state,
            connection,
            listener_runtime,
        }
    }

    /// Serves the connection until one side ends it.
    pub(super) async fn serve<S>(self, stream: S, mut is_stopping: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (reading, mut writing) = tokio::io::split(stream);
        let mut frames = FrameSource::new(reading, &self.state.governor, &self.connection);
        let negotiated = tokio::select! {
            negotiated = self.negotiate(&mut frames, &mut writing) => negotiated,
            _ = is_stopping.wait_for(|is_stopping| *is_stopping) => return,
        };
        let context = match negotiated {
            Ok(context) => Arc::new(context),
            Err(end) => {
                self.state.direct_counts.ended_without_context();
                self.report(&end);
                return;
            }
        };
        self.state.direct_counts.opened();
        let (ready, answers) = unbounded_channel();
        let reading = self.read_requests(frames, &context, ready, is_stopping);
        // The writer ends when the last answer has left, after the reader has ended, or when the
        // client reads no more. Then the requests that still run are of no use.
        tokio::select! {
            () = reading => {}
            written = write_answers(writing, answers) => {
                if let Err(error) = written {
                    tracing::debug!(%error, "a connection in direct mode ended early");
                }
            }
        }
    }

    /// Reads the first frame of the client, and answers it.
    async fn negotiate<S: AsyncRead + AsyncWrite>(
        &self,
        frames: &mut FrameSource<S>,
        writing: &mut WriteHalf<S>,
    ) -> Result<ContextRequest, End> {
        let (head, _) = frames.next().await?.ok_or(End::Finished)?;
        let limits = self.state.governor.limits();
        let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        match ContextRequest::of(&head) {
            Ok(request) => {
                let response = ContextResponse {
                    server_agent: SERVER_AGENT,
                    server_version: SERVER_VERSION,
                    idle_seconds: seconds(limits.idle_time),
                    unauthenticated_seconds: seconds(limits.header_time),
                };
                writing.write_all(&response.write(&head, &request)).await?;
                writing.flush().await?;
                Ok(request)
            }
            Err(malformed) => {
                let object = serde_json::json!({
                    "code": "BadRequest",
                    "message": format!("The context of the connection is refused: {malformed}."),
                });
                let refusal = refuse_context(&head, 400, object.to_string().as_bytes());
                writing.write_all(&refusal).await?;
                writing.shutdown().await?;
                Err(End::Malformed(malformed))
            }
        }
    }

    /// Reads requests and starts them, until one side ends the connection. Never returns: the
    /// writer ends the connection when the answers to all of them have left.
    async fn read_requests<S: AsyncRead>(
        &self,
        mut frames: FrameSource<S>,
        context: &Arc<ContextRequest>,
        ready: UnboundedSender<ReadyAnswer>,
        mut is_stopping: watch::Receiver<bool>,
    ) {
        // Requests that are still running when the connection ends are aborted with the set.
        let mut running = JoinSet::new();
        let places = Arc::new(Semaphore::new(REQUESTS_MAX));
        let end = loop {
            let next = async {
                let place = Arc::clone(&places).acquire_owned().await;
                let frame = frames.next().await?;
                Ok::<_, End>(frame.zip(place.ok()))
            };
            let next = tokio::select! {
                next = next => next,
                _ = is_stopping.wait_for(|is_stopping| *is_stopping) => break End::Finished,
            };
            let ((head, payload), place) = match next {
                Ok(Some(next)) => next,
                Ok(None) => break End::Finished,
                Err(end) => break end,
            };
            let echo = match RequestEcho::of(&head) {
                Ok(echo) => echo,
                Err(malformed) => break End::Malformed(malformed),
            };
            let open = self.connection.begin(true);
            let request = OpenFrame {
                state: Arc::clone(&self.state),
                context: Arc::clone(context),
                head,
                payload,
                echo,
                open,
                place,
            };
            let mut work = Box::pin(request.answer());
            // A point read is ready at the first poll, and needs no task of its own.
            match poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
                Poll::Ready(answer) => drop(ready.send(answer)),
                Poll::Pending => {
                    let ready = ready.clone();
                    let work = async move { drop(ready.send(work.await)) };
                    // The first poll has authorized the request. The request that shows the key
                    // must not stay on the threads of low priority: its connection moves without
                    // it.
                    if self.connection.has_key() {
                        running.spawn_on(work, &self.listener_runtime);
                    } else {
                        running.spawn(work);
                    }
                }
            }
            while running.try_join_next().is_some() {}
        };
        self.report(&end);
        drop(ready);
        while running.join_next().await.is_some() {}
        // The writer has the last answers, and ends the connection.
        std::future::pending::<()>().await;
    }

    /// Counts and logs the end of a connection that its client did not end.
    fn report(&self, end: &End) {
        match end {
            End::Finished => {}
            End::Refused(reason) => {
                tracing::debug!(reason, "a connection in direct mode was closed");
            }
            End::Malformed(malformed) => {
                self.state.direct_counts.malformed();
                tracing::debug!(%malformed, "a connection in direct mode was closed");
            }
            End::Broken(error) => {
                tracing::debug!(%error, "a connection in direct mode ended early");
            }
        }
    }
}

/// A request that has come in whole.
struct OpenFrame {
    state: Arc<State>,
    context: Arc<ContextRequest>,
    head: RequestHead,
    payload: Bytes,
    echo: RequestEcho,
    open: OpenRequest,
    place: OwnedSemaphorePermit,
}

impl OpenFrame {
    async fn answer(self) -> ReadyAnswer {
        let OpenFrame {
            state,
            context,
            head,
            payload,
            echo,
            open,
            place,
        } = self;
        let translated = translate(&head, &context, &echo);
        let is_invalid = translated.is_err();
        // The headers have copies of the tokens, which may be large.
        drop(head);
        let LoanedResponse { response, loan } = match translated {
            Ok(request) => {
                let request = incoming(request, payload);
                service::handle(&state, request, open.connection()).await
            }
            Err(failure) => {
                let activity_id = echo.activity_id.to_string();
                service::refuse(&state, failure, &activity_id, open.connection())
            }
        };
        ReadyAnswer {
            frame: answer::write(response, &echo, is_invalid),
            guard: ResponseGuard::new(open, loan),
            _permit: place,
        }
    }
}

fn incoming(request: TranslatedRequest, payload: Bytes) -> IncomingRequest {
    let body = if request.is_plain_query {
        let text = String::from_utf8_lossy(&payload);
        Bytes::from(serde_json::json!({ "query": text }).to_string())
    } else {
        payload
    };
    IncomingRequest {
        scheme: "https",
        parts: request.parts,
        body: RequestBody::Whole(body),
        replica: Some(request.replica),
    }
}

/// The frames of one client, read within its share of memory and of time.
struct FrameSource<S> {
    stream: ReadHalf<S>,
    buffer: BytesMut,
    reader: RequestReader,
    governor: Governor,
    connection: Arc<Connection>,
    /// The loan for a frame that is larger than most.
    loan: Option<Loan>,
}

impl<S: AsyncRead> FrameSource<S> {
    fn new(
        stream: ReadHalf<S>,
        governor: &Governor,
        connection: &Arc<Connection>,
    ) -> FrameSource<S> {
        FrameSource {
            stream,
            buffer: BytesMut::new(),
            reader: RequestReader::new(FrameLimits {
                head_bytes: HEAD_BYTES_MAX,
                payload_bytes: PAYLOAD_BYTES_MAX,
            }),
            governor: governor.clone(),
            connection: Arc::clone(connection),
            loan: None,
        }
    }

    /// Borrows memory for a frame that is larger than most. The memory is that of clients without a
    /// credential until the client has shown a key: the frame itself shows its credential too late.
    fn borrow_for(&mut self, bytes: usize) -> Result<(), End> {
        let extra = bytes.saturating_sub(FRAME_BYTES_FREE);
        if extra == 0 {
            return Ok(());
        }
        let client = if self.connection.has_key() {
            ClientIdentity::Key(AccountKeyRole::ReadWrite)
        } else {
            ClientIdentity::Unauthenticated
        };
        let share = self.governor.share(client);
        let lent = self.loan.get_or_insert_with(|| share.loan()).resize(extra);
        lent.map_err(|_| End::Refused("no memory is left for a frame"))
    }

    /// The next request; None if the client has ended the connection between two requests.
    async fn next(&mut self) -> Result<Option<(RequestHead, Bytes)>, End> {
        // Until the first byte of a frame the register limits the time, as for other connections.
        let mut deadline = None;
        loop {
            let needed = match self.reader.next(&mut self.buffer)? {
                Step::Request(head, payload) => {
                    // From here on the request borrows for its body itself.
                    self.loan = None;
                    return Ok(Some((head, payload)));
                }
                Step::Needs(needed) => needed,
            };
            self.borrow_for(needed)?;
            self.buffer
                .reserve(needed.saturating_sub(self.buffer.len()));
            let is_inside = self.reader.is_inside_frame() || !self.buffer.is_empty();
            if deadline.is_none() && is_inside {
                deadline = Some(Instant::now() + self.governor.limits().stall_time);
            }
            let read = match deadline {
                None => self.stream.read_buf(&mut self.buffer).await?,
                // A large frame has as much time as a large body of HTTP.
                Some(started) => {
                    let bytes = u64::try_from(needed).unwrap_or(u64::MAX);
                    let end = started + Duration::from_secs(bytes / STALL_RATE);
                    let read = timeout_at(end, self.stream.read_buf(&mut self.buffer)).await;
                    read.map_err(|_| End::Refused("a frame came too slowly"))??
                }
            };
            if read == 0 {
                return if deadline.is_none() {
                    Ok(None)
                } else {
                    Err(End::Broken(io::ErrorKind::UnexpectedEof.into()))
                };
            }
        }
    }
}

/// Sends answers until there are no more, and then closes the connection.
///
/// Each answer is a write of its own, and so begins a TLS record: the Java SDK reads the frames of
/// one record from one buffer, and moves the bytes of that buffer when it has read the first frame,
/// although it reads the tokens of this frame later.
async fn write_answers<S: AsyncWrite>(
    mut stream: WriteHalf<S>,
    mut answers: UnboundedReceiver<ReadyAnswer>,
) -> io::Result<()> {
    let mut whole = BytesMut::new();
    while let Some(first) = answers.recv().await {
        let mut next = Some(first);
        while let Some(answer) = next {
            send(&mut stream, &answer, &mut whole).await?;
            // Dropping the answer closes its request.
            drop(answer);
            next = answers.try_recv().ok();
        }
        stream.flush().await?;
    }
    stream.shutdown().await
}

/// Sends one answer. `whole` is a buffer that all answers use in turn.
async fn send<S: AsyncWrite>(
    stream: &mut WriteHalf<S>,
    answer: &ReadyAnswer,
    whole: &mut BytesMut,
) -> io::Result<()> {
    let Frame { head, payload } = &answer.frame;
    // A small payload is cheaper to copy than to send alone.
    let (begin, rest) = payload.split_at(payload.len().min(PIECE_BYTES));
    whole.clear();
    whole.extend_from_slice(head);
    whole.extend_from_slice(begin);
    stream.write_all(whole).await?;
    answer.guard.count_written(whole.len());
    for piece in rest.chunks(PIECE_BYTES) {
        stream.write_all(piece).await?;
        answer.guard.count_written(piece.len());
    }
    Ok(())
}
