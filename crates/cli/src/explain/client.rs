//! One connection to a server, and pages of a query over it.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::rt::{Read, Write};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use orrery_model::Secret;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::ExplainArguments;
use super::plan::{Plan, percent_encoded};
use super::signature::{authorization, date};
use super::trust::Trust;
use crate::keys;

const VERSION: &str = "2020-07-15";

pub(super) struct Client {
    requests: SendRequest<Full<Bytes>>,
    authority: String,
    key: Secret,
}

/// What a page is asked for.
pub(super) struct Query<'a> {
    pub(super) database: &'a str,
    pub(super) container: &'a str,
    /// All partitions without it.
    pub(super) partition_key: Option<String>,
    pub(super) page_items: Option<i32>,
    pub(super) continuation: Option<String>,
    pub(super) body: &'a str,
}

/// What a page says of itself; its rows are not of interest here.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) plan: Plan,
    pub(super) charge: String,
    pub(super) continuation: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    code: String,
    message: String,
}

impl Client {
    pub(super) async fn connect(arguments: &ExplainArguments) -> Result<Client> {
        let endpoint = &arguments.endpoint;
        let authority = endpoint.authority();
        let attempt = async {
            let stream = TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await?;
            stream.set_nodelay(true)?;
            if !endpoint.tls {
                return handshake(TokioIo::new(stream)).await;
            }
            let config = trust(arguments)?.client()?;
            let name = ServerName::try_from(endpoint.host.clone())?;
            let connector = TlsConnector::from(Arc::new(config));
            handshake(TokioIo::new(connector.connect(name, stream).await?)).await
        };
        let requests = attempt
            .await
            .with_context(|| format!("cannot connect to {authority}"))?;
        Ok(Client {
            requests,
            authority,
            key: keys::client_key(arguments.key.as_ref())?,
        })
    }

    pub(super) async fn page(&mut self, query: &Query<'_>) -> Result<Page> {
        let request = self.request(query)?;
        self.requests.ready().await?;
        let response = self.requests.send_request(request).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        if !parts.status.is_success() {
            bail!(
                "the server answers {}: {}",
                parts.status.as_u16(),
                refusal(&body)
            );
        }
        let plan = text(&parts.headers, "x-orrery-query-plan").ok_or_else(|| {
            anyhow!("the server answered the query but explains no plan; is it an Orrery?")
        })?;
        Ok(Page {
            plan: Plan::read(plan)?,
            charge: text(&parts.headers, "x-ms-request-charge")
                .unwrap_or("0")
                .to_owned(),
            continuation: text(&parts.headers, "x-ms-continuation").map(str::to_owned),
        })
    }

    fn request(&self, query: &Query<'_>) -> Result<Request<Full<Bytes>>> {
        let Query {
            database,
            container,
            ..
        } = query;
        let path = format!(
            "/dbs/{}/colls/{}/docs",
            percent_encoded(database),
            percent_encoded(container)
        );
        let date = date();
        let link = format!("dbs/{database}/colls/{container}");
        let mut headers = HeaderMap::new();
        let mut set = |name: &'static str, value: &str| -> Result<()> {
            let value = HeaderValue::from_str(value).with_context(|| format!("header {name}"))?;
            headers.insert(HeaderName::from_static(name), value);
            Ok(())
        };
        set("host", &self.authority)?;
        set("authorization", &authorization(&self.key, &link, &date))?;
        set("x-ms-date", &date)?;
        set("x-ms-version", VERSION)?;
        set("content-type", "application/query+json")?;
        set("x-ms-documentdb-isquery", "True")?;
        set("x-orrery-explain", "true")?;
        match &query.partition_key {
            Some(key) => set("x-ms-documentdb-partitionkey", key)?,
            None => set("x-ms-documentdb-query-enablecrosspartition", "True")?,
        }
        if let Some(count) = query.page_items {
            set("x-ms-max-item-count", &count.to_string())?;
        }
        if let Some(token) = &query.continuation {
            set("x-ms-continuation", token)?;
        }
        let body = Bytes::copy_from_slice(query.body.as_bytes());
        let mut request = Request::post(path.parse::<Uri>()?).body(Full::new(body))?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

fn trust(arguments: &ExplainArguments) -> Result<Trust> {
    match &arguments.certificate {
        Some(path) => Trust::of_file(path),
        None if arguments.insecure => Ok(Trust::Anything),
        None => bail!(
            "name the certificate of the server with --certificate FILE, or accept any with --insecure"
        ),
    }
}

async fn handshake<T>(io: T) -> Result<SendRequest<Full<Bytes>>>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let (requests, connection) = http1::handshake(io).await?;
    // Its failure is that of the request on it.
    tokio::spawn(connection);
    Ok(requests)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The sentence for people in the body of a failure.
fn refusal(body: &[u8]) -> String {
    match serde_json::from_slice::<Refusal>(body) {
        Ok(Refusal { code, message }) => {
            let message = message.split("\r\nActivityId").next().unwrap_or_default();
            format!("{code}: {message}")
        }
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}
