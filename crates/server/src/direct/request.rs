//! Writes a frame as a request of HTTP: method, path and headers.

use hyper::header::{HeaderName, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Uri, Version};
use orrery_keys::ContainerRid;
use orrery_model::Failure;
use orrery_rntbd::{
    ContextRequest, Malformed, OperationType, RequestHead, RequestToken, ResourceType, Token,
    TokenName as _,
};
use orrery_wire::{ReplicaPath, names};

use super::address::AddressTokens;
use super::replica::ReplicaRequest;

/// The limit on continuation tokens of a client that names none: a token of an answer has at most
/// 65,535 bytes.
const CONTINUATION_LIMIT_KB: &str = "63";

/// What an answer repeats of its request, also the answer to a request that cannot be carried out.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestEcho {
    pub(super) transport_request_id: i64,
    pub(super) activity_id: orrery_rntbd::Guid,
    /// The session token of the client, without the range before its colon.
    pub(super) session_token: Option<String>,
    pub(super) replica: Option<ReplicaPath>,
}

/// A frame in the form of a request of HTTP.
pub(super) struct TranslatedRequest {
    pub(super) parts: Parts,
    pub(super) replica: ReplicaRequest,
    /// Whether the body is the text of a query without JSON around it.
    pub(super) is_plain_query: bool,
}

impl RequestEcho {
    /// Fails if the frame has no number: nobody could tell which request an answer belongs to.
    pub(super) fn of(head: &RequestHead) -> Result<RequestEcho, Malformed> {
        let token = |name| head.tokens.get(name);
        let id = token(RequestToken::TransportRequestId);
        let id = id.ok_or(Malformed::Missing(RequestToken::TransportRequestId.id()))?;
        let text = |name| token(name).and_then(|token: Token<'_>| token.text().ok());
        let session = text(RequestToken::SessionToken).map(|token| {
            let own = token.split(',').next().unwrap_or_default();
            own.rsplit(':').next().unwrap_or_default().to_owned()
        });
        Ok(RequestEcho {
            transport_request_id: id.number()?,
            activity_id: head.activity_id,
            session_token: session.filter(|token| !token.is_empty()),
            replica: text(RequestToken::ReplicaPath).and_then(ReplicaPath::parse),
        })
    }
}

/// Translates a frame. A failure is of the request alone, and its connection goes on.
pub(super) fn translate(
    head: &RequestHead,
    context: &ContextRequest,
    echo: &RequestEcho,
) -> Result<TranslatedRequest, Failure> {
    let resource = ResourceType::of_id(head.resource);
    let operation = OperationType::of_id(head.operation);
    let (Some(resource), Some(operation)) = (resource, operation) else {
        return Err(Failure::BadRequest(format!(
            "The frame has the resource type {} and the operation type {}, which are not known.",
            head.resource, head.operation
        )));
    };
    let method = method_of(operation).ok_or(Failure::MethodNotAllowed)?;
    let replica = echo.replica.ok_or_else(|| {
        Failure::bad_request("The path of the replica is not one that this server gives.")
    })?;
    let mut address = AddressTokens::default();
    let mut container = None;
    let mut headers = HeaderMap::with_capacity(24);
    for token in head.tokens.iter() {
        let Some(name) = RequestToken::of_id(token.id) else {
            continue;
        };
        match name {
            RequestToken::DatabaseName => address.database = Some(text(&token)?),
            RequestToken::CollectionName => address.container = Some(text(&token)?),
            RequestToken::UserName => address.user = Some(text(&token)?),
            RequestToken::DocumentName
            | RequestToken::PermissionName
            | RequestToken::StoredProcedureName
            | RequestToken::TriggerName
            | RequestToken::UserDefinedFunctionName
            | RequestToken::ConflictName => address.child = Some(text(&token)?),
            RequestToken::ResourceId => {
                address.rid = Some(token.bytes().map_err(|_| wrong(&token))?);
            }
            RequestToken::CollectionRid => {
                let rid = text(&token)?;
                let rid = ContainerRid::parse(&rid.replace('/', "-"));
                container = Some(rid.map_err(|_| wrong(&token))?);
            }
            // The clients read resources of the master partition at the strong level, whatever the
            // level of the account is.
            RequestToken::ConsistencyLevel if replica == ReplicaPath::Master => {}
            name => write_header(name, &token, operation, &mut headers)?,
        }
    }
    write_kind(operation, &mut headers);
    write_context(head, context, &mut headers)?;
    // The path of the replica says the range, unless a token selects a part of the container.
    if let ReplicaPath::Range(_, range) = replica
        && selects_items(operation)
        && !headers.contains_key(names::PARTITION_KEY)
        && !headers.contains_key(names::PARTITION_KEY_RANGE_ID)
    {
        headers.insert(names::PARTITION_KEY_RANGE_ID, HeaderValue::from(range.0));
    }
    let path = address.path(resource, operation)?;
    let uri: Uri = path.parse().map_err(|_| {
        Failure::bad_request("One of the input values is invalid. The names are too long.")
    })?;
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = method;
    parts.uri = uri;
    // Like HTTP/2, a connection carries several answers at a time.
    parts.version = Version::HTTP_2;
    parts.headers = headers;
    Ok(TranslatedRequest {
        parts,
        replica: ReplicaRequest {
            path: replica,
            container,
            is_by_name: address.is_by_name(),
        },
        is_plain_query: operation == OperationType::SQLQuery,
    })
}

/// The verb of an operation, which the client has signed. None for operations of the service.
fn method_of(operation: OperationType) -> Option<Method> {
    Some(match operation {
        OperationType::Read | OperationType::ReadFeed => Method::GET,
        OperationType::Create
        | OperationType::Upsert
        | OperationType::Query
        | OperationType::SQLQuery
        | OperationType::Batch
        | OperationType::ExecuteJavaScript => Method::POST,
        OperationType::Replace => Method::PUT,
        OperationType::Patch => Method::PATCH,
        OperationType::Delete => Method::DELETE,
        OperationType::Head | OperationType::HeadFeed => Method::HEAD,
        _ => return None,
    })
}

/// Whether the operation reads or writes the items that tokens select.
fn selects_items(operation: OperationType) -> bool {
    matches!(
        operation,
        OperationType::ReadFeed
            | OperationType::Query
            | OperationType::SQLQuery
            | OperationType::Batch
    )
}

/// Writes the headers that say what a `POST` is. In a frame the operation says it.
fn write_kind(operation: OperationType, headers: &mut HeaderMap) {
    let mut set = |name: &'static str, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    match operation {
        OperationType::Query | OperationType::SQLQuery => {
            set(names::IS_QUERY, "True");
            set(names::ENABLE_CROSS_PARTITION, "True");
        }
        OperationType::Upsert => set(names::IS_UPSERT, "True"),
        OperationType::Batch => set(names::IS_BATCH, "True"),
        _ => {}
    }
    let has_pages = matches!(
        operation,
        OperationType::Query | OperationType::SQLQuery | OperationType::ReadFeed
    );
    if has_pages && !headers.contains_key(names::CONTINUATION_LIMIT_KB) {
        let limit = HeaderValue::from_static(CONTINUATION_LIMIT_KB);
        headers.insert(names::CONTINUATION_LIMIT_KB, limit);
    }
}

/// Writes the headers that the client has sent once for its connection.
fn write_context(
    head: &RequestHead,
    context: &ContextRequest,
    headers: &mut HeaderMap,
) -> Result<(), Failure> {
    let value = |text: &str| {
        HeaderValue::from_str(text)
            .map_err(|_| Failure::bad_request("The context of the connection is not readable."))
    };
    headers.insert(names::VERSION, value(&context.client_version)?);
    if let Ok(agent) = HeaderValue::from_str(&context.user_agent) {
        headers.insert(USER_AGENT, agent);
    }
    headers.insert(names::ACTIVITY_ID, value(&head.activity_id.to_string())?);
    Ok(())
}

/// Writes the header of one token. A token without a header is left out: it is of the service
/// itself, or it says nothing that this server acts on.
fn write_header(
    name: RequestToken,
    token: &Token<'_>,
    operation: OperationType,
    headers: &mut HeaderMap,
) -> Result<(), Failure> {
    let mut set = |header: &'static str, value: &[u8]| {
        let value = HeaderValue::from_bytes(value).map_err(|_| wrong(token))?;
        headers.insert(HeaderName::from_static(header), value);
        Ok::<_, Failure>(())
    };
    if let Some(header) = text_header(name, operation) {
        return set(header, text(token)?.as_bytes());
    }
    if let Some(header) = flag_header(name) {
        let flag = if number(token)? == 0 { "False" } else { "True" };
        return set(header, flag.as_bytes());
    }
    if let Some((header, words)) = word_header(name) {
        let number = number(token)?;
        let word = words.iter().find(|(value, _)| *value == number);
        return match word {
            Some((_, word)) => set(header, word.as_bytes()),
            None => Err(wrong(token)),
        };
    }
    match name {
        RequestToken::PageSize => match number(token)? {
            // -1 in 32 bits without a sign: the server chooses.
            0xFFFF_FFFF => Ok(()),
            size => set(names::MAX_ITEM_COUNT, size.to_string().as_bytes()),
        },
        RequestToken::ResourceTokenExpiry => {
            set(names::EXPIRY_SECONDS, number(token)?.to_string().as_bytes())
        }
        RequestToken::ResponseContinuationTokenLimitInKb => {
            // More does not fit into an answer.
            let limit = number(token)?.min(63);
            set(names::CONTINUATION_LIMIT_KB, limit.to_string().as_bytes())
        }
        RequestToken::ThroughputBucket => set(
            names::THROUGHPUT_BUCKET,
            number(token)?.to_string().as_bytes(),
        ),
        // The bytes are the hexadecimal text of the header.
        RequestToken::StartEpk => set(names::START_EPK, token.bytes().map_err(|_| wrong(token))?),
        RequestToken::EndEpk => set(names::END_EPK, token.bytes().map_err(|_| wrong(token))?),
        _ => Ok(()),
    }
}

/// The header with the same text.
fn text_header(name: RequestToken, operation: OperationType) -> Option<&'static str> {
    Some(match name {
        RequestToken::AuthorizationToken => names::AUTHORIZATION,
        RequestToken::Date => names::X_MS_DATE,
        RequestToken::SessionToken => names::SESSION_TOKEN,
        RequestToken::ContinuationToken => names::CONTINUATION,
        RequestToken::Match => match operation {
            OperationType::Read | OperationType::ReadFeed => names::IF_NONE_MATCH,
            _ => names::IF_MATCH,
        },
        RequestToken::PreTriggerInclude => names::PRE_TRIGGER_INCLUDE,
        RequestToken::PostTriggerInclude => names::POST_TRIGGER_INCLUDE,
        RequestToken::PartitionKey => names::PARTITION_KEY,
        RequestToken::PartitionKeyRangeId => names::PARTITION_KEY_RANGE_ID,
        RequestToken::AIm => names::A_IM,
        RequestToken::IfModifiedSince => names::IF_MODIFIED_SINCE,
        RequestToken::IntendedCollectionRid => names::INTENDED_COLLECTION_RID,
        RequestToken::ChangeFeedWireFormatVersion => names::CHANGE_FEED_WIRE_FORMAT,
        _ => return None,
    })
}

/// The header that is `True` or `False`.
fn flag_header(name: RequestToken) -> Option<&'static str> {
    Some(match name {
        RequestToken::EnableScanInQuery => names::ENABLE_SCAN,
        RequestToken::EnableLogging => names::SCRIPT_ENABLE_LOGGING,
        RequestToken::PopulateQuotaInfo => names::POPULATE_QUOTA,
        RequestToken::PopulateQueryMetrics => names::POPULATE_QUERY_METRICS,
        RequestToken::PopulatePartitionStatistics => names::POPULATE_STATISTICS,
        RequestToken::PopulateIndexMetrics => names::INDEX_METRICS,
        RequestToken::PopulateIndexMetricsV2 => names::INDEX_METRICS_V2,
        RequestToken::ExcludeSystemProperties => names::EXCLUDE_SYSTEM_PROPERTIES,
        RequestToken::IsBatchAtomic => names::BATCH_ATOMIC,
        RequestToken::IsBatchOrdered => names::BATCH_ORDERED,
        RequestToken::ShouldBatchContinueOnError => names::BATCH_CONTINUE_ON_ERROR,
        RequestToken::OptimisticDirectExecute => names::OPTIMISTIC_DIRECT_EXECUTE,
        RequestToken::ShouldProcessOnlyInHubRegion => names::HUB_REGION_ONLY,
        _ => return None,
    })
}

type Words = &'static [(i64, &'static str)];

/// The header whose words a frame has as numbers.
fn word_header(name: RequestToken) -> Option<(&'static str, Words)> {
    Some(match name {
        RequestToken::ConsistencyLevel => (
            names::CONSISTENCY_LEVEL,
            &[
                (0, "Strong"),
                (1, "BoundedStaleness"),
                (2, "Session"),
                (3, "Eventual"),
                (4, "ConsistentPrefix"),
            ],
        ),
        RequestToken::ReadConsistencyStrategy => (
            names::READ_CONSISTENCY_STRATEGY,
            &[
                (1, "Eventual"),
                (2, "Session"),
                (3, "LatestCommitted"),
                (4, "GlobalStrong"),
            ],
        ),
        RequestToken::IndexingDirective => (
            names::INDEXING_DIRECTIVE,
            &[(0, "Default"), (1, "Include"), (2, "Exclude")],
        ),
        RequestToken::ReadFeedKeyType => (
            names::READ_KEY_TYPE,
            &[
                (1, "ResourceId"),
                (2, "EffectivePartitionKey"),
                (3, "EffectivePartitionKeyRange"),
            ],
        ),
        RequestToken::PriorityLevel => (names::PRIORITY_LEVEL, &[(1, "High"), (2, "Low")]),
        RequestToken::ReturnPreference => (
            names::PREFER,
            &[(0, "return=representation"), (1, "return=minimal")],
        ),
        _ => return None,
    })
}

fn text<'t>(token: &Token<'t>) -> Result<&'t str, Failure> {
    token.text().map_err(|_| wrong(token))
}

fn number(token: &Token<'_>) -> Result<i64, Failure> {
    token.number().map_err(|_| wrong(token))
}

fn wrong(token: &Token<'_>) -> Failure {
    let name = RequestToken::of_id(token.id);
    let name = name.map_or_else(|| token.id.to_string(), |name| format!("{name:?}"));
    Failure::BadRequest(format!("The value of the token '{name}' is invalid."))
}
