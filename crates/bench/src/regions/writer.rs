//! One connection that creates and reads items, with every answer checked.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::client_pool::PoolClient;
use crate::connection::Connection;
use crate::item::ItemShape;
use crate::random::Random;
use crate::request::{RequestWriter, Target};

const OK: u16 = 200;
const CREATED: u16 = 201;
const NOT_FOUND: u16 = 404;

pub(super) struct Writer {
    connection: Connection,
    requests: RequestWriter,
    shape: ItemShape,
    random: Random,
    item: Vec<u8>,
}

impl Writer {
    pub(super) async fn connect(target: Target, shape: ItemShape) -> Result<Writer> {
        let connection = Connection::open(target.endpoint.clone())
            .await
            .with_context(|| format!("connecting to {}", target.endpoint.authority()))?;
        let requests = RequestWriter::new(target);
        Ok(Writer::new(connection, requests, shape, 0))
    }

    /// A writer on a connection of a pool. Each connection has a random stream of its own.
    pub(super) fn of(client: PoolClient, shape: ItemShape) -> Writer {
        let number = u64::from(client.number);
        Writer::new(client.connection, client.writer, shape, number)
    }

    fn new(
        connection: Connection,
        requests: RequestWriter,
        shape: ItemShape,
        stream: u64,
    ) -> Writer {
        Writer {
            connection,
            requests,
            shape,
            random: Random::new(1, stream),
            item: Vec::new(),
        }
    }

    /// Creates an item. Returns the time from the first byte sent to the last byte received.
    pub(super) async fn create(&mut self, id: &str) -> Result<Duration> {
        self.prepare(id);
        let begun = Instant::now();
        match self.exchange().await? {
            (CREATED, _) => Ok(begun.elapsed()),
            (status, body) => bail!("a create was answered {status}: {body}"),
        }
    }

    /// Creates an item and returns the status, whatever it is.
    pub(super) async fn try_create(&mut self, id: &str) -> Result<u16> {
        self.prepare(id);
        Ok(self.exchange().await?.0)
    }

    /// Reads an existing item at the consistency of the account.
    pub(super) async fn read(&mut self, id: &str) -> Result<Duration> {
        self.requests.read(id, id);
        let begun = Instant::now();
        match self.exchange().await? {
            (OK, _) => Ok(begun.elapsed()),
            (status, body) => bail!("a read was answered {status}: {body}"),
        }
    }

    /// Whether the region of this connection has the item, read at eventual consistency.
    pub(super) async fn has(&mut self, id: &str) -> Result<bool> {
        self.requests.read_eventually(id, id);
        match self.exchange().await? {
            (OK, _) => Ok(true),
            (NOT_FOUND, _) => Ok(false),
            (status, body) => bail!("a read was answered {status}: {body}"),
        }
    }

    /// Builds the request before its time is measured.
    fn prepare(&mut self, id: &str) {
        self.item.clear();
        self.shape.write(&mut self.item, [id, id], &mut self.random);
        self.requests.create(id, &self.item);
    }

    /// Sends the prepared request. Returns the status, and the body of an answer without success.
    async fn exchange(&mut self) -> Result<(u16, String)> {
        let exchange = self.connection.exchange(self.requests.bytes()).await;
        let response = exchange.context("the server does not answer any more")?;
        let status = response.head.status;
        let body = match status {
            OK | CREATED => String::new(),
            _ => String::from_utf8_lossy(response.body).into_owned(),
        };
        Ok((status, body))
    }
}
