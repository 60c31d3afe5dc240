//! The catalogue on disk: one JSON object per resource, under a key of a kind byte and ids.

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
    CatalogueState, Container, Error, FormerRange, Partition, history_removal, policy_removal,
    supersession_removals,
};

use crate::catalogue::{Catalogue, ContainerEntry, DatabaseEntry, IdCounters, UserEntry};

/// Kinds of catalogue rows; the kind is the first byte of a key. The bytes are part of the disk
/// format.
const ID_COUNTERS: u8 = b'n';
const DATABASE: u8 = b'd';
const CONTAINER: u8 = b'c';
const OFFER: u8 = b'o';
const USER: u8 = b'u';
const PERMISSION: u8 = b'p';
const SCRIPT: u8 = b's';
/// Marks a deleted container whose documents are still being removed.
const PURGE: u8 = b'x';
/// Marks a container whose items still need expiry entries after a TTL change.
const TTL_CHANGE: u8 = b't';

/// A catalogue key and its new value; an absent value removes the key.
pub(crate) type CatalogueWrite = (Bytes, Option<Bytes>);

pub(crate) fn put_id_counters(numbers: &IdCounters) -> CatalogueWrite {
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
    put(Bytes::from_static(&[ID_COUNTERS]), fields)
}

pub(crate) fn put_database(database: &Database) -> CatalogueWrite {
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

pub(crate) fn delete_database(rid: DatabaseRid) -> CatalogueWrite {
    (database_key(rid), None)
}

fn former_range(former: &FormerRange) -> Value {
    object([
        ("id", u64::from(former.id.0).into_value()),
        ("min", text(&former.range.min.to_string())),
        ("max", text(&former.range.max.to_string())),
    ])
}

/// The row of a container with its definition and its key ranges. The store keeps the counters of a
/// partition in a separate row.
pub(crate) fn put_container(entry: &ContainerEntry) -> CatalogueWrite {
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
            (
                "former",
                match &partition.former_ranges[..] {
                    [] => Value::Undefined,
                    former => Value::Array(former.iter().map(former_range).collect()),
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

/// Removes a container and its scripts, and leaves a purge mark: the documents are removed later.
/// One record carries all these changes, so that a restart always finds the mark.
pub(crate) fn delete_container(entry: &ContainerEntry) -> Vec<CatalogueWrite> {
    let scripts = entry.scripts.all().map(|script| delete_script(script.rid));
    let container = &entry.container;
    let retired = supersession_removals(container);
    let own = [
        (container_key(container.rid), None),
        policy_removal(container),
        history_removal(container),
        put_purge(container.rid),
    ];
    scripts.chain(own).chain(retired).collect()
}

pub(crate) fn put_script(script: &Script) -> CatalogueWrite {
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

pub(crate) fn delete_script(rid: ChildRid) -> CatalogueWrite {
    (script_key(rid), None)
}

fn put_purge(rid: ContainerRid) -> CatalogueWrite {
    put(numbered(PURGE, rid.id()), [])
}

pub(crate) fn delete_purge(container: u32) -> CatalogueWrite {
    (numbered(PURGE, container), None)
}

pub(crate) fn put_ttl_change(rid: ContainerRid) -> CatalogueWrite {
    put(numbered(TTL_CHANGE, rid.id()), [])
}

pub(crate) fn delete_ttl_change(container: u32) -> CatalogueWrite {
    (numbered(TTL_CHANGE, container), None)
}

pub(crate) fn put_offer(offer: &Offer) -> CatalogueWrite {
    let fields = [
        ("etag", text(offer.etag.as_str())),
        ("offer", offer.to_value()),
    ];
    put(numbered(OFFER, offer.rid.id()), fields)
}

pub(crate) fn delete_offer(rid: OfferRid) -> CatalogueWrite {
    (numbered(OFFER, rid.id()), None)
}

pub(crate) fn put_user(user: &User) -> CatalogueWrite {
    let fields = [
        ("id", text(&user.id)),
        ("etag", text(user.etag.as_str())),
        ("modified", user.modified_seconds.into_value()),
    ];
    put(user_key(user.rid), fields)
}

pub(crate) fn delete_user(rid: UserRid) -> CatalogueWrite {
    (user_key(rid), None)
}

pub(crate) fn put_permission(permission: &Permission) -> CatalogueWrite {
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

pub(crate) fn delete_permission(rid: PermissionRid) -> CatalogueWrite {
    (permission_key(rid), None)
}

/// Background work that an earlier run left unfinished, as container numbers.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedWork {
    pub(crate) purges: Vec<u32>,
    pub(crate) ttl_changes: Vec<u32>,
}

/// Reads the whole catalogue and the list of unfinished background work.
///
/// Kinds are read in the order of their references: databases before containers and users, users
/// before permissions, containers before scripts.
pub(crate) fn load(store: &CatalogueState) -> Result<(Catalogue, UnfinishedWork), Error> {
    let mut catalogue = Catalogue::default();
    catalogue.account_sequence = store.account_sequence()?;
    for (_, value) in store.catalogue(ID_COUNTERS)? {
        catalogue.id_counters = read_id_counters(&CatalogueRow::parse(&value)?)?;
    }
    for (key, value) in store.catalogue(DATABASE)? {
        let rid = DatabaseRid::new(read_u32(&key, 1)?);
        let database = read_database(rid, &CatalogueRow::parse(&value)?)?;
        let (containers, users) = (BTreeMap::new(), BTreeMap::new());
        catalogue.set_database(DatabaseEntry {
            database,
            containers,
            users,
        });
    }
    for (key, value) in store.catalogue(CONTAINER)? {
        let (database, entry) =
            read_container(read_u32(&key, 1)?, &CatalogueRow::parse(&value)?, store)?;
        let database = database_name(&catalogue, database)?;
        catalogue.set_container(&database, entry);
    }
    for (_, value) in store.catalogue(OFFER)? {
        let entry = CatalogueRow::parse(&value)?;
        let etag = Etag::from_stored(entry.text("etag")?);
        let offer =
            Offer::from_value(entry.0.get("offer"), etag).map_err(|error| damaged(&error))?;
        catalogue.offers.insert(offer.rid.id(), Arc::new(offer));
    }
    for (key, value) in store.catalogue(USER)? {
        let rid = UserRid::new(DatabaseRid::new(read_u32(&key, 1)?), read_u32(&key, 5)?);
        let user = read_user(rid, &CatalogueRow::parse(&value)?)?;
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
        let user = UserRid::new(DatabaseRid::new(read_u32(&key, 1)?), read_u32(&key, 5)?);
        let rid = PermissionRid::new(user, read_u64(&key, 9)?);
        let permission = read_permission(rid, &CatalogueRow::parse(&value)?)?;
        catalogue.change_user(user.database(), user, |user| {
            user.permissions
                .insert(permission.id.clone(), Arc::new(permission));
        });
    }
    for (key, value) in store.catalogue(SCRIPT)? {
        let script = read_script(&key, &CatalogueRow::parse(&value)?)?;
        let address = ContainerAddress::Rid(script.rid.container());
        let (database, entry) = catalogue
            .container(address)
            .map_err(|_| damaged(&"a script without its container"))?;
        let (database, entry) = (database.database.id.clone(), Arc::clone(entry));
        catalogue.change_scripts(&database, &entry, |scripts| scripts.insert(script));
    }
    let pending = read_unfinished_work(store)?;
    Ok((catalogue, pending))
}

/// Reads the marks of unfinished background work.
pub(crate) fn read_unfinished_work(store: &CatalogueState) -> Result<UnfinishedWork, Error> {
    let numbers = |kind| -> Result<Vec<u32>, Error> {
        store
            .catalogue(kind)?
            .iter()
            .map(|(key, _)| read_u32(key, 1))
            .collect()
    };
    Ok(UnfinishedWork {
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

fn read_id_counters(entry: &CatalogueRow) -> Result<IdCounters, Error> {
    Ok(IdCounters {
        database: entry.number_u32("database")?,
        container: entry.number_u32("container")?,
        user: entry.number_u32("user")?,
        permission: entry.number("permission")?,
        offer: entry.number_u32("offer")?,
        // Catalogues from before stored scripts have no script counter.
        script: entry.number("script").unwrap_or(0),
        change: entry.number("change")?,
    })
}

fn read_database(rid: DatabaseRid, entry: &CatalogueRow) -> Result<Database, Error> {
    Ok(Database {
        rid,
        id: entry.text("id")?.to_owned(),
        etag: Etag::from_stored(entry.text("etag")?),
        modified_seconds: entry.number("modified")?,
        offer: entry.offer()?,
    })
}

fn read_former_range(former: &Value) -> Result<FormerRange, Error> {
    let former = CatalogueRow(former.clone());
    Ok(FormerRange {
        id: RangeId(former.number_u32("id")?),
        range: former.epk_range()?,
    })
}

fn read_container(
    id: u32,
    entry: &CatalogueRow,
    store: &CatalogueState,
) -> Result<(DatabaseRid, ContainerEntry), Error> {
    let database = DatabaseRid::new(entry.number_u32("database")?);
    let rid = ContainerRid::new(database, id);
    let definition =
        ContainerDefinition::parse(entry.0.get("definition")).map_err(|error| damaged(&error))?;
    let ranges = entry.0.get("ranges").as_array().unwrap_or_default();
    let partition = |range: &Value| {
        let range = CatalogueRow(range.clone());
        let id = RangeId(range.number_u32("id")?);
        // The partition continues with the LSN and counts that the store has for it.
        let counters = store.counters(rid.id(), id)?;
        let parents = range.0.get("parents").as_array().unwrap_or_default();
        let parent =
            |number: &Value| Some(RangeId(u32::try_from(number.as_number()?.as_i64()?).ok()?));
        let parents: Option<Vec<RangeId>> = parents.iter().map(parent).collect();
        let parents = parents.ok_or_else(|| damaged(&"the parents of a range are not numbers"))?;
        let former = range.0.get("former").as_array().unwrap_or_default();
        let former = former.iter().map(read_former_range);
        let former = former.collect::<Result<_, Error>>()?;
        let range = range.epk_range()?;
        let partition = Partition::new(id, range, counters);
        Ok(Arc::new(partition.with_ancestors(parents, former)))
    };
    let partitions = ranges.iter().map(partition).collect::<Result<_, Error>>()?;
    // The self link is derived from the resource id and is not stored.
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

fn read_user(rid: UserRid, entry: &CatalogueRow) -> Result<User, Error> {
    Ok(User {
        rid,
        id: entry.text("id")?.to_owned(),
        etag: Etag::from_stored(entry.text("etag")?),
        modified_seconds: entry.number("modified")?,
    })
}

fn read_permission(rid: PermissionRid, entry: &CatalogueRow) -> Result<Permission, Error> {
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

fn read_script(key: &[u8], entry: &CatalogueRow) -> Result<Script, Error> {
    let database = DatabaseRid::new(entry.number_u32("database")?);
    let container = ContainerRid::new(database, read_u32(key, 1)?);
    let counter = read_u64(key, 5)?;
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

/// One stored object, with getters that report a missing or wrong field as damage.
struct CatalogueRow(Value);

impl CatalogueRow {
    fn parse(bytes: &[u8]) -> Result<CatalogueRow, Error> {
        parse(bytes)
            .map(CatalogueRow)
            .map_err(|error| damaged(&error))
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

    /// The range between the properties `min` and `max`.
    fn epk_range(&self) -> Result<EpkRange, Error> {
        let epk = |name| Epk::from_hex(self.text(name)?).map_err(|error| damaged(&error));
        Ok(EpkRange::new(epk("min")?, epk("max")?))
    }

    fn number_u32(&self, name: &str) -> Result<u32, Error> {
        u32::try_from(self.number(name)?).map_err(|error| damaged(&error))
    }

    fn offer(&self) -> Result<Option<OfferRid>, Error> {
        if self.0.get("offer").is_undefined() {
            return Ok(None);
        }
        Ok(Some(OfferRid::new(self.number_u32("offer")?)))
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

/// Reads a number of four bytes at an offset of a key.
fn read_u32(key: &[u8], at: usize) -> Result<u32, Error> {
    let bytes = key.get(at..).and_then(|rest| rest.first_chunk().copied());
    bytes
        .map(u32::from_be_bytes)
        .ok_or_else(|| damaged(&"a short key"))
}

/// Reads a number of eight bytes at an offset of a key.
fn read_u64(key: &[u8], at: usize) -> Result<u64, Error> {
    let bytes = key.get(at..).and_then(|rest| rest.first_chunk().copied());
    bytes
        .map(u64::from_be_bytes)
        .ok_or_else(|| damaged(&"a short key"))
}

/// A row with a JSON object of the defined fields.
fn put<const N: usize>(key: Bytes, fields: [(&str, Value); N]) -> CatalogueWrite {
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
