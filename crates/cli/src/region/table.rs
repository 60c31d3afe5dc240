//! The report as two tables: regions, and links between them.

use super::report::{AccountReport, Lag, Link, Partition, RegionStatus};

const GAP: &str = "  ";

pub(super) fn text(report: &AccountReport) -> String {
    let writes = if report.multi_write {
        "every region takes writes"
    } else if report.per_partition_failover {
        "one region takes the writes of each partition"
    } else {
        "one region takes writes"
    };
    let mut text = format!("epoch {}, {writes}\n\n", report.epoch);
    text += &table(
        &[
            "REGION",
            "STATE",
            "ENDPOINT",
            "KEPT",
            "APPLIED",
            "COMMITTED",
            "BEHIND",
        ],
        report.regions.iter().map(region),
    );
    if !report.links.is_empty() {
        text.push('\n');
        text += &table(
            &["FROM", "TO", "LINK", "LACKS"],
            report.links.iter().map(link),
        );
    }
    if !report.partitions.is_empty() {
        text.push('\n');
        text += &table(
            &["PARTITION", "WRITTEN IN", "DOWN IN"],
            report.partitions.iter().map(partition),
        );
    }
    let regions = report.regions.iter();
    // A region with a cause stopped applying records after a failure.
    let broken = regions.filter_map(|region| Some((&region.name, region.cause.as_ref()?)));
    text.extend(
        broken.map(|(name, cause)| {
            format!("\n{name} broke down and takes no more records: {cause}\n")
        }),
    );
    let regions = report.regions.iter();
    let left_out = regions
        // `false_progress` counts the diverged suffix: records that this region acknowledged and
        // that are not part of the history of the account.
        .map(|region| (&region.name, region.false_progress.unwrap_or_default()))
        .filter(|(_, records)| *records > 0);
    text.extend(left_out.map(|(name, records)| {
        format!(
            "\n{name} has {records} records that were acknowledged there and are not part of the history.\n"
        )
    }));
    text
}

fn region(region: &RegionStatus) -> Vec<String> {
    vec![
        region.name.clone(),
        region.state.clone(),
        region.endpoint.clone().unwrap_or_else(|| "-".to_owned()),
        count(region.kept),
        count(region.applied),
        count(region.committed),
        lag(region.lag),
    ]
}

fn partition(partition: &Partition) -> Vec<String> {
    let owner = partition.owner.as_deref().unwrap_or("-");
    let returns = if partition.automatic {
        ", comes back by itself"
    } else {
        ""
    };
    let down = partition.down.join(", ");
    vec![
        partition.address.clone(),
        format!("{owner}{returns}"),
        if down.is_empty() {
            "-".to_owned()
        } else {
            down
        },
    ]
}

fn link(link: &Link) -> Vec<String> {
    let mut words = Vec::new();
    if link.cut {
        words.push("cut".to_owned());
    }
    if link.paused {
        words.push("paused".to_owned());
    }
    if link.delay_millis > 0 {
        words.push(format!("delayed {} ms", link.delay_millis));
    }
    if words.is_empty() {
        words.push("open".to_owned());
    }
    vec![
        link.from.clone(),
        link.to.clone(),
        words.join(", "),
        lag(link.behind),
    ]
}

fn count(records: Option<u64>) -> String {
    records.map_or_else(|| "-".to_owned(), |records| records.to_string())
}

fn lag(lag: Option<Lag>) -> String {
    match lag {
        None => "-".to_owned(),
        Some(Lag { records: 0, .. }) => "nothing".to_owned(),
        Some(Lag { records: 1, millis }) => format!("1 record, {millis} ms"),
        Some(Lag { records, millis }) => format!("{records} records, {millis} ms"),
    }
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head: Vec<String> = head.iter().copied().map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = rows.iter().map(|row| row[column].len());
            let width = width.max().unwrap_or_default();
            format!("{cell:<width$}{GAP}")
        });
        let line: String = cells.collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_two_tables() {
        let report: AccountReport = serde_json::from_str(
            r#"{"writeRegion":"West US","multiWrite":false,"epoch":"2@0","regions":[
            {"name":"West US","endpoint":"https://127.0.0.1:8081/","state":"write","kept":12,"applied":12,
             "committed":9,"lag":null,"falseProgress":0},
            {"name":"North Europe","endpoint":null,"state":"read","kept":9,"applied":9,"committed":null,
             "lag":{"records":3,"millis":40},"falseProgress":2}],"links":[
            {"from":"West US","to":"North Europe","delayMillis":30,"paused":true,"cut":false,
             "behind":{"records":3,"bytes":400,"millis":40}},
            {"from":"North Europe","to":"West US","delayMillis":0,"paused":false,"cut":false,"behind":null}],
            "perPartitionFailover":true,"partitions":[
            {"partition":"dbs/d/colls/c/ranges/2","owner":"North Europe","automatic":true,"down":["West US"]},
            {"partition":"dbs/d/colls/c/ranges/3","owner":"North Europe","automatic":false,"down":[]}]}"#,
        )
        .unwrap();
        let expected = "\
epoch 2@0, one region takes the writes of each partition

REGION        STATE  ENDPOINT                 KEPT  APPLIED  COMMITTED  BEHIND
West US       write  https://127.0.0.1:8081/  12    12       9          -
North Europe  read   -                        9     9        -          3 records, 40 ms

FROM          TO            LINK                   LACKS
West US       North Europe  paused, delayed 30 ms  3 records, 40 ms
North Europe  West US       open                   -

PARTITION               WRITTEN IN                          DOWN IN
dbs/d/colls/c/ranges/2  North Europe, comes back by itself  West US
dbs/d/colls/c/ranges/3  North Europe                        -

North Europe has 2 records that were acknowledged there and are not part of the history.
";
        assert_eq!(text(&report), expected);
    }

    #[test]
    fn lags_in_words() {
        for (records, expected) in [
            (0, "nothing"),
            (1, "1 record, 7 ms"),
            (2, "2 records, 7 ms"),
        ] {
            assert_eq!(lag(Some(Lag { records, millis: 7 })), expected);
        }
    }
}
