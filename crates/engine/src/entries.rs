//! The catalogue on disk: one JSON object for each resource, under a key of its kind and numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_json::{Number, Object, Value, parse, write_value};
use orrery_keys::{
    ChildRid, ContainerRid, DatabaseRid, Epk, EpkRange, OfferRid, PartitionKey, PermissionRid,
    UserRid,
};
use orrery_model::{
    ContainerAddress, ContainerDefinition, Database, DatabaseAddress, Etag, Offer, Permission,
    PermissionMode, RangeId, Script, ScriptKind, TriggerSettings, User,
};
use orrery_partition::{
    CatalogueState, Container, Error, Partition, history_removal, policy_removal,
    retirement_removals,
};

use crate::catalogue::{Catalogue, ContainerEntry, DatabaseEntry, Numbers, UserEntry};

const NUMBERS: u8 = b'n';
const DATABASE: u8 = b'd';
const CONTAINER: u8 = b'c';
const OFFER: u8 = b'o';
const USER: u8 = b'u';
const PERMISSION: u8 = b'p';
const SCRIPT: u8 = b's';
/// A deleted container whose documents are still being removed.
const PURGE: u8 = b'x';
/// A container whose items are still being entered for expiry after its TTL changed.
const TTL_CHANGE: u8 = b't';

/// A key of the catalogue and its new value; none removes it.
pub(crate) type Change = (Bytes, Option<Bytes>);

pub(crate) fn put_numbers(numbers: &Numbers) -> Change {
    let counts = [
        ("database", u64::from(numbers.database)),
        ("container", u64::from(numbers.container)),
        ("user", u64::from(numbers.user)),
        ("permission", numbers.permission),
        ("offer", u64::from(numbers.offer)),
        ("script", numbers.script),
        ("change", numbers.change),
    ];
    let fields = counts.map(|(name, count)| (name, count.into_value()));
    put(Bytes::from_static(&[NUMBERS]), fields)
}

pub(crate) fn put_database(database: &Database) -> Change {
    let fields = [
        ("id", text(&database.id)),
        ("etag", text(database.etag.as_str())),
        ("modified", database.modified_seconds.into_value()),
        (
            "offer",
            database
                .offer
                .map_or(Value::Undefined, |rid| u64::from(rid.id()).into_value()),
        ),
    ];
    put(database_key(database.rid), fields)
}

pub(crate) fn delete_database(rid: DatabaseRid) -> Change {
    (database_key(rid), None)
}

pub(crate) fn put_container(entry: &ContainerEntry) -> Change {
    let container = &entry.container;
    let range = |partition: &Arc<Partition>| {
        object([
            ("id", u64::from(partition.id.0).into_value()),
            ("min", text(&partition.range.min.to_string())),
            ("max", text(&partition.range.max.to_string())),
            (
                "parents",
                match &partition.ancestors[..] {
                    [] => Value::Undefined,
                    ancestors => {
                        let numbers = ancestors.iter();
                        let numbers = numbers.map(|range| u64::from(range.0).into_value());
                        Value::Array(numbers.collect())
                    }
                },
            ),
        ])
    };
    let fields = [
        (
            "database",
            u64::from(container.rid.database().id()).into_value(),
        ),
        ("definition", container.definition.to_value()),
        ("etag", text(entry.etag.as_str())),
        ("modified", entry.modified_seconds.into_value()),
        (
            "offer",
            entry
                .offer
                .map_or(Value::Undefined, |rid| u64::from(rid.id()).into_value()),
        ),
        (
            "ranges",
            Value::Array(container.partitions.iter().map(range).collect()),
        ),
    ];
    put(container_key(container.rid), fields)
}

/// Removes a container and what was registered in it; its documents are to follow.
pub(crate) fn delete_container(entry: &ContainerEntry) -> Vec<Change> {
    let scripts = entry.scripts.all().map(|script| delete_script(script.rid));
    let container = &entry.container;
    let retired = retirement_removals(container);
    let own = [
        (container_key(container.rid), None),
        policy_removal(container),
        history_removal(container),
        put_purge(container.rid),
    ];
    scripts.chain(own).chain(retired).collect()
}

pub(crate) fn put_script(script: &Script) -> Change {
    let (timing, operation) = match &script.trigger {
        Some(trigger) => (text(&trigger.timing_text), text(&trigger.operation_text)),
        None => (Value::Undefined, Value::Undefined),
    };
    let container = script.rid.container();
    let fields = [
        ("id", text(&script.id)),
        ("kind", text(script_kind_name(script.kind))),
        (
            "database",
            u64::from(container.database().id()).into_value(),
        ),
        ("body", text(&script.body)),
        ("etag", text(script.etag.as_str())),
        ("modified", script.modified_seconds.into_value()),
        ("triggerType", timing),
        ("triggerOperation", operation),
    ];
    put(script_key(script.rid), fields)
}

pub(crate) fn delete_script(rid: ChildRid) -> Change {
    (script_key(rid), None)
}

fn put_purge(rid: ContainerRid) -> Change {
    put(numbered(PURGE, rid.id()), [])
}

pub(crate) fn delete_purge(container: u32) -> Change {
    (numbered(PURGE, container), None)
}

pub(crate) fn put_ttl_change(rid: ContainerRid) -> Change {
    put(numbered(TTL_CHANGE, rid.id()), [])
}

pub(crate) fn delete_ttl_change(container: u32) -> Change {
    (numbered(TTL_CHANGE, container), None)
}

pub(crate) fn put_offer(offer: &Offer) -> Change {
    let fields = [
        ("etag", text(offer.etag.as_str())),
        ("offer", offer.to_value()),
    ];
    put(numbered(OFFER, offer.rid.id()), fields)
}

pub(crate) fn delete_offer(rid: OfferRid) -> Change {
    (numbered(OFFER, rid.id()), None)
}

pub(crate) fn put_user(user: &User) -> Change {
    let fields = [
        ("id", text(&user.id)),
        ("etag", text(user.etag.as_str())),
        ("modified", user.modified_seconds.into_value()),
    ];
    put(user_key(user.rid), fields)
}

pub(crate) fn delete_user(rid: UserRid) -> Change {
    (user_key(rid), None)
}

pub(crate) fn put_permission(permission: &Permission) -> Change {
    let key = permission
        .partition_key
        .as_ref()
        .map_or(Value::Undefined, |key| text(&key.to_json()));
    let fields = [
        ("id", text(&permission.id)),
        ("etag", text(permission.etag.as_str())),
        ("modified", permission.modified_seconds.into_value()),
        ("mode", text(&permission.mode_text)),
        ("resource", text(&permission.resource)),
        ("partitionKey", key),
    ];
    put(permission_key(permission.rid), fields)
}

pub(crate) fn delete_permission(rid: PermissionRid) -> Change {
    (permission_key(rid), None)
}

/// Background work that an earlier run left, by the numbers of containers.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) purges: Vec<u32>,
    pub(crate) ttl_changes: Vec<u32>,
}

/// Reads the whole catalogue, and what was left to do.
pub(crate) fn load(store: &CatalogueState) -> Result<(Catalogue, Pending), Error> {
    let mut catalogue = Catalogue::default();
    catalogue.account = store.account_sequence()?;
    for (_, value) in store.catalogue(NUMBERS)? {
        catalogue.numbers = read_numbers(&Entry::parse(&value)?)?;
    }
    for (key, value) in store.catalogue(DATABASE)? {
        let rid = DatabaseRid::new(number(&key, 1)?);
        let database = read_database(rid, &Entry::parse(&value)?)?;
        let (containers, users) = (BTreeMap::new(), BTreeMap::new());
        catalogue.set_database(DatabaseEntry {
            database,
            containers,
            users,
        });
    }
    for (key, value) in store.catalogue(CONTAINER)? {
        let (database, entry) = read_container(number(&key, 1)?, &Entry::parse(&value)?, store)?;
        let database = database_name(&catalogue, database)?;
        catalogue.set_container(&database, entry);
    }
    for (_, value) in store.catalogue(OFFER)? {
        let entry = Entry::parse(&value)?;
        let etag = Etag::from_stored(entry.text("etag")?);
        let offer =
            Offer::from_value(entry.0.get("offer"), etag).map_err(|error| damaged(&error))?;
        catalogue.offers.insert(offer.rid.id(), Arc::new(offer));
    }
    for (key, value) in store.catalogue(USER)? {
        let rid = UserRid::new(DatabaseRid::new(number(&key, 1)?), number(&key, 5)?);
        let user = read_user(rid, &Entry::parse(&value)?)?;
        let database = database_name(&catalogue, rid.database())?;
        let entry = UserEntry {
            user,
            permissions: BTreeMap::new(),
        };
        catalogue.change_database(&database, |database| {
            database
                .users
                .insert(entry.user.id.clone(), Arc::new(entry));
        });
    }
    for (key, value) in store.catalogue(PERMISSION)? {
        let user = UserRid::new(DatabaseRid::new(number(&key, 1)?), number(&key, 5)?);
        let rid = PermissionRid::new(user, counter(&key, 9)?);
        let permission = read_permission(rid, &Entry::parse(&value)?)?;
        catalogue.change_user(user.database(), user, |user| {
            user.permissions
                .insert(permission.id.clone(), Arc::new(permission));
        });
    }
    for (key, value) in store.catalogue(SCRIPT)? {
        let script = read_script(&key, &Entry::parse(&value)?)?;
        let address = ContainerAddress::Rid(script.rid.container());
        let (database, entry) = catalogue
            .container(address)
            .map_err(|_| damaged(&"a script without its container"))?;
        let (database, entry) = (database.database.id.clone(), Arc::clone(entry));
        catalogue.change_scripts(&database, &entry, |scripts| scripts.insert(script));
    }
    let pending = pending(store)?;
    Ok((catalogue, pending))
}

/// Reads what was left to do.
pub(crate) fn pending(store: &CatalogueState) -> Result<Pending, Error> {
    let numbers = |kind| -> Result<Vec<u32>, Error> {
        store
            .catalogue(kind)?
            .iter()
            .map(|(key, _)| number(key, 1))
            .collect()
    };
    Ok(Pending {
        purges: numbers(PURGE)?,
        ttl_changes: numbers(TTL_CHANGE)?,
    })
}

fn database_name(catalogue: &Catalogue, rid: DatabaseRid) -> Result<String, Error> {
    let entry = catalogue.database(DatabaseAddress::Rid(rid));
    entry
        .map(|entry| entry.database.id.clone())
        .map_err(|_| damaged(&"a resource without its database"))
}

fn read_numbers(entry: &Entry) -> Result<Numbers, Error> {
    Ok(Numbers {
        database: entry.small("database")?,
        container: entry.small("container")?,
        user: entry.small("user")?,
        permission: entry.number("permission")?,
        offer: entry.small("offer")?,
        // Accounts from before there were scripts have counted none.
        script: entry.number("script").unwrap_or(0),
        change: entry.number("change")?,
    })
}

fn read_database(rid: DatabaseRid, entry: &Entry) -> Result<Database, Error> {
    Ok(Database {
        rid,
        id: entry.text("id")?.to_owned(),
        etag: Etag::from_stored(entry.text("etag")?),
        modified_seconds: entry.number("modified")?,
        offer: entry.offer()?,
    })
}

fn read_container(
    id: u32,
    entry: &Entry,
    store: &CatalogueState,
) -> Result<(DatabaseRid, ContainerEntry), Error> {
    let database = DatabaseRid::new(entry.small("database")?);
    let rid = ContainerRid::new(database, id);
    let definition =
        ContainerDefinition::parse(entry.0.get("definition")).map_err(|error| damaged(&error))?;
    let ranges = entry.0.get("ranges").as_array().unwrap_or_default();
    let partition = |range: &Value| {
        let range = Entry(range.clone());
        let id = RangeId(range.small("id")?);
        let epk = |name| Epk::from_hex(range.text(name)?).map_err(|error| damaged(&error));
        let counters = store.counters(rid.id(), id)?;
        let parents = range.0.get("parents").as_array().unwrap_or_default();
        let parent =
            |number: &Value| Some(RangeId(u32::try_from(number.as_number()?.as_i64()?).ok()?));
        let parents: Option<Vec<RangeId>> = parents.iter().map(parent).collect();
        let parents = parents.ok_or_else(|| damaged(&"the parents of a range are not numbers"))?;
        let range = EpkRange::new(epk("min")?, epk("max")?);
        let partition = Partition::new(id, range, counters);
        Ok(Arc::new(partition.descending_from(parents)))
    };
    let partitions = ranges.iter().map(partition).collect::<Result<_, Error>>()?;
    let container = Container::new(rid, definition, partitions, self_link(rid));
    let entry = ContainerEntry {
        container: Arc::new(container),
        etag: Etag::from_stored(entry.text("etag")?),
        modified_seconds: entry.number("modified")?,
        offer: entry.offer()?,
        scripts: Arc::default(),
    };
    Ok((database, entry))
}

fn read_user(rid: UserRid, entry: &Entry) -> Result<User, Error> {
    Ok(User {
        rid,
        id: entry.text("id")?.to_owned(),
        etag: Etag::from_stored(entry.text("etag")?),
        modified_seconds: entry.number("modified")?,
    })
}

fn read_permission(rid: PermissionRid, entry: &Entry) -> Result<Permission, Error> {
    let mode_text = entry.text("mode")?.to_owned();
    let partition_key = match entry.0.get("partitionKey").as_str() {
        Some(key) => Some(PartitionKey::parse_header(key).map_err(|error| damaged(&error))?),
        None => None,
    };
    let all = mode_text.eq_ignore_ascii_case("all");
    Ok(Permission {
        rid,
        id: entry.text("id")?.to_owned(),
        etag: Etag::from_stored(entry.text("etag")?),
        modified_seconds: entry.number("modified")?,
        mode: if all {
            PermissionMode::All
        } else {
            PermissionMode::Read
        },
        mode_text,
        resource: entry.text("resource")?.to_owned(),
        partition_key,
    })
}

const SCRIPT_KINDS: [(&str, ScriptKind); 3] = [
    ("procedure", ScriptKind::StoredProcedure),
    ("trigger", ScriptKind::Trigger),
    ("function", ScriptKind::Function),
];

fn script_kind_name(kind: ScriptKind) -> &'static str {
    let mut kinds = SCRIPT_KINDS.iter();
    let named = kinds.find(|(_, other)| *other == kind);
    named.map_or("", |(name, _)| name)
}

fn read_script(key: &[u8], entry: &Entry) -> Result<Script, Error> {
    let database = DatabaseRid::new(entry.small("database")?);
    let container = ContainerRid::new(database, number(key, 1)?);
    let counter = counter(key, 5)?;
    let name = entry.text("kind")?;
    let mut kinds = SCRIPT_KINDS.iter();
    let (_, kind) = kinds
        .find(|(other, _)| *other == name)
        .ok_or_else(|| damaged(&format!("a script of kind '{name}'")))?;
    let trigger = match kind {
        ScriptKind::Trigger => {
            let words = (entry.text("triggerType")?, entry.text("triggerOperation")?);
            let settings = TriggerSettings::read(words.0, words.1);
            Some(settings.ok_or_else(|| damaged(&"a trigger of no known kind"))?)
        }
        ScriptKind::StoredProcedure | ScriptKind::Function => None,
    };
    Ok(Script {
        rid: ChildRid::new(container, kind.child_kind(), counter),
        kind: *kind,
        id: entry.text("id")?.to_owned(),
        body: entry.text("body")?.to_owned(),
        etag: Etag::from_stored(entry.text("etag")?),
        modified_seconds: entry.number("modified")?,
        trigger,
    })
}

/// `dbs/{rid}/colls/{rid}/`
pub(crate) fn self_link(rid: ContainerRid) -> String {
    format!("dbs/{}/colls/{rid}/", rid.database())
}

/// One stored object, with getters that report damage.
struct Entry(Value);

impl Entry {
    fn parse(bytes: &[u8]) -> Result<Entry, Error> {
        parse(bytes).map(Entry).map_err(|error| damaged(&error))
    }

    fn text(&self, name: &str) -> Result<&str, Error> {
        self.0
            .get(name)
            .as_str()
            .ok_or_else(|| damaged(&format!("no text '{name}'")))
    }

    fn number(&self, name: &str) -> Result<u64, Error> {
        let number = self.0.get(name).as_number().and_then(Number::as_i64);
        number
            .and_then(|number| u64::try_from(number).ok())
            .ok_or_else(|| damaged(&format!("no number '{name}'")))
    }

    fn small(&self, name: &str) -> Result<u32, Error> {
        u32::try_from(self.number(name)?).map_err(|error| damaged(&error))
    }

    fn offer(&self) -> Result<Option<OfferRid>, Error> {
        if self.0.get("offer").is_undefined() {
            return Ok(None);
        }
        Ok(Some(OfferRid::new(self.small("offer")?)))
    }
}

fn damaged(what: &dyn std::fmt::Display) -> Error {
    Error::Damaged(format!("a catalogue entry: {what}"))
}

fn database_key(rid: DatabaseRid) -> Bytes {
    numbered(DATABASE, rid.id())
}

fn container_key(rid: ContainerRid) -> Bytes {
    numbered(CONTAINER, rid.id())
}

fn user_key(rid: UserRid) -> Bytes {
    [
        &[USER][..],
        &rid.database().id().to_be_bytes(),
        &rid.id().to_be_bytes(),
    ]
    .concat()
    .into()
}

fn permission_key(rid: PermissionRid) -> Bytes {
    let user = user_key(rid.user());
    [&[PERMISSION][..], &user[1..], &rid.counter().to_be_bytes()]
        .concat()
        .into()
}

fn script_key(rid: ChildRid) -> Bytes {
    let container = numbered(SCRIPT, rid.container().id());
    [&container[..], &rid.counter().to_be_bytes()]
        .concat()
        .into()
}

fn numbered(kind: u8, number: u32) -> Bytes {
    [&[kind][..], &number.to_be_bytes()].concat().into()
}

/// The number of four bytes at a place of a key.
fn number(key: &[u8], at: usize) -> Result<u32, Error> {
    let bytes = key.get(at..).and_then(|rest| rest.first_chunk().copied());
    bytes
        .map(u32::from_be_bytes)
        .ok_or_else(|| damaged(&"a short key"))
}

/// The number of eight bytes at a place of a key.
fn counter(key: &[u8], at: usize) -> Result<u64, Error> {
    let bytes = key.get(at..).and_then(|rest| rest.first_chunk().copied());
    bytes
        .map(u64::from_be_bytes)
        .ok_or_else(|| damaged(&"a short key"))
}

fn put<const N: usize>(key: Bytes, fields: [(&str, Value); N]) -> Change {
    let mut bytes = Vec::new();
    write_value(&object(fields), &mut bytes);
    (key, Some(bytes.into()))
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let defined = fields
        .into_iter()
        .filter(|(_, value)| !value.is_undefined());
    Value::Object(
        defined
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<Object>(),
    )
}

fn text(text: &str) -> Value {
    Value::from(text)
}

trait IntoValue {
    fn into_value(self) -> Value;
}

impl IntoValue for u64 {
    fn into_value(self) -> Value {
        Value::from(i64::try_from(self).expect("numbers are counted up one by one"))
    }
}
