//! A request before it is signed.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Uri};

use crate::error::Error;
use crate::{RequestDate, SignaturePayload, Signer, percent};

/// The version of the protocol whose behaviour this client expects.
const VERSION: &str = "2020-07-15";
/// The header that makes a POST to a feed a query.
pub(crate) const IS_QUERY: &str = "x-ms-documentdb-isquery";

/// A request of one method to one resource or feed. The client signs it when it sends it.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    /// The path before the link, which is not signed.
    prefix: &'static str,
    /// The link with unencoded names: `dbs/my db/colls/c`.
    link: String,
    resource_type: &'static str,
    /// Whether the path names a feed. The last path segment of a feed is not signed.
    feed: bool,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Request {
    /// A request to one resource.
    pub fn resource(method: Method, resource_type: &'static str, link: &str) -> Request {
        Request {
            method,
            prefix: "",
            link: link.to_owned(),
            resource_type,
            feed: false,
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// A request to the feed of a resource type below a parent.
    pub fn feed(method: Method, resource_type: &'static str, parent: &str) -> Request {
        Request {
            feed: true,
            ..Request::resource(method, resource_type, parent)
        }
    }

    /// A request to a resource that only Orrery has.
    pub fn of_orrery(resource_type: &'static str, parent: &str) -> Request {
        Request {
            prefix: "/_orrery",
            ..Request::feed(Method::GET, resource_type, parent)
        }
    }

    /// Adds a header, which also replaces a header of the client with this name.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Request {
        self.headers.push((name, value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Request {
        self.body = body.into();
        self
    }

    /// Makes the request a query. The server must merge all rows and return no plan.
    #[must_use]
    pub fn query(self, body: impl Into<Bytes>) -> Request {
        self.header("content-type", "application/query+json")
            .header(IS_QUERY, "True")
            .header("x-orrery-whole-query", "True")
            .body(body)
    }

    /// The container whose session the request belongs to, or the whole link without a container.
    pub(crate) fn container(&self) -> &str {
        let mut slashes = self.link.match_indices('/').skip(3);
        match slashes.next() {
            Some((end, _)) => &self.link[..end],
            None => &self.link,
        }
    }

    /// Whether the request is for items. Only such requests have a session.
    pub(crate) fn has_session(&self) -> bool {
        self.resource_type == "docs"
    }

    /// Builds the signed request with the present date.
    pub(crate) fn message(
        &self,
        authority: &str,
        signer: &Signer,
        session: Option<&str>,
    ) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let wrong = |what: &str| Error::Unsendable(what.to_owned());
        let mut path = self.prefix.to_owned();
        if !self.link.is_empty() {
            path += &percent::path(&self.link);
        }
        if self.feed {
            path = format!("{path}/{}", self.resource_type);
        }
        // The date header must be the signed date, so both come from this value.
        let date = RequestDate::now();
        let verb = self.method.as_str().to_ascii_lowercase();
        let signed = SignaturePayload {
            verb: &verb,
            resource_type: self.resource_type,
            link: &self.link,
        };
        let mut headers = HeaderMap::new();
        let mut set = |name: &'static str, value: &str| -> Result<(), Error> {
            let value = HeaderValue::from_str(value).map_err(|_| wrong(name))?;
            headers.insert(HeaderName::from_static(name), value);
            Ok(())
        };
        set("host", authority)?;
        set(
            "authorization",
            &signer.authorization(signed, date.lower_case()),
        )?;
        set("x-ms-date", date.header())?;
        set("x-ms-version", VERSION)?;
        set("accept", "application/json")?;
        if let Some(session) = session.filter(|_| self.has_session()) {
            set("x-ms-session-token", session)?;
        }
        for (name, value) in &self.headers {
            set(name, value)?;
        }
        let uri: Uri = path.parse().map_err(|_| wrong(&path))?;
        let mut message = hyper::Request::new(Full::new(self.body.clone()));
        *message.method_mut() = self.method.clone();
        *message.uri_mut() = uri;
        *message.headers_mut() = headers;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;

    #[test]
    fn paths_and_sessions() {
        for (request, path, container) in [
            (Request::feed(Method::GET, "dbs", ""), "/dbs", ""),
            (
                Request::resource(Method::GET, "docs", "dbs/a b/colls/c/docs/1"),
                "/dbs/a%20b/colls/c/docs/1",
                "dbs/a b/colls/c",
            ),
            (
                Request::of_orrery("partitions", "dbs/a/colls/c"),
                "/_orrery/dbs/a/colls/c/partitions",
                "dbs/a/colls/c",
            ),
        ] {
            let message = request
                .message("h", &Signer::new(&Key::well_known()), None)
                .unwrap();
            assert_eq!(message.uri().path(), path);
            assert_eq!(request.container(), container);
        }
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named() {
        let request = Request::feed(Method::GET, "dbs", "").header("x-ms-a", "a\nb");
        let error = request
            .message("h", &Signer::new(&Key::well_known()), None)
            .unwrap_err();
        assert!(error.to_string().contains("x-ms-a"));
    }
}
