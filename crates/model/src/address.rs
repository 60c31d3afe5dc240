//! The address of a resource: the names along its path, or a resource id that contains the ids of
//! all its ancestors.

use crate::Failure;
use orrery_keys::{ContainerRid, DatabaseRid, ItemRid, PermissionRid, RidError, UserRid};

/// The address of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseAddress<'a> {
    Name(&'a str),
    Rid(DatabaseRid),
}

/// The address of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerAddress<'a> {
    Name {
        database: &'a str,
        container: &'a str,
    },
    Rid(ContainerRid),
}

/// The address of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemAddress<'a> {
    Name {
        container: ContainerAddress<'a>,
        id: &'a str,
    },
    Rid(ItemRid),
}

/// The address of a user of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAddress<'a> {
    Name { database: &'a str, user: &'a str },
    Rid(UserRid),
}

/// The address of a permission of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionAddress<'a> {
    Name {
        user: UserAddress<'a>,
        permission: &'a str,
    },
    Rid(PermissionRid),
}

impl<'a> DatabaseAddress<'a> {
    /// The address of a container below this database. The segment is a name or a resource id, like
    /// the database's own.
    pub fn container(self, segment: &'a str) -> Result<ContainerAddress<'a>, Failure> {
        match self {
            DatabaseAddress::Name(database) => Ok(ContainerAddress::Name {
                database,
                container: segment,
            }),
            DatabaseAddress::Rid(database) => {
                // A resource id below another database cannot exist, so it is not found instead of
                // malformed.
                let rid = ContainerRid::parse(segment).map_err(not_a_rid)?;
                found(rid.database() == database)?;
                Ok(ContainerAddress::Rid(rid))
            }
        }
    }

    /// The address of a user below this database.
    pub fn user(self, segment: &'a str) -> Result<UserAddress<'a>, Failure> {
        match self {
            DatabaseAddress::Name(database) => Ok(UserAddress::Name {
                database,
                user: segment,
            }),
            DatabaseAddress::Rid(database) => {
                let rid = UserRid::parse(segment).map_err(not_a_rid)?;
                found(rid.database() == database)?;
                Ok(UserAddress::Rid(rid))
            }
        }
    }
}

impl<'a> ContainerAddress<'a> {
    /// The address of the container's database. A resource id contains it.
    pub fn database(self) -> DatabaseAddress<'a> {
        match self {
            ContainerAddress::Name { database, .. } => DatabaseAddress::Name(database),
            ContainerAddress::Rid(rid) => DatabaseAddress::Rid(rid.database()),
        }
    }

    /// The address of an item below this container.
    pub fn item(self, segment: &'a str) -> Result<ItemAddress<'a>, Failure> {
        match self {
            ContainerAddress::Name { .. } => Ok(ItemAddress::Name {
                container: self,
                id: segment,
            }),
            ContainerAddress::Rid(container) => {
                let rid = ItemRid::parse(segment).map_err(not_a_rid)?;
                found(rid.container() == container)?;
                Ok(ItemAddress::Rid(rid))
            }
        }
    }
}

impl<'a> ItemAddress<'a> {
    pub fn container(self) -> ContainerAddress<'a> {
        match self {
            ItemAddress::Name { container, .. } => container,
            ItemAddress::Rid(rid) => ContainerAddress::Rid(rid.container()),
        }
    }
}

impl<'a> UserAddress<'a> {
    pub fn database(self) -> DatabaseAddress<'a> {
        match self {
            UserAddress::Name { database, .. } => DatabaseAddress::Name(database),
            UserAddress::Rid(rid) => DatabaseAddress::Rid(rid.database()),
        }
    }

    /// The address of a permission below this user.
    pub fn permission(self, segment: &'a str) -> Result<PermissionAddress<'a>, Failure> {
        match self {
            UserAddress::Name { .. } => Ok(PermissionAddress::Name {
                user: self,
                permission: segment,
            }),
            UserAddress::Rid(user) => {
                let rid = PermissionRid::parse(segment).map_err(not_a_rid)?;
                found(rid.user() == user)?;
                Ok(PermissionAddress::Rid(rid))
            }
        }
    }
}

impl<'a> PermissionAddress<'a> {
    pub fn user(self) -> UserAddress<'a> {
        match self {
            PermissionAddress::Name { user, .. } => user,
            PermissionAddress::Rid(rid) => UserAddress::Rid(rid.user()),
        }
    }
}

/// Fails with "not found" unless the resource exists.
fn found(exists: bool) -> Result<(), Failure> {
    if exists {
        Ok(())
    } else {
        Err(Failure::NOT_FOUND)
    }
}

/// The refusal of a malformed resource id, with the message of Cosmos DB.
#[expect(clippy::needless_pass_by_value, reason = "the shape map_err asks for")]
fn not_a_rid(error: RidError) -> Failure {
    Failure::BadRequest(format!(
        "Failed to parse the value '{}' as ResourceId",
        error.text
    ))
}
