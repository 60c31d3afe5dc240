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
use crate::{Engine, catalogue_rows};

/// The settings of a permission that is created or replaced.
#[derive(Debug, Clone)]
pub struct NewPermission {
    pub id: String,
    pub mode: PermissionMode,
    pub mode_text: String,
    pub resource: String,
    pub partition_key: Option<PartitionKey>,
}

/// Whether a write may replace an existing resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfExists {
    Refuse,
    Replace,
}

impl Engine {
    pub async fn create_user(
        &self,
        database: DatabaseAddress<'_>,
        id: &str,
    ) -> Result<User, Failure> {
        Ok(self.put_user(database, id, IfExists::Refuse).await?.0)
    }

    /// Creates or replaces a user; also returns whether the user is new.
    pub async fn upsert_user(
        &self,
        database: DatabaseAddress<'_>,
        id: &str,
    ) -> Result<(User, bool), Failure> {
        self.put_user(database, id, IfExists::Replace).await
    }

    async fn put_user(
        &self,
        database: DatabaseAddress<'_>,
        id: &str,
        existing: IfExists,
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
            if old.is_some() && existing == IfExists::Refuse {
                return Err(Failure::Conflict(ConflictKind::Id));
            }
            let rid = match old {
                Some(old) => old.user.rid,
                None => catalogue.next_user(database.database.rid),
            };
            let user = User {
                rid,
                id: id.to_owned(),
                etag: catalogue.next_etag(now_seconds),
                modified_seconds: now_seconds,
            };
            changes.push(catalogue_rows::put_user(&user));
            // An upsert keeps the permissions of the existing user.
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

    /// Replaces a user. A user consists of its id only, so a replace is a rename.
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
                etag: catalogue.next_etag(now_seconds),
                modified_seconds: now_seconds,
            };
            changes.push(catalogue_rows::put_user(&user));
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
            changes.push(catalogue_rows::delete_user(entry.user.rid));
            // Permission rows are separate keys, so each needs its own removal.
            for permission in entry.permissions.values() {
                changes.push(catalogue_rows::delete_permission(permission.rid));
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
            .put_permission(user, None, new, IfExists::Refuse, None)
            .await?
            .0)
    }

    /// Creates or replaces a permission; also returns whether the permission is new.
    pub async fn upsert_permission(
        &self,
        user: UserAddress<'_>,
        new: NewPermission,
    ) -> Result<(Permission, bool), Failure> {
        self.put_permission(user, None, new, IfExists::Replace, None)
            .await
    }

    pub async fn replace_permission(
        &self,
        address: PermissionAddress<'_>,
        new: NewPermission,
        if_match: Option<&Precondition>,
    ) -> Result<Permission, Failure> {
        // The permission is resolved to ids first: `put_permission` looks it up again under the
        // lock.
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
                IfExists::Replace,
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
        existing: IfExists,
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
            // A second permission of the same user on the same resource would be ambiguous, so it
            // is refused.
            let taken = user.permissions.values().any(|other| {
                let itself = old.is_some_and(|old| old.rid == other.rid);
                let same_name = other.id == new.id && (!itself || existing == IfExists::Refuse);
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
                etag: catalogue.next_etag(now_seconds),
                modified_seconds: now_seconds,
                mode: new.mode,
                mode_text: new.mode_text,
                resource: new.resource,
                partition_key: new.partition_key,
            };
            changes.push(catalogue_rows::put_permission(&permission));
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
            changes.push(catalogue_rows::delete_permission(permission.rid));
            catalogue.change_user(user.database(), user, |user| {
                user.permissions.remove(&permission.id);
            });
            Ok(Permission::clone(&permission))
        })
        .await
    }
}

/// Whether two permissions cover the same resource and partition key. The service permits one such
/// permission per user.
fn same_resource(permission: &Permission, new: &NewPermission) -> bool {
    permission.resource.trim_matches('/') == new.resource.trim_matches('/')
        && permission.partition_key == new.partition_key
}
