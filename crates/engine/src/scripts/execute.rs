//! Executes stored procedures.

use std::sync::Arc;

use orrery_json::Value;
use orrery_keys::PartitionKey;
use orrery_model::{Charge, ChargedResult, ContainerAddress, Failure, Script, ScriptKind};
use orrery_partition::Container;
use orrery_script::{Job, JobKind, ScriptError, ScriptOutcome};
use tokio::sync::oneshot;

use super::attempts::{FinishedRun, ScriptAttempts};
use super::failure::script_failure;
use super::host::ScriptHost;
use crate::engine::stopping_failure;
use crate::items::check_key;
use crate::{Engine, RequestBudget};

#[derive(Debug, Clone)]
pub struct ProcedureRequest {
    pub key: PartitionKey,
    pub arguments: Vec<Value>,
    pub budget: RequestBudget,
    /// Whether the run collects the output of `console.log`.
    pub wants_log: bool,
}

/// The outcome of a stored procedure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcedureResponse {
    /// JSON text of the response body, if the procedure set it.
    pub body: Option<String>,
    /// The log text, if the client asked for it and the script logged something.
    pub log: Option<String>,
}

impl Engine {
    /// Executes a stored procedure on one logical partition, with all its writes in one
    /// transaction.
    ///
    /// An attempt that another writer overtook is repeated. A caller that is cancelled before the
    /// commit is queued leaves no effect.
    pub async fn execute(
        self: &Arc<Self>,
        container: &Arc<Container>,
        script: &Script,
        request: ProcedureRequest,
    ) -> ChargedResult<ProcedureResponse> {
        if let Err(failure) = self.check_writer().and(check_key(container, &request.key)) {
            return ChargedResult::refused(failure);
        }
        if script.kind != ScriptKind::StoredProcedure {
            return ChargedResult::refused(Failure::NOT_FOUND);
        }
        if let Err(failure) = self.script_blocklist.check(script) {
            return ChargedResult::refused(failure);
        }
        let job = Job {
            source: Arc::from(script.body.as_str()),
            kind: JobKind::Procedure {
                arguments: request.arguments.into(),
            },
            headers: Vec::new(),
            logging: request.wants_log,
            share: request.budget.share.clone(),
        };
        let wants_log = request.wants_log;
        let price = self.charge_estimates.expected(script);
        let begun = ScriptAttempts::begin(self, container, request.key, request.budget, price);
        let mut runs = match begun.await {
            Ok(runs) => runs,
            Err(failure) => return ChargedResult::refused(failure),
        };
        while let Some(host) = runs.next_attempt() {
            let (host, result) = match self.run_script(job.clone(), host).await {
                Ok(ended) => ended,
                Err(failure) => return ChargedResult::refused(failure),
            };
            let broke_a_limit = result.as_ref().is_err_and(ScriptError::is_limit);
            // Every attempt is recorded, not only the last one.
            self.script_blocklist.note(script, broke_a_limit);
            let executed = result.map(|outcome| ProcedureResponse {
                body: outcome.body,
                log: Some(outcome.log).filter(|log| wants_log && !log.is_empty()),
            });
            let finished = FinishedRun {
                host,
                result: executed.map_err(|error| script_failure(&error)),
                triggering_charge: Charge::ZERO,
            };
            if let Some(answer) = runs.commit_attempt(finished).await {
                self.charge_estimates.note(script, answer.charge);
                return answer;
            }
        }
        runs.give_up()
    }

    /// Runs one script on a script thread. The host returns with the collected writes and charges.
    pub(super) async fn run_script(
        self: &Arc<Self>,
        job: Job,
        host: ScriptHost,
    ) -> Result<(ScriptHost, Result<ScriptOutcome, ScriptError>), Failure> {
        self.start_script_runtime().await;
        let (reply, answer) = oneshot::channel();
        self.script_runtime()?
            .submit(job, host, move |host, result| {
                // If the caller was cancelled, dropping the host discards the writes of the run.
                drop(reply.send((host, result)));
            });
        let (mut host, result) = answer.await.map_err(|_| stopping_failure())?;
        // An abandoned run is charged for its whole time limit.
        if result == Err(ScriptError::TimedOut) {
            host.ran_at_least(self.script_options.wall_time);
        }
        Ok((host, result))
    }

    /// The name-based link of a container: `dbs/{name}/colls/{name}`.
    pub(super) fn alt_link(&self, container: &Container) -> Result<String, Failure> {
        let catalogue = self.catalogue();
        let (database, _) = catalogue.container(ContainerAddress::Rid(container.rid))?;
        let (database, id) = (&database.database.id, &container.definition.id);
        Ok(format!("dbs/{database}/colls/{id}"))
    }
}
