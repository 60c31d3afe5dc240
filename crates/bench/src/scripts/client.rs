//! One connection to one container, with every answer checked.

use anyhow::{Context, Result, bail};

use crate::connection::Connection;
use crate::load::create_container;
use crate::request::{QueryHeaders, RequestWriter, ScriptKind, Target};

const OK: u16 = 200;
const CREATED: u16 = 201;
/// The part of a failed answer that the error quotes.
const FAILURE_BODY_BYTES_MAX: usize = 2000;

/// A client whose operations fail on an unexpected status.
pub(super) struct ScriptClient {
    connection: Connection,
    writer: RequestWriter,
}

impl ScriptClient {
    /// Opens a connection, and creates the container if it is missing.
    pub(super) async fn open(target: Target) -> Result<ScriptClient> {
        create_container(&target, None).await?;
        ScriptClient::connect(target).await
    }

    /// Opens a connection to a container that exists.
    pub(super) async fn connect(target: Target) -> Result<ScriptClient> {
        let connection = Connection::open(target.endpoint.clone())
            .await
            .with_context(|| format!("connecting to {}", target.endpoint.authority()))?;
        Ok(ScriptClient {
            connection,
            writer: RequestWriter::new(target),
        })
    }

    /// Registers a script, or replaces the script of the same name.
    pub(super) async fn register(
        &mut self,
        kind: ScriptKind,
        id: &str,
        source: &str,
    ) -> Result<()> {
        let body = serde_json::json!({"id": id, "body": source}).to_string();
        self.writer.upsert_script(kind, body.as_bytes());
        self.expect(&[OK, CREATED], "registering a script").await?;
        Ok(())
    }

    /// Creates an item.
    pub(super) async fn create(&mut self, key: &str, item: &[u8]) -> Result<()> {
        self.writer.create(key, item);
        self.expect(&[CREATED], "creating an item").await?;
        Ok(())
    }

    /// Runs a procedure and returns its response body.
    pub(super) async fn execute(&mut self, id: &str, key: &str, arguments: &[u8]) -> Result<&[u8]> {
        self.writer.execute(id, key, arguments);
        self.expect(&[OK], "a procedure").await
    }

    /// Runs a procedure that is expected to fail, and returns the status.
    pub(super) async fn try_execute(&mut self, id: &str, key: &str) -> Result<u16> {
        self.writer.execute(id, key, b"[]");
        let exchange = self.connection.exchange(self.writer.bytes()).await;
        Ok(exchange.context("a procedure")?.head.status)
    }

    /// Runs a transactional batch.
    pub(super) async fn batch(&mut self, key: &str, body: &[u8]) -> Result<()> {
        self.writer.batch(key, body);
        self.expect(&[OK], "a batch").await?;
        Ok(())
    }

    /// The rows of a query over the whole container. The answer must fit into one page.
    pub(super) async fn query(&mut self, text: &str) -> Result<serde_json::Value> {
        let body = serde_json::json!({"query": text, "parameters": []}).to_string();
        self.writer.query(QueryHeaders::default(), body.as_bytes());
        let answer = self.expect(&[OK], "a query").await?;
        let answer: serde_json::Value = serde_json::from_slice(answer).context("a query")?;
        Ok(answer["Documents"].clone())
    }

    /// Sends the prepared request, and fails for any other status than these.
    async fn expect(&mut self, statuses: &[u16], what: &str) -> Result<&[u8]> {
        let exchange = self.connection.exchange(self.writer.bytes()).await;
        let response = exchange.with_context(|| what.to_owned())?;
        let status = response.head.status;
        if !statuses.contains(&status) {
            let shown = response.body.len().min(FAILURE_BODY_BYTES_MAX);
            let body = String::from_utf8_lossy(&response.body[..shown]);
            bail!("{what} was answered {status}: {body}");
        }
        Ok(response.body)
    }
}
