//! One connection to a server, made when it is first needed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{Answer, Cause, Endpoint, TrustArguments, trust};
use crate::error::Error;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) struct Line {
    pub(super) endpoint: Endpoint,
    trust: TrustArguments,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Line {
    pub(super) fn new(endpoint: Endpoint, trust: TrustArguments) -> Line {
        Line {
            endpoint,
            trust,
            connection: None,
        }
    }

    pub(super) async fn exchange(
        &mut self,
        mut message: hyper::Request<Full<Bytes>>,
    ) -> Result<Answer, Error> {
        // A server closes what is idle; what was not sent yet goes over a new connection.
        loop {
            let (mut connection, fresh) = match self.connection.take() {
                Some(connection) if !connection.is_closed() => (connection, false),
                _ => (self.connect().await?, true),
            };
            let ready = connection.ready().await;
            let sent = match ready {
                Ok(()) => connection
                    .try_send_request(message)
                    .await
                    .map_err(|mut error| (error.take_message(), error.into_error())),
                Err(error) => Err((Some(message), error)),
            };
            match sent {
                Ok(response) => {
                    let (parts, body) = response.into_parts();
                    let body = body.collect().await.map_err(Error::Broken)?.to_bytes();
                    self.connection = Some(connection);
                    return Ok(Answer {
                        status: parts.status.as_u16(),
                        headers: parts.headers,
                        body,
                    });
                }
                Err((Some(unsent), _)) if !fresh => message = unsent,
                Err((_, error)) => return Err(Error::Broken(error)),
            }
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

async fn handshake<T>(io: T) -> Result<SendRequest<Full<Bytes>>, Cause>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let (requests, connection) = http1::handshake(io).await?;
    // Its failure is that of the request on it.
    tokio::spawn(connection);
    Ok(requests)
}
