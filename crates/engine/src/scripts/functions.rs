//! Prepares user-defined functions for calls from a page of a query.

use std::cell::RefCell;
use std::sync::Arc;

use orrery_exec::{UserFunctionError, UserFunctions};
use orrery_json::Value;
use orrery_memory::MemoryShare;
use orrery_model::{ContainerAddress, Failure, ScriptKind};
use orrery_partition::Container;
use orrery_script::{FunctionSession, ScriptError};

use super::failure::script_failure;
use crate::Engine;

/// The opened functions of one page.
pub(crate) struct FunctionCalls(RefCell<FunctionSession>);

impl Engine {
    /// The names of a container's user-defined functions, if the query text can call one. A text
    /// without `udf` skips the catalogue lookup.
    pub(crate) fn function_names(&self, text: &str, container: &Container) -> Vec<String> {
        let mut words = text.as_bytes().windows(3);
        if !words.any(|word| word.eq_ignore_ascii_case(b"udf")) {
            return Vec::new();
        }
        let catalogue = self.catalogue();
        let Ok((_, entry)) = catalogue.container(ContainerAddress::Rid(container.rid)) else {
            return Vec::new();
        };
        let functions = entry.scripts.of_kind(ScriptKind::Function);
        functions.map(|script| script.id.clone()).collect()
    }

    /// Opens the functions that a query calls, in the numbering of its program. Their memory is
    /// borrowed from `share`.
    pub(crate) fn open_functions(
        &self,
        container: &Container,
        names: &[String],
        share: &MemoryShare,
    ) -> Result<FunctionCalls, Failure> {
        let catalogue = self.catalogue();
        let (_, entry) = catalogue.container(ContainerAddress::Rid(container.rid))?;
        let sources = names.iter().map(|name| {
            let script = entry.scripts.get(ScriptKind::Function, name);
            let script = script.ok_or_else(|| {
                Failure::bad_request(format!(
                    "The user-defined function '{name}' does not exist in this container."
                ))
            })?;
            Ok(Arc::from(script.body.as_str()))
        });
        let sources: Vec<Arc<str>> = sources.collect::<Result<_, Failure>>()?;
        let session = FunctionSession::open(self.script_runtime()?, &sources, share);
        let session = session.map_err(|error| script_failure(&error))?;
        Ok(FunctionCalls(RefCell::new(session)))
    }
}

impl UserFunctions for FunctionCalls {
    fn call(&self, function: usize, arguments: &[Value]) -> Result<Value, UserFunctionError> {
        let mut session = self.0.borrow_mut();
        // The page has its own time limit. The session's limit serves to stop a call that does not
        // end, so each call gets the full limit.
        session.restart_budget();
        let result = session.call(function, arguments);
        result.map_err(|error| match error {
            ScriptError::TimedOut => UserFunctionError::OutOfTime,
            ScriptError::Memory(exhausted) => UserFunctionError::Exhausted(exhausted),
            other => UserFunctionError::Failed {
                message: other.to_string(),
                number: other.substatus(),
            },
        })
    }
}
