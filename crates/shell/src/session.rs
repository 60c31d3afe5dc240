//! What a shell has in hand between two statements: the account, what is used of it, how rows are shown.

use hyper::Method;

use crate::account::{self, Container};
use crate::client::{Client, Key};
use crate::error::Error;
use crate::key_values::KeyValues;
use crate::output::Output;
use crate::query::Query;

pub(crate) struct Session {
    pub(crate) client: Client,
    /// To keep it out of the history.
    pub(crate) key: Key,
    pub(crate) output: Output,
    pub(crate) database: Option<String>,
    pub(crate) container: Option<String>,
    /// Of queries; all partitions without it.
    pub(crate) partition: Option<KeyValues>,
    /// Rows of a page at most, where a person reads them.
    pub(crate) page_items: Option<i32>,
    /// The container in use, once it was read.
    definition: Option<Container>,
}

impl Session {
    pub(crate) fn new(client: Client, key: Key, output: Output) -> Session {
        Session {
            client,
            key,
            output,
            database: None,
            container: None,
            partition: None,
            page_items: None,
            definition: None,
        }
    }

    pub(crate) fn choose(&mut self, database: Option<String>, container: Option<String>) {
        self.database = database;
        self.container = container;
        self.definition = None;
        self.partition = None;
    }

    pub(crate) fn database(&self) -> Result<&str, Error> {
        let none = || Error::Usage("say which database first: use DATABASE [CONTAINER]".to_owned());
        self.database.as_deref().ok_or_else(none)
    }

    /// The link of the container in use.
    pub(crate) fn link(&self) -> Result<String, Error> {
        match (&self.database, &self.container) {
            (Some(database), Some(container)) => Ok(format!("dbs/{database}/colls/{container}")),
            _ => Err(Error::Usage(
                "say which container first: use DATABASE CONTAINER".to_owned(),
            )),
        }
    }

    pub(crate) fn query(&self, text: &str) -> Result<Query, Error> {
        self.link()?;
        Ok(Query {
            database: self.database.clone().unwrap_or_default(),
            container: self.container.clone().unwrap_or_default(),
            text: text.to_owned(),
            parameters: Vec::new(),
            key: self.partition.clone(),
            page_items: self.page_items,
            explain: false,
        })
    }

    /// The definition of the container in use, read once.
    pub(crate) async fn definition(&mut self) -> Result<&Container, Error> {
        let link = self.link()?;
        if self.definition.is_none() {
            self.definition = Some(account::container(&mut self.client, &link).await?);
        }
        let missing = || Error::Answer("there is no container".to_owned());
        self.definition.as_ref().ok_or_else(missing)
    }

    /// The key of an item that is named by its id: the given one, or the id where that is the key.
    pub(crate) async fn key_of(
        &mut self,
        id: &str,
        given: Option<KeyValues>,
    ) -> Result<KeyValues, Error> {
        if let Some(key) = given {
            return Ok(key);
        }
        let paths = self.definition().await?.key_text();
        if paths == "/id" {
            return Ok(KeyValues::of_text(id));
        }
        Err(Error::Usage(format!(
            "the partition key of this container is {paths}: write its value after the id, as JSON"
        )))
    }

    pub(crate) fn request(
        &self,
        method: Method,
        id: &str,
    ) -> Result<crate::client::Request, Error> {
        let link = format!("{}/docs/{id}", self.link()?);
        Ok(crate::client::Request::resource(method, "docs", &link))
    }
}
