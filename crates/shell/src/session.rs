//! The state of a shell between statements: the account, the container in use, the output.

use hyper::Method;
use orrery_client::{Client, Key};

use crate::account::{self, Container};
use crate::error::Error;
use crate::key_values::KeyValues;
use crate::output::Output;
use crate::query::Query;

pub(crate) struct ShellSession {
    pub(crate) client: Client,
    /// The account key, so that statements containing the key stay out of the history.
    pub(crate) key: Key,
    pub(crate) output: Output,
    pub(crate) database: Option<String>,
    pub(crate) container: Option<String>,
    /// The partition key of queries. None covers all partitions.
    pub(crate) partition: Option<KeyValues>,
    /// The most rows of a page, for an interactive shell.
    pub(crate) page_items: Option<i32>,
    /// The container in use, cached after its first read.
    definition: Option<Container>,
}

impl ShellSession {
    /// A session without a container in use.
    pub(crate) fn new(client: Client, key: Key, output: Output) -> ShellSession {
        ShellSession {
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

    /// Changes the database and the container in use.
    pub(crate) fn choose(&mut self, database: Option<String>, container: Option<String>) {
        self.database = database;
        self.container = container;
        // Both belong to the previous container.
        self.definition = None;
        self.partition = None;
    }

    /// Returns the selected database, or an error that explains `use`.
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

    /// A query of the container in use.
    pub(crate) fn query(&self, text: &str) -> Result<Query, Error> {
        // Fails without a container in use; the fields below would be empty.
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

    /// The partition key of an item: the given key, or the id where the partition key is `/id`.
    pub(crate) async fn key_of(
        &mut self,
        id: &str,
        given: Option<KeyValues>,
    ) -> Result<KeyValues, Error> {
        if let Some(key) = given {
            return Ok(key);
        }
        let paths = self.definition().await?.key_text();
        // The id is the whole key only in this case.
        if paths == "/id" {
            return Ok(KeyValues::of_text(id));
        }
        Err(Error::Usage(format!(
            "the partition key of this container is {paths}: write its value after the id, as JSON"
        )))
    }

    /// A request for one item of the container in use.
    pub(crate) fn request(
        &self,
        method: Method,
        id: &str,
    ) -> Result<orrery_client::Request, Error> {
        let link = format!("{}/docs/{id}", self.link()?);
        Ok(orrery_client::Request::resource(method, "docs", &link))
    }
}
