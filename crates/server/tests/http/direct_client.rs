//! A client in direct mode, just enough to see exactly what a server sends: TLS, frames, signatures.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use orrery_rntbd::{
    ContextRequestToken, Guid, OperationType, RequestHead, RequestToken, ResourceType, Response,
    ResponseToken, TokenWriter,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use serde_json::Value;

use crate::signature::{encoded, sign};
use crate::support::{PRIMARY, World};

/// Longer than any answer takes; a test that waits this long has found a hang.
const WAIT_MAX: Duration = Duration::from_mins(1);

pub(crate) struct DirectClient {
    stream: StreamOwned<ClientConnection, TcpStream>,
    received: BytesMut,
    /// The number of the last request.
    number: i64,
    date: String,
    container: String,
}

/// A request before it is signed and numbered.
pub(crate) struct Ask {
    resource: ResourceType,
    operation: OperationType,
    names: Vec<(RequestToken, String)>,
    texts: Vec<(RequestToken, String)>,
    numbers: Vec<(RequestToken, i64)>,
    rid: Option<Vec<u8>>,
    path: Option<String>,
    authorization: Option<String>,
    body: Vec<u8>,
}

impl Ask {
    /// A request for the container `c` of the database `d`.
    pub(crate) fn new(resource: ResourceType, operation: OperationType) -> Ask {
        Ask {
            resource,
            operation,
            names: Vec::new(),
            texts: Vec::new(),
            numbers: Vec::new(),
            rid: None,
            path: None,
            authorization: None,
            body: Vec::new(),
        }
        .named(RequestToken::DatabaseName, "d")
        .named(RequestToken::CollectionName, "c")
    }

    /// An operation on items of one partition key.
    pub(crate) fn items(operation: OperationType, key: &str) -> Ask {
        Ask::new(ResourceType::Document, operation).text(RequestToken::PartitionKey, key)
    }

    /// An operation on one item, whose partition key is `["p"]`.
    pub(crate) fn item(operation: OperationType, id: &str) -> Ask {
        Ask::items(operation, r#"["p"]"#).named(RequestToken::DocumentName, id)
    }

    /// An operation on a resource of the master partition, without names.
    pub(crate) fn master(resource: ResourceType, operation: OperationType) -> Ask {
        let ask = Ask::new(resource, operation).number(RequestToken::ConsistencyLevel, 0);
        Ask {
            names: Vec::new(),
            path: Some("/apps/orrery/services/master/partitions/M/replicas/2s".to_owned()),
            ..ask
        }
    }

    pub(crate) fn named(mut self, token: RequestToken, name: &str) -> Ask {
        self.names.push((token, name.to_owned()));
        self
    }

    pub(crate) fn text(mut self, token: RequestToken, text: &str) -> Ask {
        self.texts.push((token, text.to_owned()));
        self
    }

    pub(crate) fn number(mut self, token: RequestToken, number: i64) -> Ask {
        self.numbers.push((token, number));
        self
    }

    /// Sends this resource id, beside the names or alone.
    pub(crate) fn rid(mut self, rid: &[u8]) -> Ask {
        self.rid = Some(rid.to_vec());
        self
    }

    pub(crate) fn without_names(mut self) -> Ask {
        self.names.clear();
        self
    }

    pub(crate) fn path(mut self, path: &str) -> Ask {
        self.path = Some(path.to_owned());
        self
    }

    pub(crate) fn authorization(mut self, authorization: &str) -> Ask {
        self.authorization = Some(authorization.to_owned());
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Ask {
        self.body = body.into();
        self
    }

    /// What a client signs: verb, type and link.
    pub(crate) fn signed(&self) -> (&'static str, &'static str, String) {
        let verb = match self.operation {
            OperationType::Read | OperationType::ReadFeed => "get",
            OperationType::Replace => "put",
            OperationType::Patch => "patch",
            OperationType::Delete => "delete",
            OperationType::Head | OperationType::HeadFeed => "head",
            _ => "post",
        };
        let kind = match self.resource {
            ResourceType::Database => "dbs",
            ResourceType::Collection => "colls",
            ResourceType::User => "users",
            ResourceType::Permission => "permissions",
            ResourceType::StoredProcedure => "sprocs",
            ResourceType::Conflict => "conflicts",
            _ => "docs",
        };
        if self.names.is_empty() {
            use base64::Engine as _;
            let rid = self.rid.as_deref().unwrap_or_default();
            let rid = base64::engine::general_purpose::STANDARD.encode(rid);
            return (verb, kind, rid.replace('/', "-").to_lowercase());
        }
        let segment = |token: &RequestToken| match token {
            RequestToken::DatabaseName => "dbs",
            RequestToken::CollectionName => "colls",
            RequestToken::UserName => "users",
            RequestToken::PermissionName => "permissions",
            RequestToken::StoredProcedureName => "sprocs",
            _ => "docs",
        };
        let link: Vec<_> = self
            .names
            .iter()
            .map(|(token, name)| format!("{}/{name}", segment(token)))
            .collect();
        (verb, kind, link.join("/"))
    }
}

impl DirectClient {
    /// Connects and negotiates the context.
    pub(crate) fn open(world: &World) -> DirectClient {
        DirectClient::open_as(world, "test")
    }

    /// The same with another user agent.
    pub(crate) fn open_as(world: &World, agent: &str) -> DirectClient {
        let mut client = DirectClient::connect(world, rustls::ALL_VERSIONS);
        let answer = client.negotiate_as(agent);
        assert_eq!(answer.status, 200);
        client
    }

    /// Connects without a frame.
    pub(crate) fn connect(
        world: &World,
        versions: &[&'static SupportedProtocolVersion],
    ) -> DirectClient {
        let (address, material) = world.direct.as_ref().unwrap();
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(material.certificate_pem.as_bytes());
        roots.add(certificate.unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let tls = ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(WAIT_MAX)).unwrap();
        let rid = world.client().get("/dbs/d/colls/c").json()["_rid"].clone();
        DirectClient {
            stream: StreamOwned::new(tls, socket),
            received: BytesMut::new(),
            number: 0,
            date: world.client().date(),
            container: rid.as_str().unwrap().to_owned(),
        }
    }

    /// The path of the first range of the container.
    pub(crate) fn path(&self) -> String {
        let container = &self.container;
        format!("/apps/orrery/services/{container}/partitions/0/replicas/2s")
    }

    pub(crate) fn container(&self) -> &str {
        &self.container
    }

    pub(crate) fn negotiate(&mut self) -> Response {
        self.negotiate_as("test")
    }

    fn negotiate_as(&mut self, agent: &str) -> Response {
        let mut tokens = TokenWriter::default();
        tokens.number(ContextRequestToken::ProtocolVersion, 1);
        tokens.text(ContextRequestToken::ClientVersion, "2020-07-15");
        tokens.text(ContextRequestToken::UserAgent, agent);
        let head = RequestHead::new((0, 0), Guid([1; 16]), tokens).unwrap();
        let mut bytes = BytesMut::new();
        head.write(&[], &mut bytes);
        self.send_bytes(&bytes);
        self.receive(true).unwrap()
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        // The server may close the connection before it has read all.
        let _ = self
            .stream
            .write_all(bytes)
            .and_then(|()| self.stream.flush());
    }

    /// Sends a request, and returns its number.
    pub(crate) fn send(&mut self, ask: Ask) -> i64 {
        self.number += 1;
        let (verb, kind, link) = ask.signed();
        let payload = format!("{verb}\n{kind}\n{link}\n{}\n\n", self.date.to_lowercase());
        let authorization = ask.authorization;
        let authorization = authorization.unwrap_or_else(|| encoded(&sign(PRIMARY, &payload)));
        let mut tokens = TokenWriter::default();
        if let Some(rid) = &ask.rid {
            tokens.bytes(RequestToken::ResourceId, rid);
        }
        tokens.text(RequestToken::AuthorizationToken, &authorization);
        tokens.number(
            RequestToken::PayloadPresent,
            i64::from(!ask.body.is_empty()),
        );
        tokens.text(RequestToken::Date, &self.date);
        let path = ask.path.unwrap_or_else(|| self.path());
        tokens.text(RequestToken::ReplicaPath, &path);
        for (token, text) in ask.names.iter().chain(&ask.texts) {
            assert!(tokens.text(*token, text));
        }
        for (token, number) in ask.numbers {
            tokens.number(token, number);
        }
        tokens.number(RequestToken::TransportRequestId, self.number);
        let kind = (ask.resource.id(), ask.operation.id());
        let head = RequestHead::new(kind, Guid([2; 16]), tokens).unwrap();
        let mut bytes = BytesMut::new();
        head.write(&ask.body, &mut bytes);
        self.send_bytes(&bytes);
        self.number
    }

    /// The next answer; None if the server has closed the connection.
    pub(crate) fn receive(&mut self, is_context: bool) -> Option<Response> {
        loop {
            if let Some(response) = Response::take(&mut self.received, is_context).unwrap() {
                return Some(response);
            }
            let mut piece = [0; 16 * 1024];
            match self.stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(length) => self.received.extend_from_slice(&piece[..length]),
            }
        }
    }

    /// The plain text of the next TLS record.
    pub(crate) fn receive_record(&mut self) -> Vec<u8> {
        let mut record = vec![0; 5];
        self.stream.sock.read_exact(&mut record).unwrap();
        let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
        record.resize(5 + length, 0);
        self.stream.sock.read_exact(&mut record[5..]).unwrap();
        self.stream.conn.read_tls(&mut &record[..]).unwrap();
        let state = self.stream.conn.process_new_packets().unwrap();
        let mut text = vec![0; state.plaintext_bytes_to_read()];
        self.stream.conn.reader().read_exact(&mut text).unwrap();
        text
    }

    /// Sends a request and returns its answer, which is checked for what every answer must have.
    #[track_caller]
    pub(crate) fn ask(&mut self, ask: Ask) -> Answer {
        let is_of_master = ask
            .path
            .as_ref()
            .is_some_and(|path| path.contains("/master/"));
        let number = self.send(ask);
        let answer = Answer(
            self.receive(false)
                .expect("the server closed the connection"),
        );
        assert_eq!(
            answer.number(ResponseToken::TransportRequestId),
            Some(number)
        );
        assert_eq!(answer.0.activity_id, Guid([2; 16]));
        answer.check_positions(is_of_master);
        answer
    }
}

pub(crate) struct Answer(pub(crate) Response);

impl Answer {
    /// What every answer must have, whatever its status.
    #[track_caller]
    fn check_positions(&self, is_of_master: bool) {
        let lsn = self.number(ResponseToken::LSN).unwrap();
        assert!(lsn >= 1, "{lsn}");
        for token in [
            ResponseToken::LocalLSN,
            ResponseToken::QuorumAckedLSN,
            ResponseToken::QuorumAckedLocalLSN,
            ResponseToken::GlobalCommittedLSN,
        ] {
            assert_eq!(self.number(token), Some(lsn), "{token:?}");
        }
        for (token, expected) in [
            (ResponseToken::CurrentReplicaSetSize, 1),
            (ResponseToken::CurrentWriteQuorum, 1),
            (ResponseToken::NumberOfReadRegions, 0),
        ] {
            assert_eq!(self.number(token), Some(expected), "{token:?}");
        }
        assert!(self.0.tokens.get(ResponseToken::RequestCharge).is_some());
        let of_items = [
            ResponseToken::SessionToken,
            ResponseToken::PartitionKeyRangeId,
            ResponseToken::OwnerId,
        ];
        for token in of_items {
            assert_eq!(self.text(token).is_some(), !is_of_master, "{token:?}");
        }
        if let Some(token) = self.text(ResponseToken::SessionToken) {
            assert!(!token.contains(':'), "{token}");
        }
        if self.0.status >= 400 {
            assert!(self.json().is_object());
        }
    }

    pub(crate) fn number(&self, token: ResponseToken) -> Option<i64> {
        let token = self.0.tokens.get(token)?;
        Some(token.number().unwrap())
    }

    pub(crate) fn text(&self, token: ResponseToken) -> Option<&str> {
        let token = self.0.tokens.get(token)?;
        Some(token.text().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.0.payload).unwrap()
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u32, substatus: i64) -> Answer {
        let found = self.number(ResponseToken::SubStatus).unwrap_or(0);
        let body = String::from_utf8_lossy(&self.0.payload);
        assert_eq!((self.0.status, found), (status, substatus), "{body}");
        self
    }
}
