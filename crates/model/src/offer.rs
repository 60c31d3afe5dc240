//! The offer: the resource that contains the throughput of one database or container.

use orrery_json::Value;
use orrery_keys::OfferRid;

use crate::definition::fields::{DefinitionFields, invalid_input, object};
use crate::throughput::{autoscale_from, out_of_autoscale_range, out_of_manual_range, round_up};
use crate::{Etag, Failure, OwnerUsage, Throughput, ThroughputDistribution, limits};

/// A change of the throughput mode that a client requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThroughputMigration {
    ToAutoscale,
    ToManual,
}

/// The resource that contains the throughput of one database or container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub rid: OfferRid,
    /// `_self` of the owner, byte for byte: SDKs find the offer by this text.
    pub resource: String,
    /// The resource id of the owner.
    pub owner: String,
    pub throughput: Throughput,
    pub max_ever: u32,
    pub distribution: ThroughputDistribution,
    pub etag: Etag,
    pub modified_seconds: u64,
}

impl Offer {
    /// The throughput of the offer after a PUT with this body.
    ///
    /// With `migrate`, the offer changes to the other mode with a throughput that fits the present
    /// one, and the figures of the body are ignored. Without `migrate` the mode stays.
    pub fn replacement(
        &self,
        body: &Value,
        migrate: Option<ThroughputMigration>,
        usage: OwnerUsage,
    ) -> Result<Throughput, Failure> {
        let body = DefinitionFields::of_body(body)?;
        // A body of another offer is probably a mistake of the client, even if its numbers are
        // valid.
        self.check_identity(&body)?;
        match (migrate, self.throughput) {
            (Some(ThroughputMigration::ToAutoscale), Throughput::Manual(units)) => {
                Ok(self.migrated_to_autoscale(units, usage))
            }
            (Some(ThroughputMigration::ToManual), Throughput::Autoscale { max, .. }) => {
                Ok(Throughput::Manual(max))
            }
            // A migration to the present mode changes nothing and is no error.
            (Some(ThroughputMigration::ToAutoscale), same @ Throughput::Autoscale { .. })
            | (Some(ThroughputMigration::ToManual), same @ Throughput::Manual(_)) => Ok(same),
            (None, current) => {
                let content = body
                    .object("content")?
                    .ok_or_else(|| body.missing("content"))?;
                let new = same_mode(&content, current)?;
                // The minimum depends on the usage, so the limits of `Throughput` are not enough.
                self.check_minimum(new, usage)?;
                Ok(new)
            }
        }
    }

    /// The least throughput that a client may set, which a header of the answer contains.
    pub fn minimum(&self, usage: OwnerUsage) -> u32 {
        self.throughput.minimum(self.max_ever, usage)
    }

    /// The resource body with its system properties. The offer has the same form on disk.
    pub fn to_value(&self) -> Value {
        self.to_value_at(self.throughput.current())
    }

    /// The resource body of an autoscale offer that has scaled to `current`.
    pub fn to_value_at(&self, current: u32) -> Value {
        let rid = self.rid.to_string();
        object([
            ("resource", Value::from(self.resource.as_str())),
            ("offerType", Value::from("Invalid")),
            ("offerResourceId", Value::from(self.owner.as_str())),
            ("offerVersion", Value::from("V2")),
            ("content", self.content(current)),
            ("id", Value::from(rid.as_str())),
            ("_rid", Value::from(rid.as_str())),
            ("_self", Value::from(format!("offers/{rid}/"))),
            ("_etag", Value::from(self.etag.as_str())),
            (
                "_ts",
                Value::from(i64::try_from(self.modified_seconds).unwrap_or(i64::MAX)),
            ),
        ])
    }

    /// Parses the output of [`Offer::to_value`]. The entity tag comes from the caller.
    pub fn from_value(value: &Value, etag: Etag) -> Result<Offer, Failure> {
        let fields = DefinitionFields::of_body(value)?;
        let content = fields
            .object("content")?
            .ok_or_else(|| fields.missing("content"))?;
        let throughput = match content.object("offerAutopilotSettings")? {
            Some(settings) => autoscale_from(&settings)?,
            None => Throughput::manual(content.required_integer("offerThroughput")?)?,
        };
        let floor = content
            .object("offerMinimumThroughputParameters")?
            .ok_or_else(|| content.missing("offerMinimumThroughputParameters"))?;
        let max_ever = floor.required_integer("maxThroughputEverProvisioned")?;
        let rid = fields.required_text("_rid")?;
        Ok(Offer {
            rid: OfferRid::parse(rid)
                .map_err(|error| invalid_input(format!("'_rid': {error}.")))?,
            resource: fields.required_text("resource")?.to_owned(),
            owner: fields.required_text("offerResourceId")?.to_owned(),
            throughput,
            max_ever: u32::try_from(max_ever)
                .map_err(|_| floor.missing("maxThroughputEverProvisioned"))?,
            distribution: ThroughputDistribution::from_fields(
                content.object("throughputDistribution")?.as_ref(),
            )?,
            etag,
            modified_seconds: u64::try_from(fields.required_integer("_ts")?)
                .map_err(|_| fields.missing("_ts"))?,
        })
    }

    /// The property `content`, whose form depends on the mode.
    fn content(&self, current: u32) -> Value {
        let settings = match self.throughput {
            Throughput::Manual(_) => Value::Undefined,
            Throughput::Autoscale {
                max,
                increment_percent,
            } => {
                let policy = increment_percent.map_or(Value::Undefined, |percent| {
                    let throughput = object([("incrementPercent", integer(percent))]);
                    object([("throughputPolicy", throughput)])
                });
                object([
                    ("maxThroughput", integer(max)),
                    ("tier", integer(0)),
                    ("maximumTierThroughput", integer(max)),
                    ("autoUpgradePolicy", policy),
                ])
            }
        };
        let floor = object([
            ("maxThroughputEverProvisioned", integer(self.max_ever)),
            ("maxConsumedStorageEverInKB", integer(0)),
        ]);
        object([
            ("offerThroughput", integer(current)),
            ("offerIsRUPerMinuteThroughputEnabled", Value::from(false)),
            ("offerMinimumThroughputParameters", floor),
            ("offerAutopilotSettings", settings),
            ("throughputDistribution", self.distribution.to_value()),
        ])
    }

    /// Checks that the body is of this offer, which the address has already found.
    fn check_identity(&self, body: &DefinitionFields<'_>) -> Result<(), Failure> {
        let resource = body.required_text("resource")?;
        if resource.trim_matches('/') != self.resource.trim_matches('/') {
            return Err(invalid_input(format!(
                "The 'resource' of the offer cannot be changed from '{}' to '{resource}'.",
                self.resource
            )));
        }
        if body.text("id")?.is_none() && body.text("_rid")?.is_none() {
            return Err(Failure::MissingProperty("id"));
        }
        let rid = self.rid.to_string();
        for (property, expected) in [
            ("id", rid.as_str()),
            ("_rid", rid.as_str()),
            ("offerResourceId", self.owner.as_str()),
        ] {
            if let Some(text) = body.text(property)?
                && text != expected
            {
                return Err(invalid_input(format!(
                    "The '{property}' of the offer cannot be changed from '{expected}' to '{text}'."
                )));
            }
        }
        Ok(())
    }

    /// Checks that the new throughput is not below the minimum of its owner.
    fn check_minimum(&self, new: Throughput, usage: OwnerUsage) -> Result<(), Failure> {
        let minimum = new.minimum(self.max_ever, usage);
        if new.max() >= minimum {
            return Ok(());
        }
        Err(match new {
            Throughput::Manual(units) => out_of_manual_range(i64::from(units), minimum),
            Throughput::Autoscale { max, .. } => out_of_autoscale_range(i64::from(max), minimum),
        })
    }

    /// The least autoscale maximum that fits the manual throughput.
    fn migrated_to_autoscale(&self, units: u32, usage: OwnerUsage) -> Throughput {
        let wanted = Throughput::Autoscale {
            max: units,
            increment_percent: None,
        };
        let max = wanted.minimum(self.max_ever, usage).max(units);
        let max = round_up(max, limits::AUTOSCALE_RUS_STEP);
        Throughput::Autoscale {
            max,
            increment_percent: None,
        }
    }
}

/// The throughput of a body, which must be of the present mode: SDKs change the mode only with a
/// header.
fn same_mode(content: &DefinitionFields<'_>, current: Throughput) -> Result<Throughput, Failure> {
    let settings = content.object("offerAutopilotSettings")?;
    match (current, settings) {
        (Throughput::Manual(_), None) => {
            Throughput::manual(content.required_integer("offerThroughput")?)
        }
        (Throughput::Autoscale { .. }, Some(settings)) => autoscale_from(&settings),
        (Throughput::Manual(_), Some(_)) => Err(invalid_input(
            "The offer has manual throughput. Send x-ms-cosmos-migrate-offer-to-autopilot to \
             change it to autoscale.",
        )),
        (Throughput::Autoscale { .. }, None) => Err(invalid_input(
            "The offer has autoscale throughput. Send \
             x-ms-cosmos-migrate-offer-to-manual-throughput to change it to manual.",
        )),
    }
}

fn integer(number: u32) -> Value {
    Value::from(i64::from(number))
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;

    use super::*;

    fn offer(throughput: Throughput, max_ever: u32) -> Offer {
        Offer {
            rid: OfferRid::parse("E+p7").unwrap(),
            resource: "dbs/kRNGAA==/colls/kRNGAOrVWJo=/".to_owned(),
            owner: "kRNGAOrVWJo=".to_owned(),
            throughput,
            max_ever,
            distribution: ThroughputDistribution::default(),
            etag: Etag::of_write(0, 7, 0, 1_700_000_000),
            modified_seconds: 1_700_000_000,
        }
    }

    fn autoscale(max: u32, increment_percent: Option<u32>) -> Throughput {
        Throughput::Autoscale {
            max,
            increment_percent,
        }
    }

    /// A PUT of the offer itself with other content.
    fn put(
        offer: &Offer,
        content: &str,
        migrate: Option<ThroughputMigration>,
    ) -> Result<Throughput, Failure> {
        let Value::Object(mut body) = offer.to_value() else {
            panic!("an offer is an object")
        };
        body.insert("content".to_owned(), parse(content.as_bytes()).unwrap());
        offer.replacement(&Value::Object(body), migrate, OwnerUsage::default())
    }

    fn message(result: Result<Throughput, Failure>) -> String {
        match result {
            Err(Failure::BadRequest(message)) => message,
            other => panic!("{other:?} is not a refusal"),
        }
    }

    #[test]
    fn manual_offers_have_no_autopilot_settings() {
        let text = offer(Throughput::Manual(400), 400).to_value().to_string();
        assert_eq!(
            text,
            r#"{"resource":"dbs/kRNGAA==/colls/kRNGAOrVWJo=/","offerType":"Invalid","#.to_owned()
                + r#""offerResourceId":"kRNGAOrVWJo=","offerVersion":"V2","content":{"offerThroughput":400,"#
                + r#""offerIsRUPerMinuteThroughputEnabled":false,"offerMinimumThroughputParameters":"#
                + r#"{"maxThroughputEverProvisioned":400,"maxConsumedStorageEverInKB":0}},"id":"E+p7","#
                + r#""_rid":"E+p7","_self":"offers/E+p7/","#
                + r#""_etag":"\"00000000-0007-0000-0000-6553f1000000\"","_ts":1700000000}"#
        );
    }

    #[test]
    fn autoscale_offers_show_the_policy_that_was_sent() {
        let content = |percent| {
            offer(autoscale(5000, percent), 5000)
                .to_value()
                .get("content")
                .to_string()
        };
        let with = content(Some(0));
        assert!(with.contains(r#""offerThroughput":500"#), "{with}");
        assert!(with.contains(r#""maxThroughput":5000"#), "{with}");
        let policy = r#""autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":0}}"#;
        assert!(with.contains(policy), "{with}");
        assert!(!content(None).contains("autoUpgradePolicy"));
    }

    #[test]
    fn offers_come_back_from_disk() {
        for throughput in [
            Throughput::Manual(1200),
            autoscale(4000, None),
            autoscale(4000, Some(10)),
        ] {
            let mut offer = offer(throughput, 50_000);
            for shares in [vec![], vec![(crate::RangeId(1), 400)]] {
                offer.distribution.shares = shares;
                let read = Offer::from_value(&offer.to_value(), offer.etag.clone());
                assert_eq!(read, Ok(offer.clone()));
            }
        }
    }

    #[test]
    fn replacements_keep_the_mode() {
        let manual = offer(Throughput::Manual(400), 400);
        let scaled = offer(autoscale(4000, None), 4000);
        assert_eq!(
            put(&manual, r#"{"offerThroughput":1100}"#, None),
            Ok(Throughput::Manual(1100))
        );
        // A client that only knows manual throughput sends the settings back as they were.
        let echoed = r#"{"offerThroughput":700,"offerAutopilotSettings":{"maxThroughput":4000}}"#;
        assert_eq!(put(&scaled, echoed, None), Ok(autoscale(4000, None)));
        let settings = r#"{"offerAutopilotSettings":{"maxThroughput":6000}}"#;
        assert_eq!(put(&scaled, settings, None), Ok(autoscale(6000, None)));
        assert!(message(put(&manual, settings, None)).contains("migrate-offer-to-autopilot"));
        let units = r#"{"offerThroughput":400}"#;
        assert!(message(put(&scaled, units, None)).contains("to-manual-throughput"));
    }

    #[test]
    fn migrations_ignore_the_body() {
        let body = r#"{"offerThroughput":-5}"#;
        for (throughput, max_ever, migrate, expected) in [
            (
                Throughput::Manual(400),
                400,
                ThroughputMigration::ToAutoscale,
                autoscale(1000, None),
            ),
            (
                Throughput::Manual(2100),
                2100,
                ThroughputMigration::ToAutoscale,
                autoscale(3000, None),
            ),
            (
                Throughput::Manual(400),
                50_000,
                ThroughputMigration::ToAutoscale,
                autoscale(5000, None),
            ),
            (
                autoscale(4000, None),
                4000,
                ThroughputMigration::ToManual,
                Throughput::Manual(4000),
            ),
            (
                autoscale(4000, None),
                4000,
                ThroughputMigration::ToAutoscale,
                autoscale(4000, None),
            ),
            (
                Throughput::Manual(400),
                400,
                ThroughputMigration::ToManual,
                Throughput::Manual(400),
            ),
        ] {
            let result = put(&offer(throughput, max_ever), body, Some(migrate));
            assert_eq!(result, Ok(expected), "{throughput:?} {migrate:?}");
        }
    }

    #[test]
    fn below_the_minimum_is_refused() {
        let manual = offer(Throughput::Manual(60_000), 100_000);
        let refusal = message(put(&manual, r#"{"offerThroughput":900}"#, None));
        assert!(
            refusal
                .contains("The offer should have valid throughput values between 1000 and 1000000"),
            "{refusal}"
        );
        let scaled = offer(autoscale(60_000, None), 100_000);
        let settings = r#"{"offerAutopilotSettings":{"maxThroughput":9000}}"#;
        let refusal = message(put(&scaled, settings, None));
        assert!(
            refusal.contains(
                "Requested throughput 9000 is less than required minimum throughput 10000"
            ),
            "{refusal}"
        );
    }

    #[test]
    fn one_of_two_ids_is_enough() {
        let offer = offer(Throughput::Manual(400), 400);
        for (missing, is_refused) in [
            (&["id"][..], false),
            (&["_rid"], false),
            (&["id", "_rid"], true),
        ] {
            let Value::Object(mut body) = offer.to_value() else {
                panic!("an offer is an object")
            };
            for property in missing {
                body.shift_remove(*property);
            }
            let result = offer.replacement(&Value::Object(body), None, OwnerUsage::default());
            assert_eq!(result.is_err(), is_refused, "{missing:?}");
        }
    }

    #[test]
    fn the_body_must_be_of_this_offer() {
        let offer = offer(Throughput::Manual(400), 400);
        for (property, value) in [
            ("resource", Value::Null),
            ("resource", Value::from("dbs/x/")),
            ("_rid", Value::from("AAAA")),
            ("id", Value::from("AAAA")),
            ("offerResourceId", Value::from("x")),
            ("content", Value::Null),
            ("content", Value::from(5)),
        ] {
            let Value::Object(mut body) = offer.to_value() else {
                panic!("an offer is an object")
            };
            body.insert(property.to_owned(), value.clone());
            let result = offer.replacement(&Value::Object(body), None, OwnerUsage::default());
            assert!(message(result).contains(property), "{property}: {value}");
        }
    }
}
