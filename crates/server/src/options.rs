//! The options of a server at its start.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Weak;

use orrery_account::{Account, StalenessPolicy};
use orrery_model::AccountKeys;

use crate::{Governor, TlsIdentity};

pub struct ServerOptions {
    pub listen: SocketAddr,
    /// The account of the region. It leads nowhere if the region is alone.
    pub account: Weak<Account>,
    /// The endpoint in the account document of a region that is alone; by default the host that the
    /// client used. Several regions know their endpoints.
    pub advertise: Option<String>,
    /// The bound of bounded staleness, for the account document.
    pub bound: StalenessPolicy,
    /// None serves plain HTTP.
    pub tls: Option<TlsIdentity>,
    pub keys: AccountKeys,
    /// The secret that signs resource tokens.
    pub token_secret: Vec<u8>,
    /// Whether answers have the `Strict-Transport-Security` header, which makes browsers use only
    /// TLS for a year.
    pub hsts: bool,
    /// The clients that must carry out a plan for a query over several partition keys.
    pub query_plans: QueryPlans,
    /// The governor of the process, which all of its listeners share.
    pub governor: Governor,
}

/// The clients for which the server refuses a query over several partition keys whose rows need
/// merging. The refusal is 400/1004 with the query plan. Every other client receives all rows of
/// such a query from the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueryPlans {
    /// SDKs that request a plan after such a refusal.
    #[default]
    Sdks,
    /// All clients, as in Cosmos DB.
    Everyone,
    Nobody,
}

const QUERY_PLANS: [(&str, QueryPlans); 3] = [
    ("sdks", QueryPlans::Sdks),
    ("everyone", QueryPlans::Everyone),
    ("nobody", QueryPlans::Nobody),
];

impl FromStr for QueryPlans {
    type Err = String;

    fn from_str(text: &str) -> Result<QueryPlans, String> {
        let mut known = QUERY_PLANS.iter();
        let found = known.find(|(name, _)| *name == text);
        let found = found.map(|(_, whom)| *whom);
        found.ok_or_else(|| format!("'{text}' is not one of sdks, everyone and nobody"))
    }
}

impl fmt::Display for QueryPlans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QueryPlans::Sdks => "sdks",
            QueryPlans::Everyone => "everyone",
            QueryPlans::Nobody => "nobody",
        })
    }
}

/// A certificate chain and its private key.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsMaterial {
    pub certificate_pem: String,
    pub key_pem: String,
}

impl fmt::Debug for TlsMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsMaterial").finish_non_exhaustive()
    }
}
