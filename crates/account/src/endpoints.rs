//! What regions send each other besides records.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use orrery_model::Secret;
use tokio::sync::watch;

/// After this long without another problem report a region counts as healthy; a failed region
/// reports its problem every second.
const PROBLEM_AGE: Duration = Duration::from_secs(3);

/// The URLs, failures and secret of an account, as far as this process has heard of them.
#[derive(Default)]
pub(crate) struct Endpoints {
    /// The URL at which clients reach each region, by region name.
    urls: RwLock<BTreeMap<String, String>>,
    /// Failures that stopped the replication of a region, each with the time of its report.
    problems: RwLock<BTreeMap<String, (String, Instant)>>,
    /// The secret that signs resource tokens.
    pub(crate) token_secret: watch::Sender<Option<Secret>>,
}

impl Endpoints {
    pub(crate) fn set(&self, region: &str, url: &str) {
        let mut known = self.urls.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(region.to_owned(), url.to_owned());
    }

    pub(crate) fn set_problem(&self, region: &str, cause: String) {
        let problems = self.problems.write();
        let mut problems = problems.unwrap_or_else(PoisonError::into_inner);
        problems.insert(region.to_owned(), (cause, Instant::now()));
    }

    /// Forgets a region's problem after a message from the region, if the region has not repeated
    /// the problem for a while. A silent region retains its problem.
    pub(crate) fn forget_problem(&self, region: &str) {
        let problems = self.problems.write();
        let mut problems = problems.unwrap_or_else(PoisonError::into_inner);
        let is_old = |(_, at): &(String, Instant)| at.elapsed() >= PROBLEM_AGE;
        if problems.get(region).is_some_and(is_old) {
            problems.remove(region);
        }
    }

    /// The problem that a region last reported.
    pub(crate) fn problem(&self, region: &str) -> Option<String> {
        let problems = self.problems.read();
        let problems = problems.unwrap_or_else(PoisonError::into_inner);
        problems.get(region).map(|(cause, _)| cause.clone())
    }

    pub(crate) fn set_token_secret(&self, secret: Secret) {
        self.token_secret.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(&secret);
            *known = Some(secret);
            is_new
        });
    }

    pub(crate) fn get(&self, region: &str) -> Option<String> {
        let known = self.urls.read().unwrap_or_else(PoisonError::into_inner);
        known.get(region).cloned()
    }
}
