//! Writes with triggers: the triggers run before and after the write, in one transaction with it.

use std::sync::Arc;

use bytes::Bytes;
use orrery_json::write_value;
use orrery_keys::PartitionKey;
use orrery_model::{
    Charge, ChargedResult, ContainerAddress, Document, Failure, Operation, OperationKind,
    OperationOutcome, QUOTA_TEXT, Script, ScriptKind, TriggerOperation, TriggerTiming, usage_text,
};
use orrery_partition::Container;
use orrery_script::{Job, JobKind, PostTriggerResponse, ScriptError, ScriptOutcome};

use super::attempts::{FinishedRun, ScriptAttempts};
use super::failure::script_failure;
use super::host::ScriptHost;
use crate::items::check_key;
use crate::{Engine, RequestBudget};

/// The trigger names of a request, in their order of execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriggerNames {
    pub pre: Vec<String>,
    pub post: Vec<String>,
    /// Whether the run collects the output of `console.log`.
    pub wants_log: bool,
}

/// The outcome of a write, with the log of its triggers.
#[derive(Debug)]
pub struct TriggeredOutcome {
    pub outcome: OperationOutcome,
    /// The log text, if the client asked for it and a trigger logged something.
    pub log: Option<String>,
}

impl TriggerNames {
    pub fn is_empty(&self) -> bool {
        self.pre.is_empty() && self.post.is_empty()
    }
}

/// The registered scripts of the requested triggers.
struct ResolvedTriggers {
    pre: Vec<Arc<Script>>,
    post: Vec<Arc<Script>>,
    wants_log: bool,
}

/// The progress of one write with its triggers.
struct TriggeredWrite {
    host: ScriptHost,
    triggering_charge: Charge,
    log: String,
}

impl Engine {
    /// Carries out one write with its triggers. An exception in a trigger undoes the whole
    /// transaction.
    pub async fn write_item_with_triggers(
        self: &Arc<Self>,
        container: &Arc<Container>,
        key: PartitionKey,
        operation: Operation,
        triggers: &TriggerNames,
        budget: impl Into<RequestBudget>,
    ) -> ChargedResult<TriggeredOutcome> {
        let budget = budget.into();
        if triggers.is_empty() {
            let answer = self.write_item(container, key, operation, budget).await;
            return answer.map(|outcome| TriggeredOutcome { outcome, log: None });
        }
        if let Err(failure) = self.check_writer().and(check_key(container, &key)) {
            return ChargedResult::refused(failure);
        }
        let kind = script_operation(&operation.kind);
        let resolved = match self.resolve(container, triggers, kind) {
            Ok(resolved) => resolved,
            Err(failure) => return ChargedResult::refused(failure),
        };
        let mut runs = match ScriptAttempts::begin(self, container, key, budget, Charge::ZERO).await
        {
            Ok(runs) => runs,
            Err(failure) => return ChargedResult::refused(failure),
        };
        while let Some(host) = runs.next_attempt() {
            let mut progress = TriggeredWrite {
                host,
                triggering_charge: Charge::ZERO,
                log: String::new(),
            };
            let result = self
                .run_triggers(&mut progress, operation.clone(), kind, &resolved)
                .await;
            let TriggeredWrite {
                host,
                triggering_charge: direct,
                log,
            } = progress;
            let finished = FinishedRun {
                host,
                triggering_charge: direct,
                result: result.map(|outcome| TriggeredOutcome {
                    outcome,
                    log: Some(log).filter(|log| !log.is_empty()),
                }),
            };
            if let Some(answer) = runs.commit_attempt(finished).await {
                return answer;
            }
        }
        runs.give_up()
    }

    async fn run_triggers(
        self: &Arc<Self>,
        progress: &mut TriggeredWrite,
        mut operation: Operation,
        kind: orrery_script::TriggerOperation,
        triggers: &ResolvedTriggers,
    ) -> Result<OperationOutcome, Failure> {
        for script in &triggers.pre {
            let job = JobKind::PreTrigger {
                operation: kind,
                body: body_text(&operation.kind),
            };
            let outcome = self.run_trigger(script, job, triggers, progress).await?;
            // A pre-trigger may replace the document that is written.
            if let Some(body) = outcome.request_body {
                with_document(&mut operation.kind, Document::from_value(body)?);
            }
        }
        // The body is rendered after the pre-triggers, so that post-triggers see the written
        // document.
        let request_body = body_text(&operation.kind);
        let mut outcome = progress.host.execute_triggering_operation(operation)?;
        progress.triggering_charge = outcome.charge;
        for script in &triggers.post {
            let (documents, kilobytes) = progress.host.usage();
            let job = JobKind::PostTrigger {
                operation: kind,
                body: request_body.clone(),
                response: PostTriggerResponse {
                    body: outcome.body.as_ref().map(|body| body.to_vec()),
                    max_resource_quota: QUOTA_TEXT.to_owned(),
                    resource_quota_usage: usage_text(documents, kilobytes),
                },
            };
            let response = self.run_trigger(script, job, triggers, progress).await?;
            if let Some(body) = response.body {
                outcome.body = Some(Bytes::from(body));
            }
        }
        Ok(outcome)
    }

    async fn run_trigger(
        self: &Arc<Self>,
        script: &Script,
        kind: JobKind,
        triggers: &ResolvedTriggers,
        progress: &mut TriggeredWrite,
    ) -> Result<ScriptOutcome, Failure> {
        let job = Job {
            source: Arc::from(script.body.as_str()),
            kind,
            headers: Vec::new(),
            logging: triggers.wants_log,
            share: progress.host.share().clone(),
        };
        // The script thread owns the host during the run; an empty host takes its place meanwhile.
        let host = progress.host.detach();
        let (host, result) = self.run_script(job, host).await?;
        progress.host = host;
        let broke_a_limit = result.as_ref().is_err_and(ScriptError::is_limit);
        self.script_blocklist.note(script, broke_a_limit);
        let outcome = result.map_err(|error| script_failure(&error))?;
        progress.log.push_str(&outcome.log);
        Ok(outcome)
    }

    fn resolve(
        &self,
        container: &Container,
        triggers: &TriggerNames,
        operation: orrery_script::TriggerOperation,
    ) -> Result<ResolvedTriggers, Failure> {
        let catalogue = self.catalogue();
        let (_, entry) = catalogue.container(ContainerAddress::Rid(container.rid))?;
        let find = |names: &[String], timing| {
            let found = names.iter().map(|name| {
                let script = entry.scripts.get(ScriptKind::Trigger, name);
                let script = script.ok_or_else(|| unknown(name))?;
                check(script, timing, operation)?;
                self.script_blocklist.check(script)?;
                Ok(Arc::clone(script))
            });
            found.collect::<Result<Vec<_>, Failure>>()
        };
        Ok(ResolvedTriggers {
            pre: find(&triggers.pre, TriggerTiming::Pre)?,
            post: find(&triggers.post, TriggerTiming::Post)?,
            wants_log: triggers.wants_log,
        })
    }
}

/// The operation name that triggers see. A patch counts as a replace whose document the server
/// computes.
fn script_operation(kind: &OperationKind) -> orrery_script::TriggerOperation {
    use orrery_script::TriggerOperation;
    match kind {
        OperationKind::Create(_) => TriggerOperation::Create,
        OperationKind::Upsert(_) => TriggerOperation::Upsert,
        OperationKind::Replace { .. }
        | OperationKind::Patch { .. }
        | OperationKind::Read { .. } => TriggerOperation::Replace,
        OperationKind::Delete { .. } => TriggerOperation::Delete,
    }
}

fn body_text(kind: &OperationKind) -> Option<Vec<u8>> {
    let document = match kind {
        OperationKind::Create(document)
        | OperationKind::Upsert(document)
        | OperationKind::Replace { document, .. } => document,
        OperationKind::Read { .. } | OperationKind::Patch { .. } | OperationKind::Delete { .. } => {
            return None;
        }
    };
    let mut text = Vec::new();
    write_value(document.value(), &mut text);
    Some(text)
}

fn with_document(kind: &mut OperationKind, changed: Document) {
    match kind {
        OperationKind::Create(document)
        | OperationKind::Upsert(document)
        | OperationKind::Replace { document, .. } => *document = changed,
        // These operations carry no body.
        OperationKind::Read { .. } | OperationKind::Patch { .. } | OperationKind::Delete { .. } => {
        }
    }
}

fn unknown(name: &str) -> Failure {
    Failure::bad_request(format!(
        "One of the input values is invalid. The trigger '{name}' does not exist in this container."
    ))
}

fn check(
    script: &Script,
    timing: TriggerTiming,
    operation: orrery_script::TriggerOperation,
) -> Result<(), Failure> {
    use orrery_script::TriggerOperation as Asked;
    let Some(settings) = &script.trigger else {
        return Err(unknown(&script.id));
    };
    if settings.timing != timing {
        let (is, asked) = match timing {
            TriggerTiming::Pre => ("post-trigger", "pre-trigger"),
            TriggerTiming::Post => ("pre-trigger", "post-trigger"),
        };
        return Err(Failure::bad_request(format!(
            "One of the input values is invalid. The trigger '{}' is a {is} and cannot be used as a {asked}.",
            script.id
        )));
    }
    let fits = match settings.operation {
        TriggerOperation::All => true,
        TriggerOperation::Create => operation == Asked::Create,
        TriggerOperation::Replace => operation == Asked::Replace,
        TriggerOperation::Upsert => operation == Asked::Upsert,
        TriggerOperation::Update => matches!(operation, Asked::Replace | Asked::Upsert),
        TriggerOperation::Delete => operation == Asked::Delete,
    };
    if fits {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "One of the input values is invalid. The trigger '{}' is registered for the operation '{}' and \
         cannot be used for the operation '{}'.",
        script.id,
        settings.operation_text,
        operation.name()
    )))
}
