//! Registers scripts: create, upsert, replace, delete, list.

use std::sync::Arc;

use orrery_keys::ChildRid;
use orrery_model::{
    ConflictKind, ContainerAddress, Failure, Precondition, Script, ScriptKind, TriggerSettings,
    check_resource_id,
};

use crate::catalogue::{Catalogue, ContainerEntry};
use crate::databases::check_match;
use crate::{Engine, catalogue_rows};

/// The settings of a script that is created or replaced. The body is compiled at its first run, not
/// here.
#[derive(Debug, Clone)]
pub struct NewScript {
    pub id: String,
    pub body: String,
    /// Present for triggers only.
    pub trigger: Option<TriggerSettings>,
}

impl Engine {
    /// Finds a script by the last segment of its path: its id, or its resource id if the container
    /// is addressed by resource id.
    pub fn script(
        &self,
        container: ContainerAddress<'_>,
        kind: ScriptKind,
        segment: &str,
    ) -> Result<Arc<Script>, Failure> {
        let catalogue = self.catalogue();
        let (_, entry) = catalogue.container(container).map_err(owner)?;
        entry.scripts.find(container, kind, segment).cloned()
    }

    /// The scripts of one kind, ordered by id.
    pub fn scripts(
        &self,
        container: ContainerAddress<'_>,
        kind: ScriptKind,
    ) -> Result<Vec<Arc<Script>>, Failure> {
        let catalogue = self.catalogue();
        let (_, entry) = catalogue.container(container).map_err(owner)?;
        Ok(entry.scripts.of_kind(kind).cloned().collect())
    }

    pub async fn create_script(
        &self,
        container: ContainerAddress<'_>,
        kind: ScriptKind,
        new: NewScript,
    ) -> Result<Arc<Script>, Failure> {
        check(kind, &new)?;
        self.change_catalogue(|catalogue, changes| {
            let (database, entry) = found(catalogue, container)?;
            if entry.scripts.get(kind, &new.id).is_some() {
                return Err(Failure::Conflict(ConflictKind::Id));
            }
            check_count(kind, &entry)?;
            let rid = catalogue.next_script(entry.container.rid, kind);
            let written = ScriptWrite { rid, kind, new };
            Ok(self.put_script(catalogue, changes, &database, &entry, None, written))
        })
        .await
    }

    /// Creates or replaces a script; also returns whether the script is new.
    pub async fn upsert_script(
        &self,
        container: ContainerAddress<'_>,
        kind: ScriptKind,
        new: NewScript,
    ) -> Result<(Arc<Script>, bool), Failure> {
        check(kind, &new)?;
        self.change_catalogue(|catalogue, changes| {
            let (database, entry) = found(catalogue, container)?;
            let old = entry.scripts.get(kind, &new.id).cloned();
            let rid = match &old {
                Some(old) => old.rid,
                None => {
                    check_count(kind, &entry)?;
                    catalogue.next_script(entry.container.rid, kind)
                }
            };
            let written = ScriptWrite { rid, kind, new };
            let script = self.put_script(catalogue, changes, &database, &entry, None, written);
            Ok((script, old.is_none()))
        })
        .await
    }

    /// Replaces a script. The new settings may carry another id.
    pub async fn replace_script(
        &self,
        container: ContainerAddress<'_>,
        kind: ScriptKind,
        segment: &str,
        new: NewScript,
        if_match: Option<&Precondition>,
    ) -> Result<Arc<Script>, Failure> {
        check(kind, &new)?;
        self.change_catalogue(|catalogue, changes| {
            let (database, entry) = found(catalogue, container)?;
            let old = Arc::clone(entry.scripts.find(container, kind, segment)?);
            check_match(if_match, &old.etag)?;
            if old.id != new.id && entry.scripts.get(kind, &new.id).is_some() {
                return Err(Failure::Conflict(ConflictKind::Id));
            }
            let rid = old.rid;
            let written = ScriptWrite { rid, kind, new };
            Ok(self.put_script(catalogue, changes, &database, &entry, Some(&old), written))
        })
        .await
    }

    pub async fn delete_script(
        &self,
        container: ContainerAddress<'_>,
        kind: ScriptKind,
        segment: &str,
        if_match: Option<&Precondition>,
    ) -> Result<Arc<Script>, Failure> {
        self.change_catalogue(|catalogue, changes| {
            let (database, entry) = found(catalogue, container)?;
            let old = Arc::clone(entry.scripts.find(container, kind, segment)?);
            check_match(if_match, &old.etag)?;
            changes.push(catalogue_rows::delete_script(old.rid));
            catalogue.change_scripts(&database, &entry, |scripts| {
                scripts.remove(kind, &old.id);
            });
            Ok(old)
        })
        .await
    }

    fn put_script(
        &self,
        catalogue: &mut Catalogue,
        changes: &mut Vec<catalogue_rows::CatalogueWrite>,
        database: &str,
        entry: &ContainerEntry,
        renamed: Option<&Script>,
        written: ScriptWrite,
    ) -> Arc<Script> {
        let now_seconds = self.now_seconds();
        let ScriptWrite { rid, kind, new } = written;
        let script = Script {
            rid,
            kind,
            id: new.id,
            body: new.body,
            etag: catalogue.next_etag(now_seconds),
            modified_seconds: now_seconds,
            trigger: new.trigger,
        };
        changes.push(catalogue_rows::put_script(&script));
        catalogue.change_scripts(database, entry, |scripts| {
            if let Some(old) = renamed {
                scripts.remove(kind, &old.id);
            }
            scripts.insert(script.clone());
        });
        Arc::new(script)
    }
}

struct ScriptWrite {
    rid: ChildRid,
    kind: ScriptKind,
    new: NewScript,
}

fn check(kind: ScriptKind, new: &NewScript) -> Result<(), Failure> {
    check_resource_id(&new.id)?;
    if new.body.is_empty() {
        return Err(Failure::MissingProperty("body"));
    }
    if kind == ScriptKind::Trigger && new.trigger.is_none() {
        return Err(Failure::MissingProperty("triggerType"));
    }
    Ok(())
}

fn check_count(kind: ScriptKind, entry: &ContainerEntry) -> Result<(), Failure> {
    if entry.scripts.of_kind(kind).count() < kind.count_max() {
        return Ok(());
    }
    let what = match kind {
        ScriptKind::StoredProcedure => "stored procedures",
        ScriptKind::Trigger => "triggers",
        ScriptKind::Function => "user-defined functions",
    };
    Err(Failure::Forbidden(format!(
        "The container has reached its limit of {} {what}. Delete some that are not used.",
        kind.count_max()
    )))
}

fn found(
    catalogue: &Catalogue,
    container: ContainerAddress<'_>,
) -> Result<(String, Arc<ContainerEntry>), Failure> {
    let (database, entry) = catalogue.container(container).map_err(owner)?;
    Ok((database.database.id.clone(), Arc::clone(entry)))
}

fn owner(failure: Failure) -> Failure {
    match failure {
        Failure::NotFound(_) => Failure::OWNER_NOT_FOUND,
        other => other,
    }
}
