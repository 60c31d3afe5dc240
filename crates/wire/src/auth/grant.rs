//! What the bearer of a resource token may do: the whole list.
//!
//! A grant names its resource by resource id, so a container, item or script made anew under the same name is
//! another resource. With a partition key it covers the items whose key begins with it and nothing else but
//! what every client must read first, the definition of the container and its ranges.

use orrery_keys::{ChildRid, ContainerRid, DatabaseRid, ItemRid, PartitionKey, UserRid};
use orrery_model::{Failure, PermissionMode};

use super::Deed;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub target: Target,
    pub mode: PermissionMode,
    pub partition_key: Option<PartitionKey>,
    pub expires_seconds: u64,
}

/// The resource that a permission named when its token was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// It was not there.
    Nothing,
    Database(DatabaseRid),
    User(UserRid),
    Container(ContainerRid),
    Items(GrantedItems),
    Script(ChildRid),
}

/// One item, or, for a link by id without a partition key, all items of the container that had the
/// id when the token was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedItems {
    pub container: ContainerRid,
    /// Of a link by name.
    pub id: Option<String>,
    /// A link by name without a partition key may have led to several.
    pub rids: Vec<ItemRid>,
}

impl Grant {
    /// Whether a token of this kind is for such requests at all; which containers, items and scripts it
    /// covers is asked beside that.
    pub fn check_deed(&self, deed: Deed) -> Result<(), Failure> {
        if self.allows_deed(deed) {
            return Ok(());
        }
        let all = Grant {
            mode: PermissionMode::All,
            ..self.clone()
        };
        let whole = Grant {
            partition_key: None,
            ..all.clone()
        };
        Err(refused(if all.allows_deed(deed) {
            "allows reading only"
        } else if whole.allows_deed(deed) {
            "is for one partition key and covers only items with it"
        } else {
            "does not cover this resource"
        }))
    }

    fn allows_deed(&self, deed: Deed) -> bool {
        use Target::{Container, Database, Items, Script};
        let target = &self.target;
        let writes = self.mode == PermissionMode::All;
        let is_whole = self.partition_key.is_none();
        let has_items = matches!(target, Database(_) | Container(_));
        match deed {
            Deed::ReadAccount => true,
            Deed::ReadDatabase => matches!(target, Database(_)),
            Deed::ReadUser => matches!(target, Target::User(_)),
            Deed::ReadContainer => has_items || matches!(target, Items(_) | Script(_)),
            Deed::WriteContainer => writes && is_whole && matches!(target, Container(_)),
            Deed::ReadItem => has_items || matches!(target, Items(_)),
            Deed::ChangeItem => writes && (has_items || matches!(target, Items(_))),
            Deed::ReadItems => has_items,
            Deed::WriteItems => writes && has_items,
            Deed::ReadScripts => is_whole && (has_items || matches!(target, Script(_))),
            Deed::WriteScripts => writes && is_whole && matches!(target, Container(_) | Script(_)),
            Deed::RunProcedure => writes && (has_items || matches!(target, Script(_))),
            Deed::ManageAccount => false,
        }
    }

    pub fn covers_database(&self, rid: DatabaseRid) -> bool {
        self.target == Target::Database(rid)
    }

    pub fn covers_user(&self, rid: UserRid) -> bool {
        self.target == Target::User(rid)
    }

    /// Whether the target of the grant is the container, its database, or an item or script in the
    /// container.
    pub fn covers_container(&self, rid: ContainerRid) -> bool {
        match &self.target {
            Target::Nothing | Target::User(_) => false,
            Target::Database(database) => *database == rid.database(),
            Target::Container(container) => *container == rid,
            Target::Items(items) => items.container == rid,
            Target::Script(script) => script.container() == rid,
        }
    }

    pub fn covers_script(&self, rid: ChildRid) -> bool {
        match &self.target {
            Target::Script(script) => *script == rid,
            _ => self.covers_container(rid.container()),
        }
    }

    /// The granted items of a token for single items; `None` for a token with another target.
    pub fn items(&self) -> Option<&GrantedItems> {
        match &self.target {
            Target::Items(items) => Some(items),
            _ => None,
        }
    }

    /// Whether `key` begins with the components of the granted partition key. A grant without a
    /// partition key covers every key.
    pub fn covers_key(&self, key: &PartitionKey) -> bool {
        let granted = self.partition_key.as_ref();
        granted.is_none_or(|granted| key.components().starts_with(granted.components()))
    }
}

/// The answer to a request that a resource token does not cover.
pub fn refused(why: &str) -> Failure {
    Failure::Forbidden(format!(
        "Insufficient permissions provided in the authorization header: the resource token {why}."
    ))
}

#[cfg(test)]
mod tests {
    use orrery_keys::ChildKind;

    use super::*;

    const DEEDS: [Deed; 13] = [
        Deed::ReadAccount,
        Deed::ReadDatabase,
        Deed::ReadUser,
        Deed::ReadContainer,
        Deed::WriteContainer,
        Deed::ReadItem,
        Deed::ChangeItem,
        Deed::ReadItems,
        Deed::WriteItems,
        Deed::ReadScripts,
        Deed::WriteScripts,
        Deed::RunProcedure,
        Deed::ManageAccount,
    ];

    fn grant(target: Target, mode: PermissionMode, key: Option<&str>) -> Grant {
        Grant {
            target,
            mode,
            partition_key: key.map(|text| PartitionKey::parse_header(text).unwrap()),
            expires_seconds: 1_000,
        }
    }

    fn item() -> Target {
        Target::Items(GrantedItems {
            container: container(1),
            id: None,
            rids: vec![ItemRid::new(container(1), 1)],
        })
    }

    fn container(number: u32) -> ContainerRid {
        ContainerRid::new(DatabaseRid::new(1), number)
    }

    #[test]
    fn the_list_of_what_a_token_may_do() {
        use Deed::{
            ChangeItem, ReadAccount, ReadContainer, ReadDatabase, ReadItem, ReadItems, ReadScripts,
            ReadUser, RunProcedure, WriteContainer, WriteItems, WriteScripts,
        };
        use PermissionMode::{All, Read};
        let database = Target::Database(DatabaseRid::new(1));
        let user = Target::User(UserRid::new(DatabaseRid::new(1), 1));
        let whole = Target::Container(container(1));
        let items = item();
        let script = Target::Script(ChildRid::new(container(1), ChildKind::StoredProcedure, 1));
        let key = Some(r#"["a"]"#);
        let reads: &[Deed] = &[ReadContainer, ReadItem, ReadItems, ReadScripts];
        let keyed: &[Deed] = &[ReadContainer, ReadItem, ReadItems];
        let writes: &[Deed] = &[ChangeItem, WriteItems, RunProcedure];
        for (target, mode, key, expected) in [
            (&Target::Nothing, All, None, vec![]),
            (&user, All, None, vec![ReadUser]),
            (&database, Read, None, [&[ReadDatabase], reads].concat()),
            (
                &database,
                All,
                None,
                [&[ReadDatabase], reads, writes].concat(),
            ),
            (
                &database,
                All,
                key,
                [&[ReadDatabase], keyed, writes].concat(),
            ),
            (&whole, Read, None, reads.to_vec()),
            (
                &whole,
                All,
                None,
                [&[WriteContainer, WriteScripts], reads, writes].concat(),
            ),
            (&whole, Read, key, keyed.to_vec()),
            (&whole, All, key, [keyed, writes].concat()),
            (&items, Read, None, vec![ReadContainer, ReadItem]),
            (&items, All, None, vec![ReadContainer, ReadItem, ChangeItem]),
            (&items, All, key, vec![ReadContainer, ReadItem, ChangeItem]),
            (&script, Read, None, vec![ReadContainer, ReadScripts]),
            (
                &script,
                All,
                None,
                vec![ReadContainer, ReadScripts, WriteScripts, RunProcedure],
            ),
            (&script, All, key, vec![ReadContainer, RunProcedure]),
        ] {
            let grant = grant(target.clone(), mode, key);
            for deed in DEEDS {
                let allowed = grant.check_deed(deed).is_ok();
                let listed = deed == ReadAccount || expected.contains(&deed);
                assert_eq!(allowed, listed, "{grant:?} {deed:?}");
            }
        }
    }

    #[test]
    fn a_key_covers_what_begins_with_it() {
        let target = Target::Container(container(1));
        for (granted, key, expected) in [
            (None, r#"["a"]"#, true),
            (None, "[]", true),
            (Some(r#"["a"]"#), r#"["a"]"#, true),
            (Some(r#"["a"]"#), r#"["a","b"]"#, true),
            (Some(r#"["a"]"#), r#"["b","a"]"#, false),
            (Some(r#"["a"]"#), r#"["ab"]"#, false),
            (Some(r#"["a"]"#), "[]", false),
            (Some(r#"["a","b"]"#), r#"["a"]"#, false),
            (Some("[{}]"), "[null]", false),
            (Some("[1]"), r#"["1"]"#, false),
            (Some("[1]"), "[1.0]", true),
        ] {
            let grant = grant(target.clone(), PermissionMode::Read, granted);
            let key = PartitionKey::parse_header(key).unwrap();
            assert_eq!(grant.covers_key(&key), expected, "{granted:?} {key}");
        }
    }

    #[test]
    fn a_target_is_its_resource_and_no_other() {
        let of = |target| grant(target, PermissionMode::All, None);
        let (one, other) = (container(1), container(2));
        let script =
            |container, number| ChildRid::new(container, ChildKind::StoredProcedure, number);
        for target in [
            Target::Database(DatabaseRid::new(1)),
            Target::Container(one),
            item(),
            Target::Script(script(one, 1)),
        ] {
            let grant = of(target.clone());
            assert!(grant.covers_container(one), "{target:?}");
            let is_database = matches!(target, Target::Database(_));
            assert_eq!(grant.covers_container(other), is_database, "{target:?}");
            assert_eq!(grant.covers_database(DatabaseRid::new(1)), is_database);
            assert!(!grant.covers_database(DatabaseRid::new(2)));
            assert!(grant.covers_script(script(one, 1)));
            let covers_another = grant.covers_script(script(one, 2));
            assert_eq!(covers_another, !matches!(target, Target::Script(_)));
        }
        let foreign = ContainerRid::new(DatabaseRid::new(2), 1);
        assert!(!of(Target::Database(DatabaseRid::new(1))).covers_container(foreign));
        assert!(!of(Target::Nothing).covers_container(one));
    }
}
