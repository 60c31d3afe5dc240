//! The physical partitions of a container, in the form for operators.

use orrery_keys::EpkRange;
use orrery_model::{Charge, Lsn, RangeId};

use super::{ObjectWriter, array_of};

#[derive(Debug, Clone)]
pub struct PartitionsDescription<'r> {
    pub database: &'r str,
    pub container: &'r str,
    /// `manual`, `autoscale`, `shared`, `serverless` or `off`.
    pub mode: &'static str,
    /// The request units a second of the offer, if there is an offer.
    pub provisioned: Option<u32>,
    /// `equal` or `custom`.
    pub policy: &'static str,
    pub partitions: Vec<PartitionDescription<'r>>,
}

#[derive(Debug, Clone)]
pub struct PartitionDescription<'r> {
    pub id: RangeId,
    pub range: &'r EpkRange,
    pub parents: &'r [RangeId],
    pub items: u64,
    pub bytes: u64,
    /// False while items and bytes are estimates, after a split.
    pub counted: bool,
    pub lsn: Lsn,
    pub provisioned: Option<u32>,
    /// The request units of the last full second.
    pub used: Charge,
    pub charged: Charge,
    pub requests: u64,
    pub throttled: u64,
    pub hot_keys: Vec<HotKeyDescription>,
}

#[derive(Debug, Clone)]
pub struct HotKeyDescription {
    /// The partition key, in the form of its header.
    pub key: String,
    pub charge: f64,
    /// The fraction of the request units of its partition, from 0 to 1.
    pub share: f64,
}

impl PartitionsDescription<'_> {
    pub fn body(&self) -> Vec<u8> {
        let throughput = ObjectWriter::new()
            .text("mode", self.mode)
            .literal("provisioned", units(self.provisioned))
            .text("policy", self.policy)
            .finish();
        let partitions = self.partitions.iter().map(PartitionDescription::body);
        ObjectWriter::new()
            .text("database", self.database)
            .text("container", self.container)
            .raw("throughput", &throughput)
            .raw("partitions", &array_of(partitions))
            .finish()
    }
}

impl PartitionDescription<'_> {
    fn body(&self) -> Vec<u8> {
        let normalized = self.provisioned.map_or(0.0, |provisioned| {
            self.used.units() / f64::from(provisioned.max(1))
        });
        let throughput = ObjectWriter::new()
            .literal("provisioned", units(self.provisioned))
            .literal("used", decimal(self.used.units()))
            .literal("normalized", decimal(normalized))
            .literal("charged", decimal(self.charged.units()))
            .literal("requests", self.requests)
            .literal("throttled", self.throttled)
            .finish();
        let parents = self.parents.iter();
        let parents = parents.map(|id| format!("\"{id}\"").into_bytes());
        let hot_keys = self.hot_keys.iter().map(|hot| {
            ObjectWriter::new()
                .raw("key", hot.key.as_bytes())
                .literal("charge", decimal(hot.charge))
                .literal("share", decimal(hot.share))
                .finish()
        });
        ObjectWriter::new()
            .display("id", self.id)
            .display("minInclusive", &self.range.min)
            .display("maxExclusive", &self.range.max)
            .raw("parents", &array_of(parents))
            .literal("items", self.items)
            .literal("bytes", self.bytes)
            .literal("counted", self.counted)
            .literal("lsn", self.lsn)
            .raw("throughput", &throughput)
            .raw("hotKeys", &array_of(hot_keys))
            .finish()
    }
}

/// Null without provisioned throughput.
fn units(units: Option<u32>) -> String {
    units.map_or_else(|| "null".to_owned(), |units| units.to_string())
}

/// A number with at most four decimals, and always with a decimal point.
fn decimal(number: f64) -> String {
    let rounded = (number * 10_000.0).round() / 10_000.0;
    format!("{rounded:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let range = EpkRange::full();
        let description = PartitionsDescription {
            database: "d",
            container: "c",
            mode: "manual",
            provisioned: Some(400),
            policy: "equal",
            partitions: vec![PartitionDescription {
                id: RangeId(0),
                range: &range,
                parents: &[],
                items: 2,
                bytes: 300,
                counted: true,
                lsn: Lsn(5),
                provisioned: Some(400),
                used: Charge::from_units(100.0),
                charged: Charge::from_units(1234.56),
                requests: 7,
                throttled: 1,
                hot_keys: vec![HotKeyDescription {
                    key: r#"["a"]"#.to_owned(),
                    charge: 1.0,
                    share: 1.0 / 3.0,
                }],
            }],
        };
        let expected = concat!(
            r#"{"database":"d","container":"c","throughput":{"mode":"manual","provisioned":400,"policy":"equal"},"#,
            r#""partitions":[{"id":"0","minInclusive":"","maxExclusive":"FF","parents":[],"items":2,"bytes":300,"#,
            r#""counted":true,"lsn":5,"throughput":{"provisioned":400,"used":100.0,"normalized":0.25,"charged":1234.56,"#,
            r#""requests":7,"throttled":1},"hotKeys":[{"key":["a"],"charge":1.0,"share":0.3333}]}]}"#
        );
        assert_eq!(String::from_utf8(description.body()).unwrap(), expected);
        let nothing = PartitionsDescription {
            mode: "off",
            provisioned: None,
            partitions: Vec::new(),
            ..description
        };
        assert!(
            String::from_utf8(nothing.body())
                .unwrap()
                .contains("\"provisioned\":null")
        );
    }
}
