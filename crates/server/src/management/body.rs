//! The JSON answers of the operators' listener.

use orrery_account::{AccountReport, LinkReport, PartitionReport, RegionReport, RegionState};
use serde::Serialize;

/// The account as one region reports it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountBody<'r> {
    write_region: Option<&'r str>,
    multi_write: bool,
    per_partition_failover: bool,
    epoch: &'r str,
    regions: Vec<RegionBody<'r>>,
    links: Vec<LinkBody<'r>>,
    partitions: Vec<PartitionBody<'r>>,
}

/// A partition with its own write region, or a partition that is down in some region.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartitionBody<'r> {
    partition: String,
    owner: Option<&'r str>,
    automatic: bool,
    down: &'r [String],
}

/// One region. A figure is null if the reporting region does not know it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RegionBody<'r> {
    name: &'r str,
    endpoint: Option<&'r str>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'r str>,
    /// The records in the region's log. The JSON name is part of the API.
    kept: Option<u64>,
    applied: Option<u64>,
    committed: Option<u64>,
    lag: Option<LagBody>,
    /// The records of the diverged suffix.
    false_progress: Option<u64>,
}

/// The replication link from one region to another.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LinkBody<'r> {
    from: &'r str,
    to: &'r str,
    delay_millis: u64,
    paused: bool,
    cut: bool,
    behind: Option<BehindBody>,
}

/// The distance behind the write region, in records and in time.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LagBody {
    records: u64,
    millis: u64,
}

/// The part of the sender's log that the receiver lacks.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BehindBody {
    records: u64,
    bytes: u64,
    millis: u64,
}

/// The answer to the addition of a region.
#[derive(Serialize)]
struct AddedBody<'r> {
    name: &'r str,
    endpoint: &'r str,
}

/// The answer to `GET /account`.
pub(super) fn report(report: &AccountReport) -> Vec<u8> {
    let body = AccountBody {
        write_region: report.write_region.as_deref(),
        multi_write: report.multi_write,
        per_partition_failover: report.per_partition_failover,
        epoch: &report.epoch,
        regions: report.regions.iter().map(region).collect(),
        links: report.links.iter().map(link).collect(),
        partitions: report
            .partitions
            .iter()
            .map(|one| partition(one, report))
            .collect(),
    };
    serde_json::to_vec(&body).unwrap_or_default()
}

/// The answer to `POST /regions`.
pub(super) fn added(name: &str, endpoint: &str) -> Vec<u8> {
    serde_json::to_vec(&AddedBody { name, endpoint }).unwrap_or_default()
}

fn state_name(state: RegionState) -> &'static str {
    match state {
        RegionState::Write => "write",
        RegionState::Read => "read",
        RegionState::Joining => "joining",
        RegionState::Leaving => "leaving",
        RegionState::Down => "down",
        RegionState::Broken => "broken",
        RegionState::Removed => "removed",
    }
}

fn region(region: &RegionReport) -> RegionBody<'_> {
    RegionBody {
        name: &region.name,
        endpoint: region.endpoint.as_deref(),
        state: state_name(region.state),
        cause: region.cause.as_deref(),
        kept: region.appended,
        applied: region.applied,
        committed: region.committed,
        lag: region
            .own_lag
            .map(|(records, millis)| LagBody { records, millis }),
        false_progress: region.diverged_records,
    }
}

fn link(link: &LinkReport) -> LinkBody<'_> {
    LinkBody {
        from: &link.from,
        to: &link.to,
        delay_millis: u64::try_from(link.delay.as_millis()).unwrap_or(u64::MAX),
        paused: link.is_paused,
        cut: link.is_cut,
        behind: link.behind.map(|behind| BehindBody {
            records: behind.records,
            bytes: behind.bytes,
            millis: behind.millis,
        }),
    }
}

fn partition<'r>(partition: &'r PartitionReport, report: &'r AccountReport) -> PartitionBody<'r> {
    PartitionBody {
        partition: partition.address.to_string(),
        // A partition without an own write region follows the write region of the account.
        owner: partition
            .owner
            .as_deref()
            .or(report.write_region.as_deref()),
        automatic: partition.is_automatic,
        down: &partition.down,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use orrery_account::LinkLag;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_report_is_whole() {
        let whole = AccountReport {
            write_region: Some("West US".to_owned()),
            multi_write: false,
            per_partition_failover: true,
            epoch: "2@0".to_owned(),
            regions: vec![RegionReport {
                name: "North Europe".to_owned(),
                endpoint: Some("http://h/".to_owned()),
                state: RegionState::Broken,
                cause: Some("no room".to_owned()),
                appended: Some(9),
                applied: Some(7),
                committed: None,
                own_lag: Some((2, 15)),
                diverged_records: Some(1),
            }],
            links: vec![LinkReport {
                from: "West US".to_owned(),
                to: "North Europe".to_owned(),
                delay: Duration::from_millis(30),
                is_paused: true,
                is_cut: false,
                behind: Some(LinkLag {
                    records: 2,
                    bytes: 300,
                    millis: 15,
                }),
            }],
            partitions: vec![
                PartitionReport {
                    address: "dbs/d/colls/c/ranges/2".parse().unwrap(),
                    owner: Some("North Europe".to_owned()),
                    is_automatic: true,
                    down: vec!["West US".to_owned()],
                },
                PartitionReport {
                    address: "dbs/d/colls/c/ranges/3".parse().unwrap(),
                    owner: None,
                    is_automatic: false,
                    down: Vec::new(),
                },
            ],
        };
        let found: Value = serde_json::from_slice(&report(&whole)).unwrap();
        let expected = json!({
            "writeRegion": "West US", "multiWrite": false, "perPartitionFailover": true, "epoch": "2@0",
            "regions": [{
                "name": "North Europe", "endpoint": "http://h/", "state": "broken", "cause": "no room", "kept": 9, "applied": 7,
                "committed": null, "lag": {"records": 2, "millis": 15}, "falseProgress": 1
            }],
            "links": [{
                "from": "West US", "to": "North Europe", "delayMillis": 30, "paused": true, "cut": false,
                "behind": {"records": 2, "bytes": 300, "millis": 15}
            }],
            "partitions": [
                {
                    "partition": "dbs/d/colls/c/ranges/2", "owner": "North Europe", "automatic": true,
                    "down": ["West US"]
                },
                {"partition": "dbs/d/colls/c/ranges/3", "owner": "West US", "automatic": false, "down": []}
            ]
        });
        assert_eq!(found, expected);
    }
}
