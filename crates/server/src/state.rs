//! The state that all connections of a server share.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::Instant;

use hyper::header::HeaderValue;
use orrery_account::{Account, Region, StalenessPolicy};
use orrery_model::AccountKeys;
use orrery_wire::{HttpDate, SigningKeys, TokenSecret};

use crate::activity::ActivityIds;
use crate::direct::DirectCounts;
use crate::metrics::Metrics;
use crate::owner_header_cache::OwnerHeaderCache;
use crate::request_log::RequestLog;
use crate::{Governor, QueryPlans, ServerOptions, TlsIdentity};

pub(crate) struct State {
    pub(crate) region: Arc<Region>,
    /// The account with all regions, for reports. It leads nowhere if this region is alone or the
    /// account has ended.
    pub(crate) account: Weak<Account>,
    token_secret: RwLock<Arc<TokenSecret>>,
    pub(crate) advertise: Option<String>,
    pub(crate) bound: StalenessPolicy,
    pub(crate) tls: Option<TlsIdentity>,
    /// The start time of the server, as its answers state it.
    pub(crate) started: HeaderValue,
    pub(crate) activity_ids: ActivityIds,
    pub(crate) owners: OwnerHeaderCache,
    pub(crate) metrics: Metrics,
    pub(crate) request_log: RequestLog,
    pub(crate) hsts: bool,
    pub(crate) query_plans: QueryPlans,
    pub(crate) governor: Governor,
    /// The port for clients in direct mode. Not set while the server has no such listener.
    pub(crate) direct_port: OnceLock<u16>,
    pub(crate) direct_counts: DirectCounts,
    /// Whether only programs on this machine reach the server, so that its metrics need no key.
    is_loopback: AtomicBool,
    // Requests clone the `Arc`, so that new keys do not wait for requests that verify with the old
    // ones.
    keys: RwLock<Arc<SigningKeys>>,
    requests: AtomicU32,
}

impl State {
    pub(crate) fn new(region: Arc<Region>, options: ServerOptions, is_loopback: bool) -> State {
        State {
            started: HeaderValue::from_str(&HttpDate(region.engine().now_seconds()).to_string())
                .expect("a date is visible ASCII"),
            region,
            account: options.account,
            token_secret: RwLock::new(Arc::new(TokenSecret::new(&options.token_secret))),
            advertise: options.advertise,
            bound: options.bound,
            tls: options.tls,
            activity_ids: ActivityIds::new(),
            owners: OwnerHeaderCache::default(),
            metrics: Metrics::default(),
            request_log: RequestLog::new(Instant::now()),
            hsts: options.hsts,
            query_plans: options.query_plans,
            governor: options.governor,
            direct_port: OnceLock::new(),
            direct_counts: DirectCounts::default(),
            is_loopback: AtomicBool::new(is_loopback),
            keys: RwLock::new(Arc::new(SigningKeys::new(&options.keys))),
            requests: AtomicU32::new(0),
        }
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.is_loopback.load(Ordering::Relaxed)
    }

    /// Records that another listener, which other machines can reach, leads to this region too.
    pub(crate) fn reached_from_outside(&self) {
        self.is_loopback.store(false, Ordering::Relaxed);
    }

    pub(crate) fn keys(&self) -> Arc<SigningKeys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_keys(&self, keys: &AccountKeys) {
        let keys = Arc::new(SigningKeys::new(keys));
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    pub(crate) fn token_secret(&self) -> Arc<TokenSecret> {
        let secret = self.token_secret.read();
        Arc::clone(&secret.unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_token_secret(&self, secret: &[u8]) {
        let secret = Arc::new(TokenSecret::new(secret));
        let known = self.token_secret.write();
        *known.unwrap_or_else(PoisonError::into_inner) = secret;
    }

    pub(crate) fn next_request_number(&self) -> u32 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }
}
