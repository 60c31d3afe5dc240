//! Sends requests to the operators' listener of a server.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};

use crate::error::Error;
use crate::server_connection::ServerConnection;
use crate::{Endpoint, Refusal, TrustArguments, percent};

/// A client of the operators' listener, which checks one key and no signatures.
pub struct ManagementClient {
    connection: ServerConnection,
    key: String,
}

impl ManagementClient {
    pub fn new(endpoint: Endpoint, key: String, trust: TrustArguments) -> ManagementClient {
        ManagementClient {
            connection: ServerConnection::new(endpoint, trust),
            key,
        }
    }

    /// Sends a GET. The caller passes unencoded path segments.
    pub async fn get(&mut self, path: &[&str]) -> Result<Vec<u8>, Error> {
        self.send(Method::GET, path, None).await
    }

    /// Sends a DELETE. The body is JSON.
    pub async fn delete(&mut self, path: &[&str], body: Option<String>) -> Result<Vec<u8>, Error> {
        self.send(Method::DELETE, path, body).await
    }

    /// Sends a POST. The body is JSON.
    pub async fn post(&mut self, path: &[&str], body: Option<String>) -> Result<Vec<u8>, Error> {
        self.send(Method::POST, path, body).await
    }

    /// Sends a request. The function encodes the path segments.
    async fn send(
        &mut self,
        method: Method,
        path: &[&str],
        body: Option<String>,
    ) -> Result<Vec<u8>, Error> {
        let message = self.message(method, path, body)?;
        let answer = self.connection.exchange(message).await?;
        if answer.status < 300 {
            return Ok(answer.body.to_vec());
        }
        Err(Refusal::of(&answer).into())
    }

    /// Builds a request. Fails if a value cannot be sent in a header.
    fn message(
        &self,
        method: Method,
        path: &[&str],
        body: Option<String>,
    ) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let wrong = |what: &str| Error::Unsendable(what.to_owned());
        let value = |text: &str, what: &str| HeaderValue::from_str(text).map_err(|_| wrong(what));
        let path: String = path.iter().map(|segment| escaped(segment)).collect();
        let mut message = hyper::Request::new(Full::new(Bytes::from(body.unwrap_or_default())));
        *message.method_mut() = method;
        *message.uri_mut() = path.parse().map_err(|_| wrong(&path))?;
        let headers = message.headers_mut();
        headers.insert(
            HOST,
            value(&self.connection.endpoint.authority(), "the host")?,
        );
        let mut bearer = value(&format!("Bearer {}", self.key), "the management key")?;
        // `Debug` of a sensitive header value does not print the key.
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(message)
    }
}

/// One segment of a path, with its slash. Slashes inside the segment are escaped.
fn escaped(segment: &str) -> String {
    let escaped = percent::path(segment);
    format!("/{}", escaped[1..].replace('/', "%2F"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_path_and_key() {
        let operator = ManagementClient::new(
            "http://h:1".parse().unwrap(),
            "k".to_owned(),
            TrustArguments::default(),
        );
        let path = ["links", "West US", "*"];
        let message = operator.message(Method::POST, &path, None).unwrap();
        assert_eq!(message.uri().path(), "/links/West%20US/%2A");
        assert_eq!(message.headers()[AUTHORIZATION], "Bearer k");
        assert_eq!(message.headers()[HOST], "h:1");
        let path = ["regions", "a/b", "up"];
        let message = operator.message(Method::POST, &path, None).unwrap();
        assert_eq!(message.uri().path(), "/regions/a%2Fb/up");
    }
}
