//! Orders to the regions of a server, and what it says of them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::server::ManagementAddress;

const OK: u16 = 200;
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Operator {
    connection: Connection,
    authority: String,
    key: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) write_region: Option<String>,
    pub(super) regions: Vec<SaidRegion>,
    pub(super) links: Vec<SaidLink>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SaidRegion {
    pub(super) name: String,
    pub(super) applied: u64,
    /// The most that it can be behind, as it knows itself.
    pub(super) lag: Option<SaidLag>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct SaidLag {
    pub(super) records: u64,
    pub(super) millis: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct SaidLink {
    /// What the far end lacks of what the near end wrote, as that knows.
    pub(super) behind: Option<SaidLag>,
}

impl Said {
    /// Whether every region has what the others wrote.
    fn is_even(&self) -> bool {
        let most = self.regions.iter().map(|region| region.applied).max();
        let is_reached = |region: &SaidRegion| Some(region.applied) == most;
        let has_link = self.links.iter().any(|link| link.behind.is_some());
        let mut behind = self.links.iter().filter_map(|link| link.behind);
        has_link && behind.all(|behind| behind.records == 0) && self.regions.iter().all(is_reached)
    }
}

impl Operator {
    pub(super) async fn connect(address: &ManagementAddress) -> Result<Operator> {
        let endpoint = Endpoint::parse(&address.endpoint)?;
        let key = std::fs::read_to_string(&address.key_file)
            .with_context(|| format!("reading {}", address.key_file.display()))?;
        let authority = endpoint.authority();
        let connection = Connection::open(endpoint).await;
        Ok(Operator {
            connection: connection.with_context(|| format!("connecting to {authority}"))?,
            authority,
            key: key.trim().to_owned(),
        })
    }

    pub(super) async fn ask(&mut self) -> Result<Said> {
        self.send("GET", "/account", "").await
    }

    /// How long it took.
    pub(super) async fn order(&mut self, path: &str, body: &Value) -> Result<Duration> {
        let begun = Instant::now();
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let _: Said = self.send("POST", path, &body).await?;
        Ok(begun.elapsed())
    }

    /// Of all links.
    pub(super) async fn pause(&mut self) -> Result<()> {
        self.order("/links/*/*", &json!({"order": "pause"})).await?;
        Ok(())
    }

    pub(super) async fn resume(&mut self) -> Result<()> {
        self.order("/links/*/*", &json!({"order": "resume"}))
            .await?;
        Ok(())
    }

    pub(super) async fn delay(&mut self, millis: u64) -> Result<()> {
        let order = json!({"order": "delay", "millis": millis});
        self.order("/links/*/*", &order).await?;
        Ok(())
    }

    /// Waits until all regions have the same.
    pub(super) async fn settle(&mut self) -> Result<()> {
        self.wait_for("regions to have the same", Said::is_even)
            .await
    }

    pub(super) async fn wait_for(
        &mut self,
        what: &str,
        is_so: impl Fn(&Said) -> bool,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            let said = self.ask().await?;
            if is_so(&said) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                bail!("waited too long for {what}: {said:?}");
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> Result<Said> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.authority,
            self.key,
            body.len()
        );
        let response = self.connection.exchange(request.as_bytes()).await;
        let response = response.with_context(|| format!("{method} {path}"))?;
        if response.head.status != OK {
            let said = String::from_utf8_lossy(response.body);
            bail!(
                "{method} {path} was answered {}: {said}",
                response.head.status
            );
        }
        serde_json::from_slice(response.body).with_context(|| format!("{method} {path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_is_what_all_have() {
        let said = |applied: [u64; 2], behind: Value| {
            let region = |applied| json!({"name": "r", "applied": applied, "lag": null});
            let said = json!({
                "writeRegion": "r",
                "regions": applied.map(region),
                "links": [{"behind": behind}, {"behind": null}],
            });
            serde_json::from_value::<Said>(said).unwrap().is_even()
        };
        let behind = |records: u64| json!({"records": records, "millis": 0, "bytes": 0});
        for (applied, behind, expected) in [
            ([7, 7], behind(0), true),
            ([7, 6], behind(0), false),
            ([7, 7], behind(1), false),
            ([7, 7], Value::Null, false),
        ] {
            assert_eq!(
                said(applied, behind.clone()),
                expected,
                "{applied:?} {behind}"
            );
        }
    }
}
