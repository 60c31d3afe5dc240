//! The host and port that receive the requests.

use anyhow::{Context, Result, bail};
use tokio::net::TcpStream;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    host: String,
    port: u16,
}

impl Endpoint {
    /// Parses the address of a server. TLS is refused, because the measured latency would include
    /// the work of TLS.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        if url.starts_with("https://") {
            bail!(
                "endpoint {url} uses TLS, which the load driver does not speak: \
                 start the server with TLS off and pass an http:// address"
            );
        }
        let authority = url
            .strip_prefix("http://")
            .with_context(|| format!("endpoint {url} does not begin with http://"))?
            .trim_end_matches('/');
        let (host, port) = match authority.rsplit_once(':') {
            // A colon inside the brackets of an IPv6 address does not begin a port.
            Some((host, port)) if !port.ends_with(']') => {
                let port = port
                    .parse()
                    .with_context(|| format!("port {port} of {url}"))?;
                (host, port)
            }
            _ => (authority, 80),
        };
        if host.is_empty() || host.contains('/') {
            bail!("endpoint {url} is not of the form http://host:port");
        }
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        Ok(Self { host, port })
    }

    /// The value of the `host` header, with brackets around an IPv6 address.
    pub(crate) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub(crate) async fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        // Without this option the kernel delays small writes, and the delay would be measured.
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let cases = [
            ("http://localhost:8081", Some("localhost:8081")),
            ("http://127.0.0.1:8081/", Some("127.0.0.1:8081")),
            ("http://example", Some("example:80")),
            ("http://[::1]:8081", Some("[::1]:8081")),
            ("http://[::1]", Some("[::1]:80")),
            ("https://localhost:8081", None),
            ("localhost:8081", None),
            ("http://localhost:port", None),
            ("http://localhost/path", None),
            ("http://", None),
        ];
        for (url, authority) in cases {
            let parsed = Endpoint::parse(url)
                .ok()
                .map(|endpoint| endpoint.authority());
            assert_eq!(parsed.as_deref(), authority, "{url}");
        }
    }

    #[test]
    fn tls_is_refused_with_a_hint() {
        let error = Endpoint::parse("https://localhost:8081").unwrap_err();
        assert!(error.to_string().contains("TLS off"), "{error}");
    }
}
