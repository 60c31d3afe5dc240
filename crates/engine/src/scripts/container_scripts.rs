//! The scripts of one container, by kind and id.

use std::collections::BTreeMap;
use std::sync::Arc;

use orrery_keys::ChildRid;
use orrery_model::{ContainerAddress, Failure, Script, ScriptKind};

#[derive(Debug, Clone, Default)]
pub struct ContainerScripts(BTreeMap<(ScriptKind, String), Arc<Script>>);

impl ContainerScripts {
    pub fn get(&self, kind: ScriptKind, id: &str) -> Option<&Arc<Script>> {
        self.0.get(&(kind, id.to_owned()))
    }

    /// The scripts of one kind, ordered by id.
    pub fn of_kind(&self, kind: ScriptKind) -> impl Iterator<Item = &Arc<Script>> {
        let from = (kind, String::new());
        let scripts = self.0.range(from..);
        scripts
            .take_while(move |((other, _), _)| *other == kind)
            .map(|(_, script)| script)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Script>> {
        self.0.values()
    }

    /// Finds the script of the last path segment: a resource id if the container is addressed by
    /// resource id, otherwise a name.
    pub fn find(
        &self,
        container: ContainerAddress<'_>,
        kind: ScriptKind,
        segment: &str,
    ) -> Result<&Arc<Script>, Failure> {
        let script = match container {
            ContainerAddress::Name { .. } => self.get(kind, segment),
            ContainerAddress::Rid(_) => {
                let rid = ChildRid::parse(segment);
                let mut scripts = self.of_kind(kind);
                scripts.find(|script| Ok(script.rid) == rid)
            }
        };
        script.ok_or(Failure::NOT_FOUND)
    }

    pub(crate) fn insert(&mut self, script: Script) {
        self.0
            .insert((script.kind, script.id.clone()), Arc::new(script));
    }

    pub(crate) fn remove(&mut self, kind: ScriptKind, id: &str) {
        self.0.remove(&(kind, id.to_owned()));
    }
}
