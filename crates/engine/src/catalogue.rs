//! The catalogue of the account: its databases, containers, users, scripts and offers as one
//! immutable value that readers share.
//!
//! A change builds a new catalogue that shares unchanged entries with the old one. A request that
//! resolved a name keeps a consistent picture until the request ends.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use orrery_keys::{ChildRid, ContainerRid, DatabaseRid, OfferRid, PermissionRid, UserRid};
use orrery_model::{
    ContainerAddress, Database, DatabaseAddress, Etag, Failure, Offer, Permission,
    PermissionAddress, RangeId, ScriptKind, User, UserAddress,
};
use orrery_partition::{Container, Partition};
use orrery_regions::Sequence;

use crate::scripts::ContainerScripts;

/// The catalogue: resources by name, with indexes from resource ids to names.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    pub databases: BTreeMap<String, Arc<DatabaseEntry>>,
    pub offers: BTreeMap<u32, Arc<Offer>>,
    database_names: HashMap<DatabaseRid, String>,
    container_names: HashMap<ContainerRid, (String, String)>,
    pub(crate) id_counters: IdCounters,
    /// In multi-write accounts: the sequence of the account stream record that produced this
    /// catalogue.
    pub(crate) account_sequence: Sequence,
}

/// The highest id of each resource kind. Ids are never reused, because stored keys contain them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IdCounters {
    pub(crate) database: u32,
    pub(crate) container: u32,
    pub(crate) user: u32,
    pub(crate) permission: u64,
    pub(crate) offer: u32,
    pub(crate) script: u64,
    /// Counts catalogue changes. Entity tags of catalogue resources are made of this count.
    pub(crate) change: u64,
}

/// A database with its containers and users.
#[derive(Debug, Clone)]
pub struct DatabaseEntry {
    pub database: Database,
    pub containers: BTreeMap<String, Arc<ContainerEntry>>,
    pub users: BTreeMap<String, Arc<UserEntry>>,
}

/// A container with its scripts and the settings that the store does not need.
#[derive(Debug, Clone)]
pub struct ContainerEntry {
    pub container: Arc<Container>,
    pub etag: Etag,
    pub modified_seconds: u64,
    /// Absent when the container shares the throughput of its database.
    pub offer: Option<OfferRid>,
    pub scripts: Arc<ContainerScripts>,
}

impl ContainerEntry {
    /// The same container with the partitions `made` in place of the partitions `retired`.
    pub(crate) fn with_partitions(
        &self,
        retired: &[RangeId],
        made: Vec<Arc<Partition>>,
    ) -> ContainerEntry {
        let stays = |partition: &&Arc<Partition>| !retired.contains(&partition.id);
        let staying = self.container.partitions.iter().filter(stays).cloned();
        let mut partitions: Vec<_> = staying.chain(made).collect();
        // Routing looks partitions up by their key ranges, so the list must stay in key order.
        partitions.sort_by(|one, other| one.range.min.cmp(&other.range.min));
        ContainerEntry {
            container: Arc::new(self.container.with_partitions(partitions)),
            ..self.clone()
        }
    }
}

/// A user with its permissions.
#[derive(Debug, Clone)]
pub struct UserEntry {
    pub user: User,
    pub permissions: BTreeMap<String, Arc<Permission>>,
}

impl Catalogue {
    pub fn database(&self, address: DatabaseAddress<'_>) -> Result<&Arc<DatabaseEntry>, Failure> {
        let name = match address {
            DatabaseAddress::Name(name) => Some(name),
            DatabaseAddress::Rid(rid) => self.database_names.get(&rid).map(String::as_str),
        };
        name.and_then(|name| self.databases.get(name))
            .ok_or(Failure::NOT_FOUND)
    }

    /// A missing database is reported as a missing owner, a missing container as itself.
    pub fn container(
        &self,
        address: ContainerAddress<'_>,
    ) -> Result<(&Arc<DatabaseEntry>, &Arc<ContainerEntry>), Failure> {
        let (database, container) = match address {
            ContainerAddress::Name {
                database,
                container,
            } => (database, container),
            ContainerAddress::Rid(rid) => {
                let (database, container) =
                    self.container_names.get(&rid).ok_or(Failure::NOT_FOUND)?;
                (database.as_str(), container.as_str())
            }
        };
        let database = self
            .databases
            .get(database)
            .ok_or(Failure::OWNER_NOT_FOUND)?;
        let container = database
            .containers
            .get(container)
            .ok_or(Failure::NOT_FOUND)?;
        Ok((database, container))
    }

    pub fn user(
        &self,
        address: UserAddress<'_>,
    ) -> Result<(&Arc<DatabaseEntry>, &Arc<UserEntry>), Failure> {
        match address {
            UserAddress::Name { database, user } => {
                let database = self
                    .databases
                    .get(database)
                    .ok_or(Failure::OWNER_NOT_FOUND)?;
                Ok((
                    database,
                    database.users.get(user).ok_or(Failure::NOT_FOUND)?,
                ))
            }
            UserAddress::Rid(rid) => {
                let database = self.database(DatabaseAddress::Rid(rid.database()))?;
                let user = database.users.values().find(|entry| entry.user.rid == rid);
                Ok((database, user.ok_or(Failure::NOT_FOUND)?))
            }
        }
    }

    pub fn permission(
        &self,
        address: PermissionAddress<'_>,
    ) -> Result<(&Arc<UserEntry>, &Arc<Permission>), Failure> {
        let (user, permission) = match address {
            PermissionAddress::Name { user, permission } => {
                let (_, user) = self.user(user).map_err(|_| Failure::OWNER_NOT_FOUND)?;
                (user, user.permissions.get(permission))
            }
            PermissionAddress::Rid(rid) => {
                let (_, user) = self.user(UserAddress::Rid(rid.user()))?;
                (
                    user,
                    user.permissions
                        .values()
                        .find(|permission| permission.rid == rid),
                )
            }
        };
        Ok((user, permission.ok_or(Failure::NOT_FOUND)?))
    }

    pub fn offer(&self, rid: OfferRid) -> Result<&Arc<Offer>, Failure> {
        self.offers.get(&rid.id()).ok_or(Failure::NOT_FOUND)
    }

    /// Finds a container by the number under which its documents are stored.
    pub(crate) fn container_by_number(&self, number: u32) -> Option<&Arc<ContainerEntry>> {
        // The linear search serves background work a few times a second; requests resolve by name.
        let containers = self
            .databases
            .values()
            .flat_map(|entry| entry.containers.values());
        containers
            .into_iter()
            .find(|entry| entry.container.rid.id() == number)
    }

    /// Inserts or replaces a database together with its index entry by resource id.
    pub(crate) fn set_database(&mut self, entry: DatabaseEntry) {
        self.database_names
            .insert(entry.database.rid, entry.database.id.clone());
        self.databases
            .insert(entry.database.id.clone(), Arc::new(entry));
    }

    /// Removes a database. The resource ids of its containers must go too, or requests by resource
    /// id would still resolve to them.
    pub(crate) fn remove_database(&mut self, id: &str) {
        if let Some(entry) = self.databases.remove(id) {
            self.database_names.remove(&entry.database.rid);
            for container in entry.containers.values() {
                self.container_names.remove(&container.container.rid);
            }
        }
    }

    pub(crate) fn set_container(&mut self, database: &str, entry: ContainerEntry) {
        let id = entry.container.definition.id.clone();
        self.container_names
            .insert(entry.container.rid, (database.to_owned(), id.clone()));
        self.change_database(database, |database| {
            database.containers.insert(id, Arc::new(entry));
        });
    }

    pub(crate) fn remove_container(&mut self, database: &str, id: &str) {
        let mut removed = None;
        self.change_database(database, |database| {
            removed = database.containers.remove(id);
        });
        if let Some(entry) = removed {
            self.container_names.remove(&entry.container.rid);
        }
    }

    /// Changes the scripts of a container. The container itself keeps its identity, so cached
    /// queries stay valid.
    pub(crate) fn change_scripts(
        &mut self,
        database: &str,
        entry: &ContainerEntry,
        change: impl FnOnce(&mut ContainerScripts),
    ) {
        let mut entry = entry.clone();
        change(Arc::make_mut(&mut entry.scripts));
        self.set_container(database, entry);
    }

    // `make_mut` copies the entry if a reader still shares it, so readers never see a partial
    // change.
    pub(crate) fn change_database(&mut self, id: &str, change: impl FnOnce(&mut DatabaseEntry)) {
        if let Some(entry) = self.databases.get_mut(id) {
            change(Arc::make_mut(entry));
        }
    }

    pub(crate) fn change_user(
        &mut self,
        database: DatabaseRid,
        user: UserRid,
        change: impl FnOnce(&mut UserEntry),
    ) {
        let Some(name) = self.database_names.get(&database).cloned() else {
            return;
        };
        self.change_database(&name, |database| {
            let entry = database
                .users
                .values_mut()
                .find(|entry| entry.user.rid == user);
            if let Some(entry) = entry {
                change(Arc::make_mut(entry));
            }
        });
    }

    /// The entity tag of the present catalogue change. Catalogue tags use a range number that no
    /// partition has.
    pub(crate) fn next_etag(&mut self, now_seconds: u64) -> Etag {
        self.id_counters.change += 1;
        Etag::of_write(u32::from(u16::MAX), self.id_counters.change, 0, now_seconds)
    }

    pub(crate) fn next_database(&mut self) -> DatabaseRid {
        self.id_counters.database += 1;
        DatabaseRid::new(self.id_counters.database)
    }

    /// Whether the account has ever deleted a container: container numbers are never reused.
    pub(crate) fn has_deleted_containers(&self) -> bool {
        self.container_names.len() < self.id_counters.container as usize
    }

    pub(crate) fn next_container(&mut self, database: DatabaseRid) -> ContainerRid {
        self.id_counters.container += 1;
        ContainerRid::new(database, self.id_counters.container)
    }

    pub(crate) fn next_user(&mut self, database: DatabaseRid) -> UserRid {
        self.id_counters.user += 1;
        UserRid::new(database, self.id_counters.user)
    }

    pub(crate) fn next_permission(&mut self, user: UserRid) -> PermissionRid {
        self.id_counters.permission += 1;
        PermissionRid::new(user, self.id_counters.permission)
    }

    pub(crate) fn next_script(&mut self, container: ContainerRid, kind: ScriptKind) -> ChildRid {
        self.id_counters.script += 1;
        ChildRid::new(container, kind.child_kind(), self.id_counters.script)
    }

    pub(crate) fn next_offer(&mut self) -> OfferRid {
        self.id_counters.offer += 1;
        OfferRid::new(self.id_counters.offer)
    }
}
