//! A procedure whose record also settles a conflict.

use std::sync::Arc;

use bytes::Bytes;
use orrery_json::Value;
use orrery_keys::PartitionKey;
use orrery_model::{Charge, Failure, Script};
use orrery_partition::Container;
use orrery_script::{Job, JobKind};

use super::failure::script_failure;
use super::runs::{Finished, Runs};
use crate::{Engine, Terms};

impl Engine {
    /// Runs a procedure and commits what it wrote along with the decision about an item. `arguments`
    /// is asked when the run watches its logical partition; if there are none, nothing is left to
    /// decide.
    pub(crate) async fn settle_by_script(
        self: &Arc<Self>,
        container: &Arc<Container>,
        script: &Script,
        key: PartitionKey,
        terms: Terms,
        item: &Bytes,
        arguments: impl Fn() -> Result<Option<Vec<Value>>, Failure>,
    ) -> Result<Charge, Failure> {
        let begun = Runs::begin(self, container, key, terms, Charge::ZERO);
        let mut runs = begun.await?;
        while let Some(mut host) = runs.next() {
            host.settles(item.clone())?;
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
            let finished = Finished {
                host,
                result: result.map(|_| ()).map_err(|error| script_failure(&error)),
                direct: Charge::ZERO,
            };
            if let Some(answer) = runs.end(finished).await {
                return answer.result.map(|()| answer.charge);
            }
        }
        Err(Failure::RetryWith)
    }
}
