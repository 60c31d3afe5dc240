//! Requests to the listener on which a server hears its operators.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};

use super::{Endpoint, Line, Refusal, TrustArguments, percent};
use crate::error::Error;

pub struct Operator {
    line: Line,
    key: String,
}

impl Operator {
    pub fn new(endpoint: Endpoint, key: String, trust: TrustArguments) -> Operator {
        Operator {
            line: Line::new(endpoint, trust),
            key,
        }
    }

    pub async fn get(&mut self, path: &[&str]) -> Result<Vec<u8>, Error> {
        self.send(Method::GET, path, None).await
    }

    /// The body is JSON.
    pub async fn delete(&mut self, path: &[&str], body: Option<String>) -> Result<Vec<u8>, Error> {
        self.send(Method::DELETE, path, body).await
    }

    /// The body is JSON.
    pub async fn post(&mut self, path: &[&str], body: Option<String>) -> Result<Vec<u8>, Error> {
        self.send(Method::POST, path, body).await
    }

    /// Segments are as they are read.
    async fn send(
        &mut self,
        method: Method,
        path: &[&str],
        body: Option<String>,
    ) -> Result<Vec<u8>, Error> {
        let message = self.message(method, path, body)?;
        let answer = self.line.exchange(message).await?;
        if answer.status < 300 {
            return Ok(answer.body.to_vec());
        }
        Err(Refusal::of(&answer).into())
    }

    fn message(
        &self,
        method: Method,
        path: &[&str],
        body: Option<String>,
    ) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let wrong = |what: &str| Error::Usage(format!("{what} cannot be sent"));
        let value = |text: &str, what: &str| HeaderValue::from_str(text).map_err(|_| wrong(what));
        let path: String = path.iter().map(|segment| escaped(segment)).collect();
        let mut message = hyper::Request::new(Full::new(Bytes::from(body.unwrap_or_default())));
        *message.method_mut() = method;
        *message.uri_mut() = path.parse().map_err(|_| wrong(&path))?;
        let headers = message.headers_mut();
        headers.insert(HOST, value(&self.line.endpoint.authority(), "the host")?);
        let mut bearer = value(&format!("Bearer {}", self.key), "the management key")?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(message)
    }
}

/// One segment of a path behind its slash; slashes of its own are escaped.
fn escaped(segment: &str) -> String {
    let escaped = percent::path(segment);
    format!("/{}", escaped[1..].replace('/', "%2F"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_path_and_key() {
        let operator = Operator::new(
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
