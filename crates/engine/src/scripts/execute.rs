//! Stored procedures.

use std::sync::Arc;

use orrery_json::Value;
use orrery_keys::PartitionKey;
use orrery_model::{Answer, Charge, ContainerAddress, Failure, Script, ScriptKind};
use orrery_partition::Container;
use orrery_script::{Job, JobKind, ScriptError, ScriptOutcome};
use tokio::sync::oneshot;

use super::failure::script_failure;
use super::host::ScriptHost;
use super::runs::{Finished, Runs};
use crate::engine::stopping;
use crate::items::check_key;
use crate::{Engine, Terms};

#[derive(Debug, Clone)]
pub struct ProcedureRequest {
    pub key: PartitionKey,
    pub arguments: Vec<Value>,
    pub terms: Terms,
    /// Whether `console.log` writes.
    pub wants_log: bool,
}

/// What a stored procedure came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Executed {
    /// JSON text of the response body, if the procedure set it.
    pub body: Option<String>,
    /// What it logged, if that was asked and there is something.
    pub log: Option<String>,
}

impl Engine {
    /// Runs a stored procedure on one logical partition: all its writes are committed, or none.
    ///
    /// A run that another writer overtook is run again. Whoever stops waiting before the commit is
    /// queued leaves nothing behind.
    pub async fn execute(
        self: &Arc<Self>,
        container: &Arc<Container>,
        script: &Script,
        request: ProcedureRequest,
    ) -> Answer<Executed> {
        if let Err(failure) = self.check_writer().and(check_key(container, &request.key)) {
            return Answer::refused(failure);
        }
        if script.kind != ScriptKind::StoredProcedure {
            return Answer::refused(Failure::NOT_FOUND);
        }
        if let Err(failure) = self.offenders.check(script) {
            return Answer::refused(failure);
        }
        let job = Job {
            source: Arc::from(script.body.as_str()),
            kind: JobKind::Procedure {
                arguments: request.arguments.into(),
            },
            headers: Vec::new(),
            logging: request.wants_log,
            share: request.terms.share.clone(),
        };
        let wants_log = request.wants_log;
        let price = self.reservations.expected(script);
        let begun = Runs::begin(self, container, request.key, request.terms, price);
        let mut runs = match begun.await {
            Ok(runs) => runs,
            Err(failure) => return Answer::refused(failure),
        };
        while let Some(host) = runs.next() {
            let (host, result) = match self.run_script(job.clone(), host).await {
                Ok(ended) => ended,
                Err(failure) => return Answer::refused(failure),
            };
            let broke_a_limit = result.as_ref().is_err_and(ScriptError::is_limit);
            self.offenders.note(script, broke_a_limit);
            let executed = result.map(|outcome| Executed {
                body: outcome.body,
                log: Some(outcome.log).filter(|log| wants_log && !log.is_empty()),
            });
            let finished = Finished {
                host,
                result: executed.map_err(|error| script_failure(&error)),
                direct: Charge::ZERO,
            };
            if let Some(answer) = runs.end(finished).await {
                self.reservations.note(script, answer.charge);
                return answer;
            }
        }
        runs.give_up()
    }

    /// Runs one script on a thread of the runtime. The host comes back with what it gathered.
    pub(super) async fn run_script(
        &self,
        job: Job,
        host: ScriptHost,
    ) -> Result<(ScriptHost, Result<ScriptOutcome, ScriptError>), Failure> {
        let (reply, answer) = oneshot::channel();
        self.script_runtime()?
            .submit(job, host, move |host, result| {
                // Whoever does not wait any more has dropped what the script did.
                drop(reply.send((host, result)));
            });
        let (mut host, result) = answer.await.map_err(|_| stopping())?;
        if result == Err(ScriptError::TimedOut) {
            host.ran_at_least(self.script_options.wall_time);
        }
        Ok((host, result))
    }

    /// `dbs/{name}/colls/{name}`
    pub(super) fn alt_link(&self, container: &Container) -> Result<String, Failure> {
        let catalogue = self.catalogue();
        let (database, _) = catalogue.container(ContainerAddress::Rid(container.rid))?;
        let (database, id) = (&database.database.id, &container.definition.id);
        Ok(format!("dbs/{database}/colls/{id}"))
    }
}
