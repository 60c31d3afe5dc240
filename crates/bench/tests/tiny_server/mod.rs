//! Just enough of the protocol for the load driver: items in a map, anything else by status.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

pub(crate) struct TinyServer {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    resources: Mutex<BTreeMap<String, Bytes>>,
    requests: AtomicU64,
    throttle_every: AtomicU64,
}

impl TinyServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let state = Arc::clone(&shared);
                let service = service_fn(move |request| answer(Arc::clone(&state), request));
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn item_count(&self) -> usize {
        let resources = self.state.resources.lock().unwrap();
        resources
            .keys()
            .filter(|path| path.contains("/docs/"))
            .count()
    }

    pub(crate) fn throttle_every(&self, requests: u64) {
        self.state.throttle_every.store(requests, Ordering::Relaxed);
    }
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let number = state.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let throttle_every = state.throttle_every.load(Ordering::Relaxed);
    let signed = request.headers().contains_key("authorization");
    let upsert = request.headers().contains_key("x-ms-documentdb-is-upsert");
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let (status, body) = if !signed {
        (401, Bytes::from_static(b"{\"message\":\"unsigned\"}"))
    } else if throttle_every > 0 && number.is_multiple_of(throttle_every) {
        (429, Bytes::from_static(b"{\"message\":\"slow down\"}"))
    } else {
        apply(
            &mut state.resources.lock().unwrap(),
            &method,
            &path,
            upsert,
            body,
        )
    };
    let response = Response::builder()
        .status(status)
        .header("x-ms-request-charge", "1");
    Ok(response
        .header("x-ms-retry-after-ms", "3")
        .body(Full::new(body))
        .unwrap())
}

fn apply(
    resources: &mut BTreeMap<String, Bytes>,
    method: &Method,
    path: &str,
    upsert: bool,
    body: Bytes,
) -> (u16, Bytes) {
    let not_found = (404, Bytes::from_static(b"{\"message\":\"not found\"}"));
    match method.as_str() {
        "GET" if path.ends_with("/docs") => (200, Bytes::from_static(b"{\"Documents\":[]}")),
        "GET" => resources
            .get(path)
            .map_or(not_found, |body| (200, body.clone())),
        "PUT" if !resources.contains_key(path) => not_found,
        "PUT" => {
            resources.insert(path.to_owned(), body.clone());
            (200, body)
        }
        "DELETE" => {
            resources.retain(|other, _| !other.starts_with(path));
            (204, Bytes::new())
        }
        _ => {
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let path = format!("{path}/{}", value["id"].as_str().unwrap());
            if !upsert && resources.contains_key(&path) {
                return (409, Bytes::from_static(b"{\"message\":\"conflict\"}"));
            }
            let status = if resources.insert(path, body.clone()).is_some() {
                200
            } else {
                201
            };
            (status, body)
        }
    }
}
