//! A typed view of the headers of a request, made in one pass.
//!
//! Values are borrowed. This module refuses values that are wrong in themselves; a check that
//! depends on the account or the container is a method with that argument.

use http::HeaderMap;
use orrery_keys::ContainerRid;
use orrery_model::{
    ConsistencyLevel, Failure, IndexingDirective, Precondition, PriorityLevel, Throughput,
    ThroughputMigration, limits,
};

use super::header::{Header, invalid_value};
use super::names;
use super::selection::Selection;
use super::strategy::ReadStrategy;
use crate::offer_headers::OfferHeaders;
use crate::{HttpDate, IndexMetricsForm};

/// The versions of the protocol that a client may name.
const VERSIONS: [&str; 21] = [
    "2014-08-21",
    "2015-04-08",
    "2015-06-03",
    "2015-08-06",
    "2015-12-16",
    "2016-05-30",
    "2016-07-11",
    "2016-11-14",
    "2017-01-19",
    "2017-02-22",
    "2017-05-03",
    "2017-11-15",
    "2018-06-18",
    "2018-08-31",
    "2018-09-17",
    "2018-12-31",
    "2019-10-14",
    "2020-07-15",
    "2020-11-05",
    "2024-05-15",
    "2024-06-06",
];

/// The first version in which every container has a partition key.
const KEY_VERSION: &str = "2018-12-31";

/// The headers of a request.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the protocol"
)]
pub struct RequestHeaders<'a> {
    pub authorization: Option<&'a str>,
    pub x_ms_date: Option<&'a str>,
    pub date: Option<&'a str>,
    pub activity_id: Option<&'a str>,
    pub version: Option<&'a str>,
    pub content_type: Option<&'a str>,
    pub consistency: Option<ConsistencyLevel>,
    /// The read strategy. It precedes the consistency level, since newer SDKs send both.
    pub strategy: Option<ReadStrategy>,
    pub session_token: Option<&'a str>,
    /// Only the hub of the account may answer the request.
    pub hub_only: bool,
    /// The selection, which [`take_selection`](Self::take_selection) returns.
    selection: Selection<'a>,
    pub is_upsert: bool,
    pub if_match: Option<&'a str>,
    pub if_none_match: Option<&'a str>,
    pub if_modified_since: Option<HttpDate>,
    pub indexing: IndexingDirective,
    /// Whether the item of the request is one without `_self` and `_attachments`.
    pub exclude_system_properties: bool,
    /// `None` when absent or `-1`: the server chooses.
    pub max_item_count: Option<usize>,
    pub continuation: Option<&'a str>,
    pub continuation_limit_kb: Option<usize>,
    /// `Prefer: return=minimal`.
    pub prefers_minimal: bool,
    pub change_feed: Option<ChangeFeedMode>,
    /// The client requests the envelopes of `2021-09-15` in its change feed.
    pub change_feed_envelopes: bool,
    pub offer: OfferHeaders,
    pub populate_quota: bool,
    pub populate_statistics: bool,
    pub intended_container_rid: Option<&'a str>,
    pub priority: Option<PriorityLevel>,
    pub throughput_bucket: Option<u8>,
    pub batch: BatchFlags,
    pub query: QueryFlags<'a>,
    /// The ids of the triggers to run, in this order.
    pub pre_triggers: Vec<&'a str>,
    pub post_triggers: Vec<&'a str>,
    /// The client requests the log of its stored procedure.
    pub script_logging: bool,
    pub token_expiry_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the protocol"
)]
pub struct BatchFlags {
    pub is_batch: bool,
    pub atomic: bool,
    pub ordered: bool,
    pub continue_on_error: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the protocol"
)]
pub struct QueryFlags<'a> {
    pub is_query: bool,
    pub is_plan: bool,
    pub enable_cross_partition: bool,
    pub parallelize: bool,
    /// The client accepts a scan if no index can serve the query.
    pub enable_scan: bool,
    /// The client prefers that one request answers the query without a plan.
    pub optimistic_direct: bool,
    pub populate_metrics: bool,
    /// The form in which the client requests the index metrics.
    pub index_metrics: Option<IndexMetricsForm>,
    /// The client requests the plan.
    pub explain: bool,
    /// The client requests all rows from the server, and no plan.
    pub whole: bool,
    pub supported_features: Option<&'a str>,
    pub version: Option<&'a str>,
}

/// The value of `A-IM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeFeedMode {
    LatestVersion,
    AllVersionsAndDeletes,
}

/// The kind of a `POST` to a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedPost {
    QueryPlan,
    Batch,
    Query,
    Upsert,
    Create,
}

impl<'a> RequestHeaders<'a> {
    /// Parses all headers. Unknown headers are ignored, since SDKs send many that no server needs.
    pub fn parse(map: &'a HeaderMap) -> Result<RequestHeaders<'a>, Failure> {
        let mut headers = RequestHeaders::default();
        for (name, value) in map {
            let header = Header {
                name: name.as_str(),
                value,
            };
            match header.name {
                names::READ_CONSISTENCY_STRATEGY => {
                    headers.strategy = Some(header.parsed(ReadStrategy::parse)?);
                }
                name if name.starts_with("x-ms-") => headers.take_protocol(&header)?,
                _ => headers.take_standard(&header)?,
            }
        }
        // The three headers of a range come in any order, so their combination is checked at the
        // end.
        headers.selection.key_range.check()?;
        Ok(headers)
    }

    /// Reads a header of HTTP or of Orrery.
    fn take_standard(&mut self, header: &Header<'a, '_>) -> Result<(), Failure> {
        match header.name {
            names::AUTHORIZATION => self.authorization = Some(header.text()?),
            names::DATE => self.date = Some(header.text()?),
            names::CONTENT_TYPE => self.content_type = Some(header.text()?),
            names::IF_MATCH => self.if_match = Some(header.text()?),
            names::IF_NONE_MATCH => self.if_none_match = Some(header.text()?),
            names::IF_MODIFIED_SINCE => {
                self.if_modified_since = Some(header.parsed(HttpDate::parse)?);
            }
            names::PREFER => {
                let text = header.text()?;
                self.prefers_minimal = text
                    .split([',', ';'])
                    .any(|preference| preference.trim().eq_ignore_ascii_case("return=minimal"));
            }
            names::EXPLAIN => self.query.explain = header.flag(),
            names::WHOLE_QUERY => self.query.whole = header.flag(),
            names::A_IM => self.change_feed = Some(header.parsed(ChangeFeedMode::parse)?),
            _ => {}
        }
        Ok(())
    }

    /// Reads a header of the protocol.
    fn take_protocol(&mut self, header: &Header<'a, '_>) -> Result<(), Failure> {
        match header.name {
            names::X_MS_DATE => self.x_ms_date = Some(header.text()?),
            names::ACTIVITY_ID => self.activity_id = Some(header.text()?),
            names::VERSION => {
                self.version =
                    Some(header.parsed(|text| VERSIONS.contains(&text).then_some(text))?);
            }
            names::CONSISTENCY_LEVEL => {
                // An empty value counts as an absent header.
                if header.non_empty()?.is_some() {
                    self.consistency = Some(header.parsed(|text| text.parse().ok())?);
                }
            }
            names::SESSION_TOKEN => self.session_token = header.non_empty()?,
            names::HUB_REGION_ONLY => self.hub_only = header.flag(),
            // A partition key may contain any character, so its header is read as UTF-8 or as
            // Latin-1.
            names::PARTITION_KEY => self.selection.partition_key_text = Some(header.lenient_text()),
            names::PARTITION_KEY_RANGE_ID => {
                let text = header.text()?;
                // Some SDKs write the container's resource id before the range, with a comma
                // between.
                let range_id = text.rsplit_once(',').map_or(text, |(_, id)| id).trim();
                self.selection.key_range.range_id = Some(range_id);
            }
            names::START_EPK => self.selection.key_range.start_epk = Some(header.text()?),
            names::END_EPK => self.selection.key_range.end_epk = Some(header.text()?),
            names::READ_KEY_TYPE => self.selection.key_range.key_type = Some(header.text()?),
            names::IS_UPSERT => self.is_upsert = header.flag(),
            names::EXCLUDE_SYSTEM_PROPERTIES => self.exclude_system_properties = header.flag(),
            names::INDEXING_DIRECTIVE => self.indexing = header.parsed(parse_indexing_directive)?,
            names::MAX_ITEM_COUNT => {
                self.max_item_count =
                    Some(header.parsed(max_item_count)?).filter(|count| *count > 0);
            }
            names::CONTINUATION => self.continuation = header.non_empty()?,
            names::CONTINUATION_LIMIT_KB => {
                self.continuation_limit_kb = Some(continuation_limit(header.text()?)?);
            }
            names::CHANGE_FEED_WIRE_FORMAT => self.change_feed_envelopes = true,
            names::OFFER_THROUGHPUT => {
                let units = header.parsed(|text| text.trim().parse().ok())?;
                self.offer.set_throughput(Throughput::manual(units)?)?;
            }
            names::OFFER_AUTOSCALE => {
                let settings = header.parsed(|text| orrery_json::parse(text.as_bytes()).ok())?;
                self.offer
                    .set_throughput(Throughput::from_autoscale_settings(&settings)?)?;
            }
            names::MIGRATE_TO_AUTOSCALE if header.flag() => {
                self.offer.set_migration(ThroughputMigration::ToAutoscale)?;
            }
            names::MIGRATE_TO_MANUAL if header.flag() => {
                self.offer.set_migration(ThroughputMigration::ToManual)?;
            }
            names::POPULATE_QUOTA => self.populate_quota = header.flag(),
            names::POPULATE_STATISTICS => self.populate_statistics = header.flag(),
            names::INTENDED_COLLECTION_RID => self.intended_container_rid = header.non_empty()?,
            names::PRIORITY_LEVEL => self.priority = Some(header.parsed(parse_priority)?),
            names::THROUGHPUT_BUCKET => {
                let bucket = header.parsed(|text| {
                    text.trim()
                        .parse()
                        .ok()
                        // The valid numbers are 1 to 5. A number without a definition is valid too.
                        .filter(|bucket| (1..=5).contains(bucket))
                })?;
                self.throughput_bucket = Some(bucket);
            }
            names::PRE_TRIGGER_INCLUDE => self.pre_triggers = names_in(header.text()?),
            names::POST_TRIGGER_INCLUDE => self.post_triggers = names_in(header.text()?),
            names::SCRIPT_ENABLE_LOGGING => self.script_logging = header.flag(),
            names::EXPIRY_SECONDS => {
                self.token_expiry_seconds = Some(header.parsed(|text| text.trim().parse().ok())?);
            }
            names::IS_BATCH => self.batch.is_batch = header.flag(),
            names::BATCH_ATOMIC => self.batch.atomic = header.flag(),
            names::BATCH_ORDERED => self.batch.ordered = header.flag(),
            names::BATCH_CONTINUE_ON_ERROR => self.batch.continue_on_error = header.flag(),
            _ => self.take_query(header)?,
        }
        Ok(())
    }

    /// Reads a header of a query.
    fn take_query(&mut self, header: &Header<'a, '_>) -> Result<(), Failure> {
        let query = &mut self.query;
        match header.name {
            // SDKs use one of two names for this flag, and either one makes the request a query.
            names::IS_QUERY | names::IS_QUERY_GO => query.is_query |= header.flag(),
            names::IS_QUERY_PLAN => query.is_plan = header.flag(),
            names::ENABLE_CROSS_PARTITION => query.enable_cross_partition = header.flag(),
            names::PARALLELIZE_CROSS_PARTITION => query.parallelize = header.flag(),
            names::OPTIMISTIC_DIRECT_EXECUTE => query.optimistic_direct = header.flag(),
            names::ENABLE_SCAN => query.enable_scan = header.flag(),
            names::POPULATE_QUERY_METRICS => query.populate_metrics = header.flag(),
            names::INDEX_METRICS if header.flag() => {
                query.index_metrics.get_or_insert(IndexMetricsForm::Base64);
            }
            // An SDK that sends both headers reads the newer form.
            names::INDEX_METRICS_V2 if header.flag() => {
                query.index_metrics = Some(IndexMetricsForm::Percent);
            }
            names::SUPPORTED_QUERY_FEATURES => query.supported_features = Some(header.text()?),
            names::QUERY_VERSION => query.version = Some(header.text()?),
            _ => {}
        }
        Ok(())
    }

    /// The kind of a `POST` to a feed. The first kind that applies counts.
    pub fn feed_post(&self) -> FeedPost {
        let is_query_body = self.content_type.is_some_and(|content_type| {
            let media_type = content_type.split(';').next().unwrap_or_default().trim();
            media_type.eq_ignore_ascii_case("application/query+json")
        });
        if self.query.is_plan {
            FeedPost::QueryPlan
        } else if self.batch.is_batch {
            FeedPost::Batch
        } else if self.query.is_query || is_query_body {
            FeedPost::Query
        } else if self.is_upsert {
            FeedPost::Upsert
        } else {
            FeedPost::Create
        }
    }

    /// Takes the part of a container that the request names out of the headers. Afterwards the
    /// headers name no part: only the code that authorizes the request may have it.
    pub fn take_selection(&mut self) -> Selection<'a> {
        std::mem::take(&mut self.selection)
    }

    /// Whether the client uses a version in which a container needs no partition key.
    pub fn predates_partition_keys(&self) -> bool {
        self.version.is_some_and(|version| version < KEY_VERSION)
    }

    /// The consistency level of a read: the level of the request, which must not be stronger than
    /// that of the account.
    pub fn effective_consistency(
        &self,
        account: ConsistencyLevel,
    ) -> Result<ConsistencyLevel, Failure> {
        if let Some(strategy) = self.strategy {
            return strategy.level(account);
        }
        let level = self.consistency.unwrap_or(account);
        if level.is_stronger_than(account) {
            return Err(Failure::BadRequest(format!(
                "ConsistencyLevel {} specified in the request is invalid when service is \
                 configured with consistency level {}. Ensure the request consistency level is not \
                 stronger than the service consistency level.",
                level.name(),
                account.name()
            )));
        }
        Ok(level)
    }

    /// Refuses a client that has cached another container of this name.
    pub fn check_intended_container(&self, current: ContainerRid) -> Result<(), Failure> {
        let matches = |text: &str| ContainerRid::parse(text).is_ok_and(|rid| rid == current);
        match self.intended_container_rid {
            Some(text) if !matches(text) => Err(Failure::ContainerRidMismatch),
            _ => Ok(()),
        }
    }

    /// The lifetime of tokens made for this request.
    pub fn token_lifetime_seconds(&self) -> Result<u64, Failure> {
        let seconds = self
            .token_expiry_seconds
            .unwrap_or(limits::RESOURCE_TOKEN_SECONDS_DEFAULT);
        let range = limits::RESOURCE_TOKEN_SECONDS_MIN..=limits::RESOURCE_TOKEN_SECONDS_MAX;
        if range.contains(&seconds) {
            Ok(seconds)
        } else {
            Err(invalid_value(names::EXPIRY_SECONDS, &seconds.to_string()))
        }
    }

    pub fn if_match(&self) -> Option<Precondition> {
        self.if_match.and_then(precondition)
    }

    pub fn if_none_match(&self) -> Option<Precondition> {
        self.if_none_match.and_then(precondition)
    }
}

impl ChangeFeedMode {
    fn parse(text: &str) -> Option<ChangeFeedMode> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("incremental feed") {
            Some(ChangeFeedMode::LatestVersion)
        } else if text.eq_ignore_ascii_case("full-fidelity feed") {
            Some(ChangeFeedMode::AllVersionsAndDeletes)
        } else {
            None
        }
    }
}

fn parse_priority(text: &str) -> Option<PriorityLevel> {
    match text.trim() {
        text if text.eq_ignore_ascii_case("high") => Some(PriorityLevel::High),
        text if text.eq_ignore_ascii_case("low") => Some(PriorityLevel::Low),
        _ => None,
    }
}

/// A list separated by commas. SDKs may also send an empty list.
fn names_in(text: &str) -> Vec<&str> {
    let names = text.split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).collect()
}

fn precondition(text: &str) -> Option<Precondition> {
    match text.trim() {
        "" => None,
        "*" => Some(Precondition::Any),
        etag => Some(Precondition::Etag(etag.to_owned())),
    }
}

pub(crate) fn parse_indexing_directive(text: &str) -> Option<IndexingDirective> {
    match text.trim() {
        text if text.eq_ignore_ascii_case("default") => Some(IndexingDirective::Default),
        text if text.eq_ignore_ascii_case("include") => Some(IndexingDirective::Include),
        text if text.eq_ignore_ascii_case("exclude") => Some(IndexingDirective::Exclude),
        // The Python SDK writes the numbers of its constants.
        "0" => Some(IndexingDirective::Default),
        "1" => Some(IndexingDirective::Exclude),
        "2" => Some(IndexingDirective::Include),
        _ => None,
    }
}

/// The limit on items. Zero lets the server choose.
fn max_item_count(text: &str) -> Option<usize> {
    match text.trim().parse::<i32>().ok()? {
        -1 => Some(0),
        count => usize::try_from(count).ok(),
    }
}

fn continuation_limit(text: &str) -> Result<usize, Failure> {
    text.trim().parse().ok().filter(|kilobytes| *kilobytes > 0).ok_or_else(|| {
        Failure::bad_request(
            "Please pass in a valid continuation token size limit which must be a positive integer",
        )
    })
}

#[cfg(test)]
mod tests;
