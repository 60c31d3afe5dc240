//! Runs a procedure whose record also resolves a conflict.

use std::sync::Arc;

use bytes::Bytes;
use orrery_json::Value;
use orrery_keys::PartitionKey;
use orrery_model::{Charge, Failure, Script};
use orrery_partition::Container;
use orrery_script::{Job, JobKind};

use super::attempts::{FinishedRun, ScriptAttempts};
use super::failure::script_failure;
use crate::{Engine, RequestBudget};

impl Engine {
    /// Runs a procedure and commits its writes together with the decision about an item. The engine
    /// calls `arguments` while the attempt already watches its logical partition; without arguments
    /// the conflict has ended.
    pub(crate) async fn resolve_by_script(
        self: &Arc<Self>,
        container: &Arc<Container>,
        script: &Script,
        key: PartitionKey,
        budget: RequestBudget,
        item: &Bytes,
        arguments: impl Fn() -> Result<Option<Vec<Value>>, Failure>,
    ) -> Result<Charge, Failure> {
        let begun = ScriptAttempts::begin(self, container, key, budget, Charge::ZERO);
        let mut runs = begun.await?;
        while let Some(mut host) = runs.next_attempt() {
            // The watch begins before the arguments are read. A change after that point fails the
            // commit, so the procedure never decides over stale versions.
            host.resolve_conflict_of(item.clone())?;
            let Some(arguments) = arguments()? else {
                return Ok(Charge::ZERO);
            };
            let job = Job {
                source: Arc::from(script.body.as_str()),
                kind: JobKind::Procedure {
                    arguments: arguments.into(),
                },
                headers: Vec::new(),
                logging: false,
                share: host.share().clone(),
            };
            let (host, result) = self.run_script(job, host).await?;
            let finished = FinishedRun {
                host,
                result: result.map(|_| ()).map_err(|error| script_failure(&error)),
                triggering_charge: Charge::ZERO,
            };
            if let Some(answer) = runs.commit_attempt(finished).await {
                return answer.result.map(|()| answer.charge);
            }
        }
        Err(Failure::RetryWith)
    }
}
