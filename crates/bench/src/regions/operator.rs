//! Orders to the regions of a server, and the server's report of its account.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::server::ManagementAddress;

const OK: u16 = 200;
/// The pause between two reports.
const POLL_PERIOD: Duration = Duration::from_millis(5);
/// The limit of a wait, after which the run fails.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// A connection to the management endpoint of a server.
pub(super) struct RegionsOperator {
    connection: Connection,
    authority: String,
    key: String,
}

/// The server's report of its account, as far as this module reads it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccountStatus {
    pub(super) write_region: Option<String>,
    pub(super) regions: Vec<RegionStatus>,
    pub(super) links: Vec<LinkStatus>,
}

/// One region in the report.
#[derive(Debug, Deserialize)]
pub(super) struct RegionStatus {
    pub(super) name: String,
    pub(super) applied: u64,
    /// The upper limit on the lag of the region, as the region itself computes it.
    pub(super) lag: Option<LagStatus>,
}

/// A lag in records and in time.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct LagStatus {
    pub(super) records: u64,
    pub(super) millis: u64,
}

/// A connection between two regions, from the near end to the far end.
#[derive(Debug, Deserialize)]
pub(super) struct LinkStatus {
    /// The records that the far end lacks, as the near end knows.
    pub(super) behind: Option<LagStatus>,
}

impl AccountStatus {
    /// Whether every region has applied the records of all other regions.
    fn is_even(&self) -> bool {
        let most = self.regions.iter().map(|region| region.applied).max();
        let is_reached = |region: &RegionStatus| Some(region.applied) == most;
        // A report without any lag proves nothing: the near ends do not know the far ends yet.
        let has_link = self.links.iter().any(|link| link.behind.is_some());
        let mut behind = self.links.iter().filter_map(|link| link.behind);
        has_link && behind.all(|behind| behind.records == 0) && self.regions.iter().all(is_reached)
    }
}

impl RegionsOperator {
    /// Connects with the key in the server's key file.
    pub(super) async fn connect(address: &ManagementAddress) -> Result<RegionsOperator> {
        let endpoint = Endpoint::parse(&address.endpoint)?;
        let key = std::fs::read_to_string(&address.key_file)
            .with_context(|| format!("reading {}", address.key_file.display()))?;
        let authority = endpoint.authority();
        let connection = Connection::open(endpoint).await;
        Ok(RegionsOperator {
            connection: connection.with_context(|| format!("connecting to {authority}"))?,
            authority,
            key: key.trim().to_owned(),
        })
    }

    /// Reads the report of the account.
    pub(super) async fn report(&mut self) -> Result<AccountStatus> {
        self.send("GET", "/account", "").await
    }

    /// Sends an order. Returns the time until the answer.
    pub(super) async fn order(&mut self, path: &str, body: &Value) -> Result<Duration> {
        let begun = Instant::now();
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        // The server answers every order with the account report, and this check verifies that.
        let _: AccountStatus = self.send("POST", path, &body).await?;
        Ok(begun.elapsed())
    }

    /// Pauses all links.
    pub(super) async fn pause(&mut self) -> Result<()> {
        self.order("/links/*/*", &json!({"order": "pause"})).await?;
        Ok(())
    }

    pub(super) async fn resume(&mut self) -> Result<()> {
        self.order("/links/*/*", &json!({"order": "resume"}))
            .await?;
        Ok(())
    }

    /// Sets the delay of all links.
    pub(super) async fn delay(&mut self, millis: u64) -> Result<()> {
        let order = json!({"order": "delay", "millis": millis});
        self.order("/links/*/*", &order).await?;
        Ok(())
    }

    /// Waits until all regions have applied the same records.
    pub(super) async fn settle(&mut self) -> Result<()> {
        self.wait_for("regions to have the same", AccountStatus::is_even)
            .await
    }

    pub(super) async fn wait_for(
        &mut self,
        what: &str,
        is_so: impl Fn(&AccountStatus) -> bool,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            let report = self.report().await?;
            if is_so(&report) {
                return Ok(());
            }
            if begun.elapsed() > WAIT_MAX {
                bail!("waited too long for {what}: {report:?}");
            }
            tokio::time::sleep(POLL_PERIOD).await;
        }
    }

    /// Sends a request with the management key, which needs no signature.
    async fn send(&mut self, method: &str, path: &str, body: &str) -> Result<AccountStatus> {
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
            let report = String::from_utf8_lossy(response.body);
            bail!(
                "{method} {path} was answered {}: {report}",
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
        let report = |applied: [u64; 2], behind: Value| {
            let region = |applied| json!({"name": "r", "applied": applied, "lag": null});
            let report = json!({
                "writeRegion": "r",
                "regions": applied.map(region),
                "links": [{"behind": behind}, {"behind": null}],
            });
            serde_json::from_value::<AccountStatus>(report)
                .unwrap()
                .is_even()
        };
        let behind = |records: u64| json!({"records": records, "millis": 0, "bytes": 0});
        for (applied, behind, expected) in [
            ([7, 7], behind(0), true),
            ([7, 6], behind(0), false),
            ([7, 7], behind(1), false),
            ([7, 7], Value::Null, false),
        ] {
            assert_eq!(
                report(applied, behind.clone()),
                expected,
                "{applied:?} {behind}"
            );
        }
    }
}
