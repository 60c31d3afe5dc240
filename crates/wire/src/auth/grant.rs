//! The requests that the bearer of a resource token may make: the complete list.
//!
//! A grant names its resource by resource id, so a container, item or script created again under
//! the same name is another resource. A grant with a partition key covers the items whose key
//! begins with it. Beside these items it covers only what every client must read first: the
//! definition of the container and its partition key ranges.

use orrery_keys::{ChildRid, ContainerRid, DatabaseRid, ItemRid, PartitionKey, UserRid};
use orrery_model::{Failure, PermissionMode};

use super::TokenAction;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub target: GrantTarget,
    pub mode: PermissionMode,
    pub partition_key: Option<PartitionKey>,
    pub expires_seconds: u64,
}

/// The resource that a permission named when its token was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantTarget {
    /// The resource did not exist.
    Nothing,
    Database(DatabaseRid),
    User(UserRid),
    Container(ContainerRid),
    Items(GrantedItems),
    Script(ChildRid),
}

/// One item. For a link by id without a partition key, all items of the container that had the id
/// when the token was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedItems {
    pub container: ContainerRid,
    /// The id in a link by name.
    pub id: Option<String>,
    /// The resource ids of the items. A link by name without a partition key may name several
    /// items.
    pub rids: Vec<ItemRid>,
}

impl Grant {
    /// Checks that the grant allows actions of this kind at all. Other methods check the
    /// containers, items and scripts that it covers.
    pub fn check_action(&self, action: TokenAction) -> Result<(), Failure> {
        if self.allows_action(action) {
            return Ok(());
        }
        // The two wider grants find the reason of the refusal, which tells the client what to
        // request.
        let all = Grant {
            mode: PermissionMode::All,
            ..self.clone()
        };
        let whole = Grant {
            partition_key: None,
            ..all.clone()
        };
        Err(token_forbidden(if all.allows_action(action) {
            "allows reading only"
        } else if whole.allows_action(action) {
            "is for one partition key and covers only items with it"
        } else {
            "does not cover this resource"
        }))
    }

    /// The table of grants and actions. An action without a row here does not compile.
    fn allows_action(&self, action: TokenAction) -> bool {
        use GrantTarget::{Container, Database, Items, Script};
        let target = &self.target;
        let writes = self.mode == PermissionMode::All;
        let is_whole = self.partition_key.is_none();
        let has_items = matches!(target, Database(_) | Container(_));
        match action {
            TokenAction::ReadAccount => true,
            TokenAction::ReadDatabase => matches!(target, Database(_)),
            TokenAction::ReadUser => matches!(target, GrantTarget::User(_)),
            // Every token for data includes the definition, which SDKs read before the first item.
            TokenAction::ReadContainer => has_items || matches!(target, Items(_) | Script(_)),
            // A token for a partition key must not change a container that other keys use.
            TokenAction::WriteContainer => writes && is_whole && matches!(target, Container(_)),
            TokenAction::ReadItem => has_items || matches!(target, Items(_)),
            TokenAction::ChangeItem => writes && (has_items || matches!(target, Items(_))),
            TokenAction::ReadItems => has_items,
            TokenAction::WriteItems => writes && has_items,
            TokenAction::ReadScripts => is_whole && (has_items || matches!(target, Script(_))),
            TokenAction::WriteScripts => {
                writes && is_whole && matches!(target, Container(_) | Script(_))
            }
            TokenAction::RunProcedure => writes && (has_items || matches!(target, Script(_))),
            // These actions always need a key of the account.
            TokenAction::ManageAccount => false,
        }
    }

    pub fn covers_database(&self, rid: DatabaseRid) -> bool {
        self.target == GrantTarget::Database(rid)
    }

    pub fn covers_user(&self, rid: UserRid) -> bool {
        self.target == GrantTarget::User(rid)
    }

    /// Whether the target of the grant is the container, its database, or an item or script in the
    /// container.
    pub fn covers_container(&self, rid: ContainerRid) -> bool {
        match &self.target {
            GrantTarget::Nothing | GrantTarget::User(_) => false,
            GrantTarget::Database(database) => *database == rid.database(),
            GrantTarget::Container(container) => *container == rid,
            GrantTarget::Items(items) => items.container == rid,
            GrantTarget::Script(script) => script.container() == rid,
        }
    }

    pub fn covers_script(&self, rid: ChildRid) -> bool {
        match &self.target {
            GrantTarget::Script(script) => *script == rid,
            _ => self.covers_container(rid.container()),
        }
    }

    /// The granted items of a token for single items. `None` for a token with another target.
    pub fn items(&self) -> Option<&GrantedItems> {
        match &self.target {
            GrantTarget::Items(items) => Some(items),
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

/// The failure of a request that a resource token does not cover.
pub fn token_forbidden(why: &str) -> Failure {
    Failure::Forbidden(format!(
        "Insufficient permissions provided in the authorization header: the resource token {why}."
    ))
}

#[cfg(test)]
mod tests {
    use orrery_keys::ChildKind;

    use super::*;

    const ACTIONS: [TokenAction; 13] = [
        TokenAction::ReadAccount,
        TokenAction::ReadDatabase,
        TokenAction::ReadUser,
        TokenAction::ReadContainer,
        TokenAction::WriteContainer,
        TokenAction::ReadItem,
        TokenAction::ChangeItem,
        TokenAction::ReadItems,
        TokenAction::WriteItems,
        TokenAction::ReadScripts,
        TokenAction::WriteScripts,
        TokenAction::RunProcedure,
        TokenAction::ManageAccount,
    ];

    fn grant(target: GrantTarget, mode: PermissionMode, key: Option<&str>) -> Grant {
        Grant {
            target,
            mode,
            partition_key: key.map(|text| PartitionKey::parse_header(text).unwrap()),
            expires_seconds: 1_000,
        }
    }

    fn item() -> GrantTarget {
        GrantTarget::Items(GrantedItems {
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
        use PermissionMode::{All, Read};
        use TokenAction::{
            ChangeItem, ReadAccount, ReadContainer, ReadDatabase, ReadItem, ReadItems, ReadScripts,
            ReadUser, RunProcedure, WriteContainer, WriteItems, WriteScripts,
        };
        let database = GrantTarget::Database(DatabaseRid::new(1));
        let user = GrantTarget::User(UserRid::new(DatabaseRid::new(1), 1));
        let whole = GrantTarget::Container(container(1));
        let items = item();
        let script =
            GrantTarget::Script(ChildRid::new(container(1), ChildKind::StoredProcedure, 1));
        let key = Some(r#"["a"]"#);
        let reads: &[TokenAction] = &[ReadContainer, ReadItem, ReadItems, ReadScripts];
        let keyed: &[TokenAction] = &[ReadContainer, ReadItem, ReadItems];
        let writes: &[TokenAction] = &[ChangeItem, WriteItems, RunProcedure];
        for (target, mode, key, expected) in [
            (&GrantTarget::Nothing, All, None, vec![]),
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
            for action in ACTIONS {
                let allowed = grant.check_action(action).is_ok();
                let listed = action == ReadAccount || expected.contains(&action);
                assert_eq!(allowed, listed, "{grant:?} {action:?}");
            }
        }
    }

    #[test]
    fn a_key_covers_what_begins_with_it() {
        let target = GrantTarget::Container(container(1));
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
            GrantTarget::Database(DatabaseRid::new(1)),
            GrantTarget::Container(one),
            item(),
            GrantTarget::Script(script(one, 1)),
        ] {
            let grant = of(target.clone());
            assert!(grant.covers_container(one), "{target:?}");
            let is_database = matches!(target, GrantTarget::Database(_));
            assert_eq!(grant.covers_container(other), is_database, "{target:?}");
            assert_eq!(grant.covers_database(DatabaseRid::new(1)), is_database);
            assert!(!grant.covers_database(DatabaseRid::new(2)));
            assert!(grant.covers_script(script(one, 1)));
            let covers_another = grant.covers_script(script(one, 2));
            assert_eq!(covers_another, !matches!(target, GrantTarget::Script(_)));
        }
        let foreign = ContainerRid::new(DatabaseRid::new(2), 1);
        assert!(!of(GrantTarget::Database(DatabaseRid::new(1))).covers_container(foreign));
        assert!(!of(GrantTarget::Nothing).covers_container(one));
    }
}
