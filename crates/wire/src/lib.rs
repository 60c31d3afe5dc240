//! The REST protocol: paths, headers, bodies, status table, tokens.
//!
//! This crate turns the HTTP messages of the protocol into the plain types of `model` and back.
//! Only this crate knows header names, status numbers and protocol JSON. It does no I/O and reads
//! no clock: callers pass the time.

mod addresses;
mod auth;
mod batch;
mod body;
mod headers;
mod http_date;
mod offer_headers;
mod patch;
mod path;
mod percent;
mod query_report;
mod replica_path;
mod session_token;
mod status;

pub use addresses::{AddressesQuery, addresses_body};
pub use auth::{
    Action, Credential, Grant, GrantTarget, GrantedItems, Signature, SignedRequest, Signer,
    SigningKeys, TokenAction, TokenKey, TokenSecret, check_role, token_forbidden, verify_entra,
};
pub use batch::{
    BatchEncoding, BatchOperation, BatchRequest, BatchResult, batch_status, operation_status_code,
};
pub use body::{
    AccountDescription, CHANGED_ITEM_BYTES, ChangeDescription, ChangeEvent, ChangeOperation,
    ConflictDescription, ContainerSystem, FeedKind, FeedWriter, HotKeyDescription, LoggedRequest,
    PartitionDescription, PartitionKeyRangeDescription, PartitionsDescription, PermissionRequest,
    QueryBody, RangeStatistics, RegionLocation, RepartitioningRequest, ResumeFilter, ScriptRequest,
    SplitAt, Staleness, change_envelope, conflict_body, container_body, container_self_link,
    database_body, database_self_link, feed_body, parse_arguments, parse_body, parse_id_body,
    partition_key_range_body, permission_body, request_log_body, script_body, user_body,
    without_excluded_properties, write_changed_item,
};
pub use headers::{
    BatchFlags, ChangeFeedMode, ContainerUsage, FeedPost, Owner, OwnerHeaders, QueryFlags,
    ReadStrategy, RequestHeaders, ResponseHeaders, SdkCapabilities, Selection, names,
};
pub use http_date::HttpDate;
pub use offer_headers::OfferHeaders;
pub use patch::parse_patch;
pub use path::{RequestPath, Resource};
pub use percent::{decode as decode_percent, encode_component};
pub use query_report::{
    IndexMetrics, IndexMetricsForm, PlanCounts, PlanEstimate, PlanTimes, QueryMetrics,
    QueryPlanReport,
};
pub use replica_path::ReplicaPath;
pub use session_token::{
    SessionPart, SessionPosition, SessionToken, check_session_token, has_reached,
    parse_session_token, session_token,
};
pub use status::{ErrorStatus, error_body};
