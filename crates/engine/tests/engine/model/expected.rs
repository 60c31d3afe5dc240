//! The expected contents of a container, and its expected answers.

use std::collections::{BTreeMap, BTreeSet};

use orrery_json::{Number, Object, Value};
use orrery_model::{
    ConflictKind, Failure, OperationOutcome, OperationStatus, Precondition, RangeId,
};

use crate::model::operations::{Action, Edit, Step};
use crate::support::json;

/// Key and id.
pub(crate) type ItemKey = (String, String);

#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) object: Object,
    /// The item as the write returned it.
    pub(crate) text: String,
    etag: String,
    rid: String,
    modified: u64,
    pub(crate) range: RangeId,
}

#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) id: &'static str,
    pub(crate) settings: &'static str,
    pub(crate) throughput: u32,
    pub(crate) key_paths: Vec<&'static str>,
    pub(crate) unique: Vec<Vec<&'static str>>,
    pub(crate) default_ttl: Option<i64>,
    /// Whether background work may have used LSNs.
    pub(crate) had_ttl: bool,
    pub(crate) items: BTreeMap<ItemKey, Item>,
    /// Resource ids ever seen.
    rids: BTreeSet<String>,
}

/// What an operation should do.
enum Effect {
    Read(String),
    NotModified,
    Delete {
        id: String,
    },
    /// Writes `object`; `replaced` is the id of the existing item, if there was one.
    Write {
        object: Object,
        replaced: Option<String>,
    },
}

impl Expected {
    pub(crate) fn new(
        id: &'static str,
        settings: &'static str,
        throughput: u32,
        key_paths: &[&'static str],
        unique: &[&[&'static str]],
        default_ttl: Option<i64>,
    ) -> Expected {
        Expected {
            id,
            settings,
            throughput,
            key_paths: key_paths.to_vec(),
            unique: unique.iter().map(|paths| paths.to_vec()).collect(),
            default_ttl,
            had_ttl: default_ttl.is_some(),
            items: BTreeMap::new(),
            rids: BTreeSet::new(),
        }
    }

    pub(crate) fn etag(&self, key: &str, id: &str) -> Option<String> {
        self.items
            .get(&place(key, id))
            .map(|item| item.etag.clone())
    }

    pub(crate) fn is_visible(&self, item: &Item, now: u64) -> bool {
        let Some(default) = self.default_ttl else {
            return true;
        };
        let seconds = match ttl(&item.object) {
            Ok(Some(own)) => own,
            Ok(None) | Err(()) => default,
        };
        seconds < 0 || now < item.modified + u64::try_from(seconds).unwrap()
    }

    /// The items that can be seen.
    pub(crate) fn visible(&self, now: u64) -> impl Iterator<Item = (&ItemKey, &Item)> {
        self.items
            .iter()
            .filter(move |(_, item)| self.is_visible(item, now))
    }

    pub(crate) fn forget_expired(&mut self, now: u64) {
        let kept = self
            .visible(now)
            .map(|(place, item)| (place.clone(), item.clone()))
            .collect();
        self.items = kept;
    }

    /// Compares the answer of a transaction with the prediction and applies the effects. Returns
    /// whether the transaction wrote anything.
    pub(crate) fn transact(
        &mut self,
        key: &str,
        steps: &[Step],
        results: &[Result<OperationOutcome, Failure>],
        now: u64,
        range: RangeId,
    ) -> bool {
        assert_eq!(results.len(), steps.len());
        let before = self.items.clone();
        let mut end = None;
        let mut wrote = false;
        for (index, step) in steps.iter().enumerate() {
            let effect = self
                .check(key, step)
                .and_then(|()| self.effect(key, step, now));
            match effect {
                Ok(effect) => {
                    wrote |= matches!(effect, Effect::Write { .. } | Effect::Delete { .. });
                    match &results[index] {
                        Ok(outcome) => self.happen(key, effect, outcome, now, range),
                        Err(_) => self.pretend(key, effect, now, range),
                    }
                }
                Err(failure) => {
                    end = Some((index, failure));
                    break;
                }
            }
        }
        let Some((failing, expected)) = end else {
            let refused = results.iter().find_map(|result| result.as_ref().err());
            assert_eq!(refused, None, "{steps:?}");
            return wrote;
        };
        self.items = before;
        for (index, result) in results.iter().enumerate() {
            let failure = result.as_ref().unwrap_err();
            match (failure, &expected) {
                (failure, _) if index != failing => {
                    assert_eq!(failure, &Failure::FailedDependency, "{steps:?}");
                }
                (Failure::BadRequest(_), Failure::BadRequest(_)) => {}
                (failure, expected) => assert_eq!(failure, expected, "{steps:?}"),
            }
        }
        false
    }

    fn check(&self, key: &str, step: &Step) -> Result<(), Failure> {
        match &step.action {
            Action::Create(object) | Action::Upsert(object) | Action::Replace(_, object) => {
                self.check_object(key, object)
            }
            Action::Read(_) | Action::Patch { .. } | Action::Delete(_) => Ok(()),
        }
    }

    fn check_object(&self, key: &str, object: &Object) -> Result<(), Failure> {
        if !self.key_fits(key, object) {
            return Err(Failure::PartitionKeyMismatch);
        }
        if ttl(object).is_err() {
            return Err(bad_request());
        }
        Ok(())
    }

    fn key_fits(&self, key: &str, object: &Object) -> bool {
        let components = json(key);
        self.key_paths.iter().enumerate().all(|(index, path)| {
            let component = components.at(index);
            match object.get(*path) {
                None => component.as_object().is_some(),
                Some(value) => value.to_string() == component.to_string(),
            }
        })
    }

    fn effect(&self, key: &str, step: &Step, now: u64) -> Result<Effect, Failure> {
        let current = |id: &str| {
            self.items
                .get(&place(key, id))
                .filter(|item| self.is_visible(item, now))
        };
        let existing = |id: &str| {
            let item = current(id).ok_or(Failure::NOT_FOUND)?;
            check_conditions(step, item)?;
            Ok(item)
        };
        match &step.action {
            Action::Create(object) => {
                if current(id_of(object)).is_some() {
                    return Err(Failure::Conflict(ConflictKind::Id));
                }
                self.write(key, object.clone(), None, now)
            }
            Action::Upsert(object) => {
                let id = id_of(object);
                let Some(item) = current(id) else {
                    return self.write(key, object.clone(), None, now);
                };
                check_conditions(step, item)?;
                self.write(key, object.clone(), Some(id), now)
            }
            Action::Read(id) => {
                let item = current(id).ok_or(Failure::NOT_FOUND)?;
                let known = step.if_match.as_ref();
                let known = known.filter(|condition| **condition != Precondition::Any);
                let mut conditions = step.if_none_match.iter().chain(known);
                let unchanged = conditions.any(|condition| matches(condition, item));
                Ok(if unchanged {
                    Effect::NotModified
                } else {
                    Effect::Read(item.text.clone())
                })
            }
            Action::Replace(id, object) => {
                existing(id)?;
                let new = id_of(object);
                if new != id && current(new).is_some() {
                    return Err(Failure::Conflict(ConflictKind::Id));
                }
                self.write(key, object.clone(), Some(id), now)
            }
            Action::Patch {
                id,
                edits,
                condition,
            } => {
                let item = existing(id)?;
                let n = item
                    .object
                    .get("n")
                    .and_then(Value::as_number)
                    .and_then(Number::as_i64);
                if condition.is_some_and(|condition| n != Some(condition)) {
                    return Err(Failure::PatchConditionFalse);
                }
                let mut object = item.object.clone();
                for edit in edits {
                    apply(&mut object, edit)?;
                }
                if id_of(&object) != id || self.check_object(key, &object).is_err() {
                    return Err(bad_request());
                }
                self.write(key, object, Some(id), now)
            }
            Action::Delete(id) => {
                existing(id)?;
                Ok(Effect::Delete { id: id.clone() })
            }
        }
    }

    fn write(
        &self,
        key: &str,
        object: Object,
        replaced: Option<&str>,
        now: u64,
    ) -> Result<Effect, Failure> {
        let taken = self.visible(now).any(|((other_key, id), item)| {
            let another = id != id_of(&object) && Some(id.as_str()) != replaced;
            other_key == key
                && another
                && self
                    .unique
                    .iter()
                    .any(|paths| same_values(paths, &item.object, &object))
        });
        if taken {
            return Err(Failure::Conflict(ConflictKind::UniqueKey));
        }
        Ok(Effect::Write {
            object,
            replaced: replaced.map(str::to_owned),
        })
    }

    /// Checks an outcome against the expected effect, and applies the effect to the model.
    fn happen(
        &mut self,
        key: &str,
        effect: Effect,
        outcome: &OperationOutcome,
        now: u64,
        range: RangeId,
    ) {
        let body = outcome
            .body
            .as_ref()
            .map(|body| String::from_utf8(body.to_vec()).unwrap());
        match effect {
            Effect::Read(text) => {
                assert_eq!((outcome.status, body), (OperationStatus::Ok, Some(text)));
            }
            Effect::NotModified => {
                assert_eq!((outcome.status, body), (OperationStatus::NotModified, None));
            }
            Effect::Delete { id } => {
                assert_eq!((outcome.status, body), (OperationStatus::Deleted, None));
                self.items.remove(&place(key, &id));
            }
            Effect::Write { object, replaced } => {
                let text = body.unwrap();
                let old = replaced.and_then(|id| self.items.remove(&place(key, &id)));
                let status = if old.is_some() {
                    OperationStatus::Ok
                } else {
                    OperationStatus::Created
                };
                assert_eq!(outcome.status, status);
                let answered = json(&text);
                let system = |name: &str| answered.get(name).as_str().unwrap().to_owned();
                let (rid, etag) = (system("_rid"), system("_etag"));
                assert_eq!(outcome.etag.as_ref().unwrap().as_str(), etag);
                match &old {
                    Some(old) => {
                        assert_eq!(rid, old.rid);
                        assert_ne!(etag, old.etag);
                    }
                    None => assert!(self.rids.insert(rid.clone()), "{rid} was given twice"),
                }
                let mut whole = object.clone();
                for name in ["_rid", "_self", "_etag", "_attachments"] {
                    whole.insert(name.to_owned(), answered.get(name).clone());
                }
                whole.insert("_ts".to_owned(), i64::try_from(now).unwrap().into());
                assert!(
                    system("_self").ends_with(&format!("/docs/{rid}/")),
                    "{text}"
                );
                assert_eq!(text, Value::Object(whole).to_string());
                let item = Item {
                    text,
                    etag,
                    rid,
                    modified: now,
                    range,
                    object,
                };
                self.items.insert(place(key, id_of(&item.object)), item);
            }
        }
    }
}

impl Expected {
    /// Applies an effect without a known outcome, because a later operation of the transaction will
    /// fail.
    fn pretend(&mut self, key: &str, effect: Effect, now: u64, range: RangeId) {
        match effect {
            Effect::Read(_) | Effect::NotModified => {}
            Effect::Delete { id } => drop(self.items.remove(&place(key, &id))),
            Effect::Write { object, replaced } => {
                if let Some(id) = replaced {
                    self.items.remove(&place(key, &id));
                }
                let unknown = || "unknown".to_owned();
                let (text, etag, rid) = (unknown(), unknown(), unknown());
                let item = Item {
                    text,
                    etag,
                    rid,
                    modified: now,
                    range,
                    object,
                };
                self.items.insert(place(key, id_of(&item.object)), item);
            }
        }
    }
}

fn place(key: &str, id: &str) -> ItemKey {
    (key.to_owned(), id.to_owned())
}

fn id_of(object: &Object) -> &str {
    object.get("id").and_then(Value::as_str).unwrap()
}

fn bad_request() -> Failure {
    Failure::bad_request("")
}

/// The item's own `ttl`, or `None` without one; an invalid value is an error.
fn ttl(object: &Object) -> Result<Option<i64>, ()> {
    let Some(value) = object.get("ttl") else {
        return Ok(None);
    };
    let seconds = value.as_number().and_then(Number::as_i64);
    seconds
        .filter(|seconds| *seconds == -1 || *seconds > 0)
        .map(Some)
        .ok_or(())
}

fn same_values(paths: &[&str], one: &Object, other: &Object) -> bool {
    let value = |object: &Object, path: &str| {
        object
            .get(path)
            .map_or_else(|| "null".to_owned(), Value::to_string)
    };
    paths
        .iter()
        .all(|path| value(one, path) == value(other, path))
}

fn matches(condition: &Precondition, item: &Item) -> bool {
    match condition {
        Precondition::Any => true,
        Precondition::Etag(etag) => *etag == item.etag,
    }
}

fn check_conditions(step: &Step, item: &Item) -> Result<(), Failure> {
    let differs = step
        .if_match
        .as_ref()
        .is_some_and(|condition| !matches(condition, item));
    let hit = step
        .if_none_match
        .as_ref()
        .is_some_and(|condition| matches(condition, item));
    if differs || hit {
        Err(Failure::PreconditionFailed)
    } else {
        Ok(())
    }
}

fn apply(object: &mut Object, edit: &Edit) -> Result<(), Failure> {
    match edit {
        Edit::Set(name, value) => {
            object.insert((*name).to_owned(), value.clone());
        }
        Edit::Remove(name) => {
            object.shift_remove(*name).ok_or_else(bad_request)?;
        }
        Edit::Increment(name, by) => {
            let sum = match object.get(*name) {
                None => *by,
                Some(Value::Number(number)) => number.as_i64().unwrap() + by,
                Some(_) => return Err(bad_request()),
            };
            object.insert((*name).to_owned(), sum.into());
        }
    }
    Ok(())
}
