//! Writes with triggers: before and after the write, in one transaction with it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orrery_json::write_value;
use orrery_keys::PartitionKey;
use orrery_model::{
    Answer, ContainerAddress, Document, Failure, Operation, OperationKind, OperationOutcome,
    Script, ScriptKind, TriggerOperation, TriggerTiming,
};
use orrery_partition::Container;
use orrery_script::{Job, JobKind, PostResponse};

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
}

impl Triggers {
    pub fn is_empty(&self) -> bool {
        self.pre.is_empty() && self.post.is_empty()
    }
}

/// The scripts behind the names.
struct Resolved {
    pre: Vec<Arc<str>>,
    post: Vec<Arc<str>>,
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
    ) -> Answer<OperationOutcome> {
        let terms = terms.into();
        if triggers.is_empty() {
            return self.write_item(container, key, operation, terms).await;
        }
        if let Err(failure) = check_key(container, &key) {
            return Answer::refused(failure);
        }
        let kind = script_operation(&operation.kind);
        let resolved = match self.resolve(container, triggers, kind) {
            Ok(resolved) => resolved,
            Err(failure) => return Answer::refused(failure),
        };
        let mut runs = match Runs::begin(self, container, key, terms).await {
            Ok(runs) => runs,
            Err(failure) => return Answer::refused(failure),
        };
        while let Some(host) = runs.next() {
            let run = self.triggered(host, operation.clone(), kind, &resolved);
            let finished = match run.await {
                Ok(finished) => finished,
                Err(failure) => return Answer::refused(failure),
            };
            if let Some(answer) = runs.end(finished).await {
                return answer;
            }
        }
        runs.give_up()
    }

    async fn triggered(
        &self,
        host: ScriptHost,
        mut operation: Operation,
        kind: orrery_script::TriggerOperation,
        triggers: &Resolved,
    ) -> Result<Finished<OperationOutcome>, Failure> {
        let mut finished = Finished {
            host,
            result: Err(Failure::FailedDependency),
            own_time: Duration::ZERO,
            direct: orrery_model::Charge::ZERO,
        };
        for source in &triggers.pre {
            let job = JobKind::PreTrigger {
                operation: kind,
                body: body_text(&operation.kind),
            };
            let outcome = match self.run_trigger(source, job, &mut finished).await? {
                Ok(outcome) => outcome,
                Err(failure) => return Ok(finished.with(Err(failure))),
            };
            if let Some(body) = outcome.request_body {
                let document = Document::from_value(body);
                match document.map(|document| with_document(&mut operation.kind, document)) {
                    Ok(()) => {}
                    Err(failure) => return Ok(finished.with(Err(failure))),
                }
            }
        }
        let request_body = body_text(&operation.kind);
        let mut outcome = match finished.host.direct(operation) {
            Ok(outcome) => outcome,
            Err(failure) => return Ok(finished.with(Err(failure))),
        };
        finished.direct = outcome.charge;
        for source in &triggers.post {
            let job = JobKind::PostTrigger {
                operation: kind,
                body: request_body.clone(),
                response: PostResponse {
                    body: outcome.body.as_ref().map(|body| body.to_vec()),
                    ..PostResponse::default()
                },
            };
            match self.run_trigger(source, job, &mut finished).await? {
                Ok(response) => {
                    if let Some(body) = response.body {
                        outcome.body = Some(Bytes::from(body));
                    }
                }
                Err(failure) => return Ok(finished.with(Err(failure))),
            }
        }
        Ok(finished.with(Ok(outcome)))
    }

    async fn run_trigger(
        &self,
        source: &Arc<str>,
        kind: JobKind,
        finished: &mut Finished<OperationOutcome>,
    ) -> Result<Result<orrery_script::ScriptOutcome, Failure>, Failure> {
        let job = Job {
            source: Arc::clone(source),
            kind,
            headers: Vec::new(),
            logging: false,
        };
        let host = finished.host.lend();
        let before = host.time();
        let (host, result) = self.run_script(job, host).await?;
        let in_host = host.time().saturating_sub(before);
        finished.host = host;
        if let Ok(outcome) = &result {
            finished.own_time += outcome.elapsed.saturating_sub(in_host);
        }
        Ok(result.map_err(|error| script_failure(&error)))
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
                Ok(Arc::from(script.body.as_str()))
            });
            found.collect::<Result<Vec<_>, Failure>>()
        };
        Ok(Resolved {
            pre: find(&triggers.pre, TriggerTiming::Pre)?,
            post: find(&triggers.post, TriggerTiming::Post)?,
        })
    }
}

impl<T> Finished<T> {
    fn with(self, result: Result<T, Failure>) -> Finished<T> {
        Finished { result, ..self }
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
