//! One connection to a server, opened by the first request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::rt::{Read, Write};
use hyper::{Method, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use crate::error::{Cause, Error};
use crate::request::IS_QUERY;
use crate::{Answer, Endpoint, TrustArguments, trust};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest idle time of a connection that is used again. A proxy or firewall may drop an older
/// connection without telling either end.
const IDLE_MAX: Duration = Duration::from_mins(1);
/// The turns of the runtime in which a closed connection is noticed: in the first the runtime polls
/// the sockets, in the second it runs the task of the connection.
const POLLS_TO_NOTICE_CLOSE: usize = 2;

type Message = hyper::Request<Full<Bytes>>;

pub(crate) struct ServerConnection {
    pub(crate) endpoint: Endpoint,
    trust: TrustArguments,
    connection: Option<IdleConnection>,
}

/// A connection that waits for the next request.
struct IdleConnection {
    requests: SendRequest<Full<Bytes>>,
    since: Instant,
}

/// A request without an answer.
enum Unanswered {
    Unsent(Box<Message>),
    /// The server may have carried the request out.
    Sent(hyper::Error),
}

impl ServerConnection {
    pub(crate) fn new(endpoint: Endpoint, trust: TrustArguments) -> ServerConnection {
        ServerConnection {
            endpoint,
            trust,
            connection: None,
        }
    }

    /// Sends a message and waits for the answer. If the server has closed the idle connection, a
    /// new connection is opened for a message that was not sent, and for a message that changes
    /// nothing.
    pub(crate) async fn exchange(&mut self, message: Message) -> Result<Answer, Error> {
        let Some(mut requests) = self.idle_connection().await else {
            return self.reconnect_and_send(message).await;
        };
        // The copy exists before the message is sent, since sending consumes it. Writes have no
        // copy: the server may have carried the write out.
        let again = is_read(&message).then(|| message.clone());
        match send(&mut requests, message).await {
            Ok(response) => self.answer(requests, response).await,
            Err(Unanswered::Unsent(message)) => self.reconnect_and_send(*message).await,
            Err(Unanswered::Sent(error)) => match again {
                Some(message) => self.reconnect_and_send(message).await,
                None => Err(Error::Broken(error)),
            },
        }
    }

    async fn reconnect_and_send(&mut self, message: Message) -> Result<Answer, Error> {
        let mut requests = self.connect().await?;
        match send(&mut requests, message).await {
            Ok(response) => self.answer(requests, response).await,
            Err(Unanswered::Unsent(_)) => Err(self.refused_connection()),
            Err(Unanswered::Sent(error)) => Err(Error::Broken(error)),
        }
    }

    /// The connection of the previous request, if it is still open.
    async fn idle_connection(&mut self) -> Option<SendRequest<Full<Bytes>>> {
        let IdleConnection { requests, since } = self.connection.take()?;
        if since.elapsed() > IDLE_MAX {
            return None;
        }
        // While a person types, the runtime does not run the task of the connection, so the task
        // has not yet noticed that the server closed the connection.
        for _ in 0..POLLS_TO_NOTICE_CLOSE {
            yield_now().await;
        }
        (!requests.is_closed()).then_some(requests)
    }

    async fn answer(
        &mut self,
        requests: SendRequest<Full<Bytes>>,
        response: Response<Incoming>,
    ) -> Result<Answer, Error> {
        let (parts, body) = response.into_parts();
        // The body is read to its end before the connection is used again.
        let body = body.collect().await.map_err(Error::Broken)?.to_bytes();
        self.connection = Some(IdleConnection {
            requests,
            since: Instant::now(),
        });
        Ok(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        })
    }

    fn refused_connection(&self) -> Error {
        Error::Connect {
            authority: self.endpoint.authority(),
            source: "the server closed the connection at once".into(),
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Error> {
        let attempt = timeout(CONNECT_TIMEOUT, self.try_connect()).await;
        attempt
            .unwrap_or_else(|_| Err("nobody answers there".into()))
            .map_err(|source| Error::Connect {
                authority: self.endpoint.authority(),
                source,
            })
    }

    async fn try_connect(&self) -> Result<SendRequest<Full<Bytes>>, Cause> {
        let Endpoint { tls, host, port } = &self.endpoint;
        let stream = TcpStream::connect((host.as_str(), *port)).await?;
        // Without this option the kernel delays small requests.
        stream.set_nodelay(true)?;
        if !tls {
            return handshake(TokioIo::new(stream)).await;
        }
        let config = self.trust.client_config(&self.endpoint)?;
        let name = ServerName::try_from(host.clone())?;
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(name, stream).await;
        let stream = stream.map_err(trust::explained)?;
        handshake(TokioIo::new(stream)).await
    }
}

async fn send(
    requests: &mut SendRequest<Full<Bytes>>,
    message: Message,
) -> Result<Response<Incoming>, Unanswered> {
    if requests.ready().await.is_err() {
        return Err(Unanswered::Unsent(Box::new(message)));
    }
    let sent = requests.try_send_request(message).await;
    sent.map_err(|mut error| match error.take_message() {
        Some(message) => Unanswered::Unsent(Box::new(message)),
        None => Unanswered::Sent(error.into_error()),
    })
}

/// Whether sending the message twice has the same effect as sending it once.
fn is_read(message: &Message) -> bool {
    message.method() == Method::GET || message.headers().contains_key(IS_QUERY)
}

async fn handshake<T>(io: T) -> Result<SendRequest<Full<Bytes>>, Cause>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let (requests, connection) = http1::handshake(io).await?;
    // A failure of the connection task is reported by the request on the connection.
    tokio::spawn(connection);
    Ok(requests)
}
