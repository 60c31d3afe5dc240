//! A request before it is signed.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Uri};

use super::key::Key;
use super::signature::{Signed, authorization, date};
use super::{Error, percent};

const VERSION: &str = "2020-07-15";

#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: Method,
    /// What stands before the link and is not signed.
    prefix: &'static str,
    /// With the names as they are: `dbs/my db/colls/c`.
    link: String,
    resource_type: &'static str,
    /// Of a feed the last segment of the path is not part of what is signed.
    feed: bool,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Request {
    /// To a resource of its own.
    pub(crate) fn resource(method: Method, resource_type: &'static str, link: &str) -> Request {
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

    /// To all resources of a type below another.
    pub(crate) fn feed(method: Method, resource_type: &'static str, parent: &str) -> Request {
        Request {
            feed: true,
            ..Request::resource(method, resource_type, parent)
        }
    }

    /// To what only Orrery has.
    pub(crate) fn of_orrery(resource_type: &'static str, parent: &str) -> Request {
        Request {
            prefix: "/_orrery",
            ..Request::feed(Method::GET, resource_type, parent)
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Request {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Request {
        self.body = body.into();
        self
    }

    /// Makes a query of a feed.
    pub(crate) fn query(self, body: impl Into<Bytes>) -> Request {
        self.header("content-type", "application/query+json")
            .header("x-ms-documentdb-isquery", "True")
            .body(body)
    }

    /// The container whose session it belongs to, or nothing.
    pub(super) fn container(&self) -> &str {
        let mut slashes = self.link.match_indices('/').skip(3);
        match slashes.next() {
            Some((end, _)) => &self.link[..end],
            None => &self.link,
        }
    }

    pub(super) fn message(
        &self,
        authority: &str,
        key: &Key,
        session: Option<&str>,
    ) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let wrong = |what: &str| Error::Usage(format!("{what} cannot be sent"));
        let mut path = self.prefix.to_owned();
        if !self.link.is_empty() {
            path += &percent::path(&self.link);
        }
        if self.feed {
            path = format!("{path}/{}", self.resource_type);
        }
        let date = date();
        let signed = Signed {
            verb: self.method.as_str(),
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
        set("authorization", &authorization(key, signed, &date))?;
        set("x-ms-date", &date)?;
        set("x-ms-version", VERSION)?;
        set("accept", "application/json")?;
        if let Some(session) = session.filter(|_| self.resource_type == "docs") {
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
            let message = request.message("h", &Key::well_known(), None).unwrap();
            assert_eq!(message.uri().path(), path);
            assert_eq!(request.container(), container);
        }
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named() {
        let request = Request::feed(Method::GET, "dbs", "").header("x-ms-a", "a\nb");
        let error = request.message("h", &Key::well_known(), None).unwrap_err();
        assert!(error.to_string().contains("x-ms-a"));
    }
}
