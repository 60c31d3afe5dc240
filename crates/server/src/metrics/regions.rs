//! Metrics of the regions of an account, and of the replication lag between regions.

use orrery_account::{AccountReport, LinkReport, RegionReport, RegionState};

use super::page::Page;

/// All states, since a metric has a line for each of them.
const STATES: [(RegionState, &str); 7] = [
    (RegionState::Write, "write"),
    (RegionState::Read, "read"),
    (RegionState::Joining, "joining"),
    (RegionState::Leaving, "leaving"),
    (RegionState::Down, "down"),
    (RegionState::Broken, "broken"),
    (RegionState::Removed, "removed"),
];

/// The page of the operators' listener, which reports regions and no requests.
pub(crate) fn text(report: &AccountReport) -> String {
    let mut page = Page::default();
    write(&mut page, report);
    page.text
}

/// Appends the metrics of regions and links.
pub(super) fn write(page: &mut Page, report: &AccountReport) {
    page.family(
        "orrery_account_epoch",
        "gauge",
        "Always 1; the label is the epoch of the account.",
    );
    page.line(&[("epoch", &report.epoch)], 1);
    page.family(
        "orrery_region_state",
        "gauge",
        "1 for what a region is now, 0 for what it is not.",
    );
    for region in &report.regions {
        for (state, name) in STATES {
            let labels = [("region", region.name.as_str()), ("state", name)];
            page.line(&labels, u8::from(region.state == state));
        }
    }
    for (name, help, figure) in REGION_FIGURES {
        page.family(name, "gauge", help);
        for region in &report.regions {
            if let Some(number) = figure(region) {
                page.line(&[("region", &region.name)], number);
            }
        }
    }
    page.family(
        "orrery_partition_write_region",
        "gauge",
        "1 for a partition whose writes another region takes than the write region.",
    );
    for partition in &report.partitions {
        if let Some(owner) = &partition.owner {
            let address = partition.address.to_string();
            page.line(&[("partition", &address), ("region", owner)], 1);
        }
    }
    page.family(
        "orrery_partition_down",
        "gauge",
        "1 for a partition that is down in a region.",
    );
    for partition in &report.partitions {
        for region in &partition.down {
            let address = partition.address.to_string();
            page.line(&[("partition", &address), ("region", region)], 1);
        }
    }
    for (name, help, figure) in LINK_FIGURES {
        page.family(name, "gauge", help);
        for link in &report.links {
            if let Some(number) = figure(link) {
                page.line(&[("from", &link.from), ("to", &link.to)], number);
            }
        }
    }
}

/// The name, the help text, and the figure of one report. A missing figure has no line.
type RegionMetric<T> = (&'static str, &'static str, fn(&T) -> Option<f64>);

/// The figures of each region.
const REGION_FIGURES: [RegionMetric<RegionReport>; 6] = [
    (
        "orrery_region_kept_records",
        "Records in the log of a region.",
        |region| region.appended.map(|records| records as f64),
    ),
    (
        "orrery_region_applied_records",
        "Records in the state of a region.",
        |region| region.applied.map(|records| records as f64),
    ),
    (
        "orrery_region_committed_records",
        "Records that a region knows to be committed.",
        |region| region.committed.map(|records| records as f64),
    ),
    (
        "orrery_region_lag_records",
        "Records that a region is behind the write region, as it knows itself.",
        |region| region.own_lag.map(|(records, _)| records as f64),
    ),
    (
        "orrery_region_lag_seconds",
        "Time that a region is behind the write region, as it knows itself.",
        |region| region.own_lag.map(|(_, millis)| millis as f64 / 1e3),
    ),
    (
        "orrery_region_false_progress_records",
        "Records that were acknowledged in a region and are not part of the history.",
        |region| region.diverged_records.map(|records| records as f64),
    ),
];

/// The figures of each link.
const LINK_FIGURES: [RegionMetric<LinkReport>; 6] = [
    (
        "orrery_link_lag_records",
        "Records of the first region that the second lacks.",
        |link| link.behind.map(|behind| behind.records as f64),
    ),
    ("orrery_link_lag_bytes", "Bytes of these records.", |link| {
        link.behind.map(|behind| behind.bytes as f64)
    }),
    (
        "orrery_link_lag_seconds",
        "Age of the oldest of these records.",
        |link| link.behind.map(|behind| behind.millis as f64 / 1e3),
    ),
    (
        "orrery_link_delay_seconds",
        "Delay that an operator gave a link.",
        |link| Some(link.delay.as_secs_f64()),
    ),
    (
        "orrery_link_paused",
        "1 while an operator holds records of a link back.",
        |link| Some(f64::from(u8::from(link.is_paused))),
    ),
    (
        "orrery_link_cut",
        "1 while an operator has cut a link.",
        |link| Some(f64::from(u8::from(link.is_cut))),
    ),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use orrery_account::{LinkLag, PartitionReport};

    use super::*;

    #[test]
    fn regions_and_links_have_their_lines() {
        let region = |name: &str, state, own_lag| RegionReport {
            name: name.to_owned(),
            endpoint: None,
            state,
            cause: None,
            appended: Some(9),
            applied: Some(8),
            committed: Some(7),
            own_lag,
            diverged_records: Some(0),
        };
        let link = |from: &str, to: &str, behind| LinkReport {
            from: from.to_owned(),
            to: to.to_owned(),
            delay: Duration::from_millis(50),
            is_paused: true,
            is_cut: false,
            behind,
        };
        let behind = LinkLag {
            records: 3,
            bytes: 400,
            millis: 1_500,
        };
        let text = text(&AccountReport {
            write_region: Some("W".to_owned()),
            multi_write: false,
            per_partition_failover: true,
            epoch: "2@0".to_owned(),
            regions: vec![
                region("W", RegionState::Write, None),
                region("N", RegionState::Read, Some((3, 1_500))),
                region("B", RegionState::Broken, None),
            ],
            links: vec![link("W", "N", Some(behind)), link("N", "W", None)],
            partitions: vec![PartitionReport {
                address: "dbs/d/colls/c/ranges/2".parse().unwrap(),
                owner: Some("N".to_owned()),
                is_automatic: true,
                down: vec!["W".to_owned()],
            }],
        });
        for line in [
            r#"orrery_account_epoch{epoch="2@0"} 1"#,
            r#"orrery_region_state{region="W",state="write"} 1"#,
            r#"orrery_region_state{region="N",state="write"} 0"#,
            r#"orrery_region_state{region="B",state="broken"} 1"#,
            r#"orrery_region_state{region="N",state="broken"} 0"#,
            r#"orrery_region_applied_records{region="N"} 8"#,
            r#"orrery_region_lag_records{region="N"} 3"#,
            r#"orrery_region_lag_seconds{region="N"} 1.5"#,
            r#"orrery_link_lag_records{from="W",to="N"} 3"#,
            r#"orrery_link_lag_bytes{from="W",to="N"} 400"#,
            r#"orrery_link_lag_seconds{from="W",to="N"} 1.5"#,
            r#"orrery_link_delay_seconds{from="W",to="N"} 0.05"#,
            r#"orrery_link_paused{from="N",to="W"} 1"#,
            r#"orrery_link_cut{from="N",to="W"} 0"#,
            r#"orrery_partition_write_region{partition="dbs/d/colls/c/ranges/2",region="N"} 1"#,
            r#"orrery_partition_down{partition="dbs/d/colls/c/ranges/2",region="W"} 1"#,
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(!text.contains(r#"lag_records{region="W"}"#), "{text}");
        assert!(!text.contains(r#"lag_records{from="N",to="W"}"#), "{text}");
    }
}
