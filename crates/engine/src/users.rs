//! Users and their permissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use orrery_keys::PartitionKey;
use orrery_model::{
    ConflictKind, DatabaseAddress, Failure, Permission, PermissionAddress, PermissionMode,
    Precondition, User, UserAddress, check_resource_id,
};

use crate::catalogue::UserEntry;
use crate::databases::check_match;
use crate::{Engine, entries};

/// The settings of a permission that is created or replaced.
#[derive(Debug, Clone)]
pub struct NewPermission {
    pub id: String,
    pub mode: PermissionMode,
    pub mode_text: String,
    pub resource: String,
    pub partition_key: Option<PartitionKey>,
}

/// Whether a write that found its resource may overwrite it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Refuse,
    Replace,
}

impl Engine {
    pub async fn create_user(
        &self,
        database: DatabaseAddress<'_>,
        id: &str,
    ) -> Result<User, Failure> {
        Ok(self.put_user(database, id, Existing::Refuse).await?.0)
    }

    /// Tells whether the user is new.
    pub async fn upsert_user(
        &self,
        database: DatabaseAddress<'_>,
        id: &str,
    ) -> Result<(User, bool), Failure> {
        self.put_user(database, id, Existing::Replace).await
    }

    async fn put_user(
        &self,
        database: DatabaseAddress<'_>,
        id: &str,
        existing: Existing,
    ) -> Result<(User, bool), Failure> {
        check_resource_id(id)?;
        let now_seconds = self.now_seconds();
        self.change_catalogue(|catalogue, changes| {
            let database = Arc::clone(
                catalogue
                    .database(database)
                    .map_err(|_| Failure::OWNER_NOT_FOUND)?,
            );
            let old = database.users.get(id);
            if old.is_some() && existing == Existing::Refuse {
                return Err(Failure::Conflict(ConflictKind::Id));
            }
            let rid = match old {
                Some(old) => old.user.rid,
                None => catalogue.next_user(database.database.rid),
            };
            let user = User {
                rid,
                id: id.to_owned(),
                etag: catalogue.next_change(now_seconds),
                modified_seconds: now_seconds,
            };
            changes.push(entries::put_user(&user));
            let permissions = old.map_or_else(BTreeMap::new, |old| old.permissions.clone());
            let entry = UserEntry {
                user: user.clone(),
                permissions,
            };
            catalogue.change_database(&database.database.id, |database| {
                database
                    .users
                    .insert(entry.user.id.clone(), Arc::new(entry));
            });
            Ok((user, old.is_none()))
        })
        .await
    }

    /// A user has nothing but its name, so a replace renames it.
    pub async fn replace_user(
        &self,
        address: UserAddress<'_>,
        id: &str,
        if_match: Option<&Precondition>,
    ) -> Result<User, Failure> {
        check_resource_id(id)?;
        let now_seconds = self.now_seconds();
        self.change_catalogue(|catalogue, changes| {
            let (database, old) = catalogue.user(address)?;
            let (database, old) = (Arc::clone(database), Arc::clone(old));
            check_match(if_match, &old.user.etag)?;
            if old.user.id != id && database.users.contains_key(id) {
                return Err(Failure::Conflict(ConflictKind::Id));
            }
            let user = User {
                rid: old.user.rid,
                id: id.to_owned(),
                etag: catalogue.next_change(now_seconds),
                modified_seconds: now_seconds,
            };
            changes.push(entries::put_user(&user));
            let entry = UserEntry {
                user: user.clone(),
                permissions: old.permissions.clone(),
            };
            catalogue.change_database(&database.database.id, |database| {
                database.users.remove(&old.user.id);
                database
                    .users
                    .insert(entry.user.id.clone(), Arc::new(entry));
            });
            Ok(user)
        })
        .await
    }

    pub async fn delete_user(
        &self,
        address: UserAddress<'_>,
        if_match: Option<&Precondition>,
    ) -> Result<User, Failure> {
        self.change_catalogue(|catalogue, changes| {
            let (database, entry) = catalogue.user(address)?;
            let (database, entry) = (database.database.id.clone(), Arc::clone(entry));
            check_match(if_match, &entry.user.etag)?;
            changes.push(entries::delete_user(entry.user.rid));
            for permission in entry.permissions.values() {
                changes.push(entries::delete_permission(permission.rid));
            }
            catalogue.change_database(&database, |database| {
                database.users.remove(&entry.user.id);
            });
            Ok(entry.user.clone())
        })
        .await
    }

    pub async fn create_permission(
        &self,
        user: UserAddress<'_>,
        new: NewPermission,
    ) -> Result<Permission, Failure> {
        Ok(self
            .put_permission(user, None, new, Existing::Refuse, None)
            .await?
            .0)
    }

    /// Tells whether the permission is new.
    pub async fn upsert_permission(
        &self,
        user: UserAddress<'_>,
        new: NewPermission,
    ) -> Result<(Permission, bool), Failure> {
        self.put_permission(user, None, new, Existing::Replace, None)
            .await
    }

    pub async fn replace_permission(
        &self,
        address: PermissionAddress<'_>,
        new: NewPermission,
        if_match: Option<&Precondition>,
    ) -> Result<Permission, Failure> {
        let (user, old) = {
            let catalogue = self.catalogue();
            let (user, old) = catalogue.permission(address)?;
            (user.user.rid, old.id.clone())
        };
        let replaced = self
            .put_permission(
                UserAddress::Rid(user),
                Some(&old),
                new,
                Existing::Replace,
                if_match,
            )
            .await?;
        Ok(replaced.0)
    }

    async fn put_permission(
        &self,
        user: UserAddress<'_>,
        replaced: Option<&str>,
        new: NewPermission,
        existing: Existing,
        if_match: Option<&Precondition>,
    ) -> Result<(Permission, bool), Failure> {
        check_resource_id(&new.id)?;
        let now_seconds = self.now_seconds();
        self.change_catalogue(|catalogue, changes| {
            let (_, user) = catalogue.user(user).map_err(|_| Failure::OWNER_NOT_FOUND)?;
            let user = Arc::clone(user);
            let old = user.permissions.get(replaced.unwrap_or(&new.id));
            if replaced.is_some() && old.is_none() {
                return Err(Failure::NOT_FOUND);
            }
            if let Some(old) = old {
                check_match(if_match, &old.etag)?;
            }
            let taken = user.permissions.values().any(|other| {
                let itself = old.is_some_and(|old| old.rid == other.rid);
                let same_name = other.id == new.id && (!itself || existing == Existing::Refuse);
                same_name || (!itself && same_resource(other, &new))
            });
            if taken {
                return Err(Failure::Conflict(ConflictKind::Id));
            }
            let rid = match old {
                Some(old) => old.rid,
                None => catalogue.next_permission(user.user.rid),
            };
            let permission = Permission {
                rid,
                id: new.id,
                etag: catalogue.next_change(now_seconds),
                modified_seconds: now_seconds,
                mode: new.mode,
                mode_text: new.mode_text,
                resource: new.resource,
                partition_key: new.partition_key,
            };
            changes.push(entries::put_permission(&permission));
            let (old_id, kept) = (old.map(|old| old.id.clone()), permission.clone());
            catalogue.change_user(user.user.rid.database(), user.user.rid, |user| {
                if let Some(old_id) = &old_id {
                    user.permissions.remove(old_id);
                }
                user.permissions.insert(kept.id.clone(), Arc::new(kept));
            });
            Ok((permission, old.is_none()))
        })
        .await
    }

    pub async fn delete_permission(
        &self,
        address: PermissionAddress<'_>,
        if_match: Option<&Precondition>,
    ) -> Result<Permission, Failure> {
        self.change_catalogue(|catalogue, changes| {
            let (user, permission) = catalogue.permission(address)?;
            let (user, permission) = (user.user.rid, Arc::clone(permission));
            check_match(if_match, &permission.etag)?;
            changes.push(entries::delete_permission(permission.rid));
            catalogue.change_user(user.database(), user, |user| {
                user.permissions.remove(&permission.id);
            });
            Ok(Permission::clone(&permission))
        })
        .await
    }
}

/// One user may have one permission on a resource, or one for each partition key of it.
fn same_resource(permission: &Permission, new: &NewPermission) -> bool {
    permission.resource.trim_matches('/') == new.resource.trim_matches('/')
        && permission.partition_key == new.partition_key
}
