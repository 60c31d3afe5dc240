//! Scripts from outside: registration, transactions, triggers, functions.

mod bookshop;
mod concurrency;
mod functions;
mod memory_refusals;
mod procedures;
mod registration;
mod restart;
mod timing;
mod triggers;

use std::sync::Arc;

use orrery_engine::{
    Container, NewScript, ProcedureRequest, ProcedureResponse, Script, ScriptKind, TriggerSettings,
};
use orrery_json::Value;
use orrery_model::{ChargedResult, ConsistencyLevel, ContainerAddress, Failure};

use crate::support::{World, json, pk};

/// The logical partition of most tests.
const KEY: &str = r#"["a"]"#;

fn address() -> ContainerAddress<'static> {
    ContainerAddress::Name {
        database: "d",
        container: "c",
    }
}

fn script(id: &str, body: &str) -> NewScript {
    NewScript {
        id: id.to_owned(),
        body: body.to_owned(),
        trigger: None,
    }
}

impl World {
    async fn register(&self, kind: ScriptKind, id: &str, body: &str) -> Arc<Script> {
        let created = self.engine.create_script(address(), kind, script(id, body));
        created.await.unwrap()
    }

    async fn register_trigger(&self, id: &str, timing: &str, operation: &str, body: &str) {
        let new = NewScript {
            trigger: TriggerSettings::read(timing, operation),
            ..script(id, body)
        };
        let created = self
            .engine
            .create_script(address(), ScriptKind::Trigger, new);
        created.await.unwrap();
    }

    async fn execute(
        &self,
        container: &Arc<Container>,
        script: &Script,
        arguments: &str,
    ) -> ChargedResult<ProcedureResponse> {
        let Value::Array(arguments) = json(arguments) else {
            panic!("arguments are an array");
        };
        let request = ProcedureRequest {
            key: pk(KEY),
            arguments,
            budget: ConsistencyLevel::Session.into(),
            wants_log: false,
        };
        self.engine.execute(container, script, request).await
    }

    /// Registers a body and runs it.
    async fn run(&self, container: &Arc<Container>, body: &str) -> Result<Option<String>, Failure> {
        let new = script("run", body);
        let kind = ScriptKind::StoredProcedure;
        let (script, _) = self
            .engine
            .upsert_script(address(), kind, new)
            .await
            .unwrap();
        let answer = self.execute(container, &script, "[]").await;
        answer.result.map(|executed| executed.body)
    }
}
