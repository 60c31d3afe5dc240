//! Writes with triggers: before and after the write, in one transaction with it.

use std::sync::Arc;

use bytes::Bytes;
use orrery_json::write_value;
use orrery_keys::PartitionKey;
use orrery_model::{
    Answer, Charge, ContainerAddress, Document, Failure, Operation, OperationKind,
    OperationOutcome, QUOTA_TEXT, Script, ScriptKind, TriggerOperation, TriggerTiming, usage_text,
};
use orrery_partition::Container;
use orrery_script::{Job, JobKind, PostResponse, ScriptError, ScriptOutcome};

use super::failure::script_failure;
use super::host::ScriptHost;
use super::runs::{Finished, Runs};
use crate::items::check_key;
use crate::{Engine, Terms};

/// The triggers that a request names, in the order in which they run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Triggers {
    pub pre: Vec<String>,
    pub post: Vec<String>,
    /// Whether `console.log` writes.
    pub wants_log: bool,
}

/// What became of a write, and what its triggers logged.
#[derive(Debug)]
pub struct Written {
    pub outcome: OperationOutcome,
    /// If that was asked and there is something.
    pub log: Option<String>,
}

impl Triggers {
    pub fn is_empty(&self) -> bool {
        self.pre.is_empty() && self.post.is_empty()
    }
}

/// The scripts behind the names.
struct Resolved {
    pre: Vec<Arc<Script>>,
    post: Vec<Arc<Script>>,
    wants_log: bool,
}

/// One write with its triggers, as far as it has come.
struct Progress {
    host: ScriptHost,
    direct: Charge,
    log: String,
}

impl Engine {
    /// Carries out one write with its triggers. What a trigger throws undoes all of it.
    pub async fn write_item_with_triggers(
        self: &Arc<Self>,
        container: &Arc<Container>,
        key: PartitionKey,
        operation: Operation,
        triggers: &Triggers,
        terms: impl Into<Terms>,
    ) -> Answer<Written> {
        let terms = terms.into();
        if triggers.is_empty() {
            let answer = self.write_item(container, key, operation, terms).await;
            return answer.map(|outcome| Written { outcome, log: None });
        }
        if let Err(failure) = self.check_writer().and(check_key(container, &key)) {
            return Answer::refused(failure);
        }
        let kind = script_operation(&operation.kind);
        let resolved = match self.resolve(container, triggers, kind) {
            Ok(resolved) => resolved,
            Err(failure) => return Answer::refused(failure),
        };
        let mut runs = match Runs::begin(self, container, key, terms, Charge::ZERO).await {
            Ok(runs) => runs,
            Err(failure) => return Answer::refused(failure),
        };
        while let Some(host) = runs.next() {
            let mut progress = Progress {
                host,
                direct: Charge::ZERO,
                log: String::new(),
            };
            let result = self
                .triggered(&mut progress, operation.clone(), kind, &resolved)
                .await;
            let Progress { host, direct, log } = progress;
            let finished = Finished {
                host,
                direct,
                result: result.map(|outcome| Written {
                    outcome,
                    log: Some(log).filter(|log| !log.is_empty()),
                }),
            };
            if let Some(answer) = runs.end(finished).await {
                return answer;
            }
        }
        runs.give_up()
    }

    async fn triggered(
        &self,
        progress: &mut Progress,
        mut operation: Operation,
        kind: orrery_script::TriggerOperation,
        triggers: &Resolved,
    ) -> Result<OperationOutcome, Failure> {
        for script in &triggers.pre {
            let job = JobKind::PreTrigger {
                operation: kind,
                body: body_text(&operation.kind),
            };
            let outcome = self.run_trigger(script, job, triggers, progress).await?;
            if let Some(body) = outcome.request_body {
                with_document(&mut operation.kind, Document::from_value(body)?);
            }
        }
        let request_body = body_text(&operation.kind);
        let mut outcome = progress.host.direct(operation)?;
        progress.direct = outcome.charge;
        for script in &triggers.post {
            let (documents, kilobytes) = progress.host.usage();
            let job = JobKind::PostTrigger {
                operation: kind,
                body: request_body.clone(),
                response: PostResponse {
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
        &self,
        script: &Script,
        kind: JobKind,
        triggers: &Resolved,
        progress: &mut Progress,
    ) -> Result<ScriptOutcome, Failure> {
        let job = Job {
            source: Arc::from(script.body.as_str()),
            kind,
            headers: Vec::new(),
            logging: triggers.wants_log,
            share: progress.host.share().clone(),
        };
        let host = progress.host.lend();
        let (host, result) = self.run_script(job, host).await?;
        progress.host = host;
        let broke_a_limit = result.as_ref().is_err_and(ScriptError::is_limit);
        self.offenders.note(script, broke_a_limit);
        let outcome = result.map_err(|error| script_failure(&error))?;
        progress.log.push_str(&outcome.log);
        Ok(outcome)
    }

    fn resolve(
        &self,
        container: &Container,
        triggers: &Triggers,
        operation: orrery_script::TriggerOperation,
    ) -> Result<Resolved, Failure> {
        let catalogue = self.catalogue();
        let (_, entry) = catalogue.container(ContainerAddress::Rid(container.rid))?;
        let find = |names: &[String], timing| {
            let found = names.iter().map(|name| {
                let script = entry.scripts.get(ScriptKind::Trigger, name);
                let script = script.ok_or_else(|| unknown(name))?;
                check(script, timing, operation)?;
                self.offenders.check(script)?;
                Ok(Arc::clone(script))
            });
            found.collect::<Result<Vec<_>, Failure>>()
        };
        Ok(Resolved {
            pre: find(&triggers.pre, TriggerTiming::Pre)?,
            post: find(&triggers.post, TriggerTiming::Post)?,
            wants_log: triggers.wants_log,
        })
    }
}

/// The word that triggers know an operation by. A patch is a replace that the server works out.
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
        // There is no body to change.
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
