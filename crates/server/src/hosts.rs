//! The host names to which a listener on a loopback address answers.
//!
//! A page in a browser may send requests to any name that the browser can look up, and the owner of
//! the name can let it point to the loopback address once the page is loaded (DNS rebinding). The
//! browser then treats the answers of this server as answers of the page's own site, so that the
//! page can read them. The owner needs a name in the public DNS, and every such name has a dot. So
//! listeners on loopback addresses answer to names without a dot (`localhost`, the services of a
//! Docker Compose file), to addresses, and to names below `localhost` and `internal`, which nobody
//! can register; they answer to other names only if the options allow these names.

use std::net::IpAddr;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

/// Domains that the public DNS does not contain.
const PRIVATE_DOMAINS: [&str; 2] = [".localhost", ".internal"];

pub(crate) struct Hosts {
    is_loopback: bool,
    allowed: Vec<String>,
}

impl Hosts {
    pub(crate) fn new(address: IpAddr, allowed: &[String]) -> Hosts {
        Hosts {
            is_loopback: address.is_loopback(),
            allowed: allowed.to_vec(),
        }
    }

    /// The refusal of a request whose URI or `Host` header has a name to which this listener does
    /// not answer; `None` for every other request.
    pub(crate) fn refusal(&self, parts: &Parts) -> Option<Response<Bytes>> {
        if !self.is_loopback {
            return None;
        }
        let named = parts.uri.host();
        let header = parts.headers.get(HOST);
        // A header that is not ASCII counts as a forbidden name.
        let header = header.map(|host| host.to_str().unwrap_or("?"));
        let wrong = [named, header.map(without_port)]
            .into_iter()
            .flatten()
            .find(|host| !self.is_allowed(host))?;
        let message = format!(
            "This server listens on a loopback address and does not answer to the name {wrong}, because a page in a \
             browser could misuse it (DNS rebinding). Use localhost, or start the server with --allowed-host {wrong}."
        );
        let body = serde_json::json!({"code": "Forbidden", "message": message});
        let mut response = Response::new(Bytes::from(body.to_string()));
        *response.status_mut() = StatusCode::FORBIDDEN;
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        Some(response)
    }

    fn is_allowed(&self, host: &str) -> bool {
        // The common hosts, without an allocation. A question mark stands for a header that is not
        // ASCII.
        if host.is_empty() || host == "localhost" || !host.contains('.') && !host.contains('?') {
            return true;
        }
        // A name with a final dot is the same name in the DNS.
        let host = host.trim_end_matches('.');
        if !host.contains('.') || host.parse::<IpAddr>().is_ok() {
            return true;
        }
        let host = host.to_ascii_lowercase();
        PRIVATE_DOMAINS.iter().any(|domain| host.ends_with(domain))
            || self
                .allowed
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(&host))
    }
}

fn without_port(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        // An IPv6 address has no dot, or it ends like an IPv4 address; both are allowed.
        Some(_) => "",
        None => authority.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_public_dns_are_refused_on_loopback() {
        let allowed = ["db.example".to_owned()];
        let loopback = Hosts::new([127, 0, 0, 1].into(), &allowed);
        let open = Hosts::new([0, 0, 0, 0].into(), &allowed);
        for (host, expected) in [
            ("localhost", true),
            ("localhost:8081", true),
            ("LocalHost.:8081", true),
            ("db.localhost", true),
            ("cosmos:8081", true),
            ("host.docker.internal:8081", true),
            ("127.0.0.1:8081", true),
            ("127.1.2.3", true),
            ("[::1]:8081", true),
            ("db.example:1", true),
            ("DB.Example", true),
            ("evil.example:8081", false),
            ("db.example.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false),
            ("notlocalhost.x", false),
        ] {
            let request = hyper::Request::get("/").header(HOST, host);
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(loopback.refusal(&parts).is_none(), expected, "{host}");
            assert!(open.refusal(&parts).is_none());
            let uri = format!("http://{host}/");
            let (parts, ()) = hyper::Request::get(uri).body(()).unwrap().into_parts();
            assert_eq!(loopback.refusal(&parts).is_none(), expected, "{host}");
        }
        let (parts, ()) = hyper::Request::get("/").body(()).unwrap().into_parts();
        assert!(loopback.refusal(&parts).is_none());
    }
}
