//! Creates and deletes databases.

use std::collections::BTreeMap;
use std::sync::Arc;

use orrery_model::{
    ConflictKind, Database, DatabaseAddress, Failure, Precondition, Throughput, check_resource_id,
};

use crate::catalogue::DatabaseEntry;
use crate::offers::new_offer;
use crate::{Engine, catalogue_rows};

impl Engine {
    /// Creates a database. A throughput is shared by the containers without throughput of their
    /// own.
    pub async fn create_database(
        &self,
        id: &str,
        throughput: Option<Throughput>,
    ) -> Result<Database, Failure> {
        check_resource_id(id)?;
        self.check_throughput(throughput)?;
        let now_seconds = self.now_seconds();
        self.change_catalogue(|catalogue, changes| {
            if catalogue.databases.contains_key(id) {
                return Err(Failure::Conflict(ConflictKind::Id));
            }
            let rid = catalogue.next_database();
            let offer = throughput.map(|throughput| {
                let (link, owner) = (format!("dbs/{rid}/"), rid.to_string());
                new_offer(catalogue, changes, link, owner, throughput, now_seconds)
            });
            let database = Database {
                rid,
                id: id.to_owned(),
                etag: catalogue.next_etag(now_seconds),
                modified_seconds: now_seconds,
                offer,
            };
            changes.push(catalogue_rows::put_database(&database));
            catalogue.set_database(DatabaseEntry {
                database: database.clone(),
                containers: BTreeMap::new(),
                users: BTreeMap::new(),
            });
            Ok(database)
        })
        .await
    }

    /// Deletes a database with its containers, users, permissions and offers in one record.
    pub async fn delete_database(
        self: &Arc<Self>,
        address: DatabaseAddress<'_>,
        if_match: Option<&Precondition>,
    ) -> Result<Database, Failure> {
        let entry = self
            .change_catalogue(|catalogue, changes| {
                let entry = Arc::clone(catalogue.database(address)?);
                check_match(if_match, &entry.database.etag)?;
                changes.push(catalogue_rows::delete_database(entry.database.rid));
                let offers = entry
                    .containers
                    .values()
                    .filter_map(|container| container.offer);
                for offer in offers.chain(entry.database.offer) {
                    catalogue.offers.remove(&offer.id());
                    changes.push(catalogue_rows::delete_offer(offer));
                }
                for container in entry.containers.values() {
                    changes.extend(catalogue_rows::delete_container(container));
                }
                for user in entry.users.values() {
                    changes.push(catalogue_rows::delete_user(user.user.rid));
                    for permission in user.permissions.values() {
                        changes.push(catalogue_rows::delete_permission(permission.rid));
                    }
                }
                catalogue.remove_database(&entry.database.id);
                Ok(entry)
            })
            .await?;
        // The purge follows the durable deletion, because purge steps are not in the log.
        let containers = entry
            .containers
            .values()
            .map(|entry| Arc::clone(&entry.container));
        self.purge_deleted(&containers.collect::<Vec<_>>());
        Ok(entry.database.clone())
    }
}

/// Checks `If-Match` against the entity tag of a catalogue resource.
pub(crate) fn check_match(
    if_match: Option<&Precondition>,
    etag: &orrery_model::Etag,
) -> Result<(), Failure> {
    match if_match {
        Some(precondition) if !precondition.matches(etag) => Err(Failure::PreconditionFailed),
        _ => Ok(()),
    }
}
