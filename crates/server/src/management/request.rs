//! Parses an operator's request: method, path and body.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::Method;
use orrery_account::{LinkOrder, PartitionAddress};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::refusal::Refusal;

/// Longer delays are probably an error in the unit.
const DELAY_MILLIS_MAX: u64 = 600_000;

/// An order or a question of an operator. Regions are as the operator wrote them, or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ManagementRequest {
    Report,
    Metrics,
    Failover(Failover),
    Add(NewRegion),
    Remove {
        region: String,
        forced: bool,
    },
    /// Takes down a partition, or without a partition the whole region.
    TakeDown {
        region: String,
        partition: Option<PartitionAddress>,
    },
    BringUp {
        region: String,
        partition: Option<PartitionAddress>,
    },
    /// The diverged suffix of a region: records that it acknowledged and that are not part of the
    /// history.
    DivergedSuffix {
        region: String,
    },
    Link {
        from: String,
        to: String,
        order: LinkOrder,
    },
}

/// The body of a failover.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Failover {
    pub(super) to: String,
    #[serde(default)]
    pub(super) forced: bool,
    #[serde(default)]
    pub(super) accepts_loss: bool,
    #[serde(default)]
    pub(super) offline: Vec<String>,
    /// The partition whose writes move. None moves the writes of the whole account.
    #[serde(default)]
    pub(super) partition: Option<String>,
}

/// The optional body of taking a region down or bringing it up.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DownBody {
    partition: Option<String>,
}

/// The optional body of a removal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Removal {
    #[serde(default)]
    forced: bool,
}

/// The body of an addition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewRegion {
    pub(super) name: String,
    #[serde(default)]
    pub(super) listen: Option<SocketAddr>,
}

/// The body of a link order.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LinkOrderBody {
    order: LinkVerb,
    millis: Option<u64>,
    records: Option<u64>,
}

/// The kind of a link order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum LinkVerb {
    Pause,
    Resume,
    Cut,
    Delay,
    Step,
}

impl ManagementRequest {
    /// Parses method, path and body. The function changes nothing, so a malformed order has no
    /// effect.
    pub(super) fn parse(
        method: &Method,
        path: &str,
        body: &[u8],
    ) -> Result<ManagementRequest, Refusal> {
        let segments: Option<Vec<String>> = path
            .trim_start_matches('/')
            .split('/')
            .map(decoded)
            .collect();
        let segments = segments.ok_or_else(|| Refusal::wrong("the path is not UTF-8"))?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        // A wrong method on a known path is answered with the right method.
        let only = |allowed: Method, request: Result<ManagementRequest, Refusal>| {
            if *method == allowed {
                request
            } else {
                Err(Refusal::other_method(allowed.as_str()))
            }
        };
        match segments.as_slice() {
            ["account"] => only(Method::GET, Ok(ManagementRequest::Report)),
            ["metrics"] => only(Method::GET, Ok(ManagementRequest::Metrics)),
            ["account", "failover"] => {
                only(Method::POST, read(body).map(ManagementRequest::Failover))
            }
            ["regions"] => only(Method::POST, read(body).map(ManagementRequest::Add)),
            ["regions", region] => only(
                Method::DELETE,
                is_forced(body).map(|forced| ManagementRequest::Remove {
                    region: (*region).to_owned(),
                    forced,
                }),
            ),
            ["regions", region, "down"] => only(
                Method::POST,
                partition(body).map(|partition| ManagementRequest::TakeDown {
                    region: (*region).to_owned(),
                    partition,
                }),
            ),
            ["regions", region, "up"] => only(
                Method::POST,
                partition(body).map(|partition| ManagementRequest::BringUp {
                    region: (*region).to_owned(),
                    partition,
                }),
            ),
            ["regions", region, "false-progress"] => only(
                Method::GET,
                Ok(ManagementRequest::DivergedSuffix {
                    region: (*region).to_owned(),
                }),
            ),
            ["links", from, to] => only(Method::POST, link(from, to, body)),
            _ => Err(Refusal::unknown_path()),
        }
    }
}

/// The partition in the body, or None for the whole region.
fn partition(body: &[u8]) -> Result<Option<PartitionAddress>, Refusal> {
    let body = if body.is_empty() {
        DownBody::default()
    } else {
        read(body)?
    };
    body.partition.as_deref().map(address).transpose()
}

/// Parses the address of a partition.
pub(super) fn address(text: &str) -> Result<PartitionAddress, Refusal> {
    text.parse().map_err(|error: String| Refusal::wrong(error))
}

/// Parses a link order. An option that the order does not use is refused, since it shows a mistake.
fn link(from: &str, to: &str, body: &[u8]) -> Result<ManagementRequest, Refusal> {
    let LinkOrderBody {
        order,
        millis,
        records,
    } = read(body)?;
    if millis.is_some() && order != LinkVerb::Delay {
        return Err(Refusal::wrong("only delay takes \"millis\""));
    }
    if records.is_some() && order != LinkVerb::Step {
        return Err(Refusal::wrong("only step takes \"records\""));
    }
    let order = match order {
        LinkVerb::Pause => LinkOrder::Pause,
        LinkVerb::Resume => LinkOrder::Resume,
        LinkVerb::Cut => LinkOrder::Cut,
        LinkVerb::Delay => match millis {
            Some(millis) if millis <= DELAY_MILLIS_MAX => {
                LinkOrder::Delay(Duration::from_millis(millis))
            }
            _ => {
                return Err(Refusal::wrong(format!(
                    "delay needs \"millis\", a number up to {DELAY_MILLIS_MAX}; 0 ends a delay"
                )));
            }
        },
        LinkVerb::Step => match records.unwrap_or(1) {
            0 => return Err(Refusal::wrong("\"records\" must be 1 or more")),
            records => LinkOrder::Step(records),
        },
    };
    Ok(ManagementRequest::Link {
        from: from.to_owned(),
        to: to.to_owned(),
        order,
    })
}

/// The flag in the body of a removal.
fn is_forced(body: &[u8]) -> Result<bool, Refusal> {
    if body.is_empty() {
        return Ok(false);
    }
    read(body).map(|removal: Removal| removal.forced)
}

/// Parses a JSON body.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::wrong(format!("the body is not what is wanted here: {error}")))
}

/// A path segment with its percent escapes decoded.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        // An escape that is cut off makes the path invalid.
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(request: &str, body: &str) -> Result<ManagementRequest, u16> {
        let (method, path) = request.split_once(' ').unwrap();
        let method = method.parse().unwrap();
        ManagementRequest::parse(&method, path, body.as_bytes()).map_err(|refusal| refusal.status)
    }

    fn link(order: LinkOrder) -> ManagementRequest {
        ManagementRequest::Link {
            from: "West US".to_owned(),
            to: "*".to_owned(),
            order,
        }
    }

    #[test]
    fn every_endpoint() {
        let region = || "North Europe".to_owned();
        for (request, body, expected) in [
            ("GET /account", "", ManagementRequest::Report),
            ("GET /metrics", "", ManagementRequest::Metrics),
            (
                "GET /regions/North%20Europe/false-progress",
                "",
                ManagementRequest::DivergedSuffix {
                    region: "North Europe".to_owned(),
                },
            ),
            (
                "POST /account/failover",
                r#"{"to":"North Europe"}"#,
                ManagementRequest::Failover(Failover {
                    to: region(),
                    forced: false,
                    accepts_loss: false,
                    offline: vec![],
                    partition: None,
                }),
            ),
            (
                "POST /account/failover",
                r#"{"to":"North Europe","forced":true,"acceptsLoss":true,"offline":["West US"]}"#,
                ManagementRequest::Failover(Failover {
                    to: region(),
                    forced: true,
                    accepts_loss: true,
                    offline: vec!["West US".to_owned()],
                    partition: None,
                }),
            ),
            (
                "POST /account/failover",
                r#"{"to":"North Europe","partition":"dbs/d/colls/c/ranges/2"}"#,
                ManagementRequest::Failover(Failover {
                    to: region(),
                    forced: false,
                    accepts_loss: false,
                    offline: vec![],
                    partition: Some("dbs/d/colls/c/ranges/2".to_owned()),
                }),
            ),
            (
                "POST /regions",
                r#"{"name":"North Europe"}"#,
                ManagementRequest::Add(NewRegion {
                    name: region(),
                    listen: None,
                }),
            ),
            (
                "POST /regions",
                r#"{"name":"North Europe","listen":"127.0.0.1:9000"}"#,
                ManagementRequest::Add(NewRegion {
                    name: region(),
                    listen: Some("127.0.0.1:9000".parse().unwrap()),
                }),
            ),
            (
                "DELETE /regions/North%20Europe",
                "",
                ManagementRequest::Remove {
                    region: region(),
                    forced: false,
                },
            ),
            (
                "DELETE /regions/North%20Europe",
                r#"{"forced":true}"#,
                ManagementRequest::Remove {
                    region: region(),
                    forced: true,
                },
            ),
            (
                "POST /regions/North%20Europe/down",
                "",
                ManagementRequest::TakeDown {
                    region: region(),
                    partition: None,
                },
            ),
            (
                "POST /regions/North%20Europe/down",
                r#"{"partition":"dbs/d/colls/c/ranges/2"}"#,
                ManagementRequest::TakeDown {
                    region: region(),
                    partition: "dbs/d/colls/c/ranges/2".parse().ok(),
                },
            ),
            (
                "POST /regions/North%20Europe/up",
                "",
                ManagementRequest::BringUp {
                    region: region(),
                    partition: None,
                },
            ),
            (
                "POST /links/West%20US/*",
                r#"{"order":"pause"}"#,
                link(LinkOrder::Pause),
            ),
            (
                "POST /links/West%20US/*",
                r#"{"order":"resume"}"#,
                link(LinkOrder::Resume),
            ),
            (
                "POST /links/West%20US/%2A",
                r#"{"order":"cut"}"#,
                link(LinkOrder::Cut),
            ),
            (
                "POST /links/West%20US/*",
                r#"{"order":"delay","millis":0}"#,
                link(LinkOrder::Delay(Duration::ZERO)),
            ),
            (
                "POST /links/West%20US/*",
                r#"{"order":"step"}"#,
                link(LinkOrder::Step(1)),
            ),
            (
                "POST /links/West%20US/*",
                r#"{"order":"step","records":7}"#,
                link(LinkOrder::Step(7)),
            ),
        ] {
            assert_eq!(parse(request, body), Ok(expected), "{request} {body}");
        }
    }

    #[test]
    fn mistakes_are_refused() {
        for (request, body, status) in [
            ("GET /", "", 404),
            ("GET /accounts", "", 404),
            ("POST /regions/a/b", "", 404),
            ("POST /account", "", 405),
            ("GET /account/failover", "", 405),
            ("GET /regions/a", "", 405),
            ("GET /links/a/b", "", 405),
            ("POST /account/failover", "", 400),
            ("POST /account/failover", r#"{"forced":true}"#, 400),
            ("POST /account/failover", r#"{"to":"a","force":true}"#, 400),
            ("POST /regions", r#"{"name":"a","listen":"x"}"#, 400),
            ("POST /regions/%ff/down", "", 400),
            ("POST /regions/%2/down", "", 400),
            ("POST /links/a/b", r#"{"order":"stop"}"#, 400),
            ("POST /links/a/b", r#"{"order":"delay"}"#, 400),
            (
                "POST /links/a/b",
                r#"{"order":"delay","millis":600001}"#,
                400,
            ),
            ("POST /links/a/b", r#"{"order":"step","records":0}"#, 400),
            ("POST /links/a/b", r#"{"order":"pause","millis":1}"#, 400),
            ("POST /links/a/b", r#"{"order":"cut","records":1}"#, 400),
        ] {
            assert_eq!(parse(request, body), Err(status), "{request} {body}");
        }
    }
}
