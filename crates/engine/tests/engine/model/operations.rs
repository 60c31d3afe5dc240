//! Random operations. Few ids, keys and values exist, so that operations collide.

use orrery_json::{Object, Value};
use orrery_model::{
    Document, JsonPointer, Operation, OperationKind, Patch, PatchAction, PatchOperation,
    Precondition,
};

use crate::model::expected::Expected;
use crate::random::Random;

const IDS: [&str; 7] = ["1", "2", "3", "4", "a b", "é", "1\u{0}"];
const SINGLE_KEYS: [&str; 6] = [r#"["a"]"#, r#"["b"]"#, "[1]", "[null]", "[{}]", "[true]"];
const PAIR_KEYS: [&str; 5] = [
    r#"["a","x"]"#,
    r#"["a","y"]"#,
    r#"["b","x"]"#,
    r#"["a",{}]"#,
    r#"["",1]"#,
];

#[derive(Debug, Clone)]
pub(crate) enum Action {
    Create(Object),
    Upsert(Object),
    Read(String),
    Replace(String, Object),
    Patch {
        id: String,
        edits: Vec<Edit>,
        condition: Option<i64>,
    },
    Delete(String),
}

/// One operation of a patch, always on a top-level property.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Set(&'static str, Value),
    Remove(&'static str),
    Increment(&'static str, i64),
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) action: Action,
    pub(crate) if_match: Option<Precondition>,
    pub(crate) if_none_match: Option<Precondition>,
}

pub(crate) fn key(random: &mut Random, expected: &Expected) -> &'static str {
    if expected.key_paths.len() == 1 {
        random.pick::<&str>(&SINGLE_KEYS)
    } else {
        random.pick::<&str>(&PAIR_KEYS)
    }
}

pub(crate) fn step(random: &mut Random, expected: &Expected, key: &str) -> Step {
    let id = (*random.pick(&IDS)).to_owned();
    let action = match random.below(12) {
        0..3 => Action::Create(object(random, expected, key, &id)),
        3..6 => Action::Upsert(object(random, expected, key, &id)),
        6 | 7 => {
            let new = if random.chance(30) {
                random.pick(&IDS)
            } else {
                id.as_str()
            };
            Action::Replace(id.clone(), object(random, expected, key, new))
        }
        8 | 9 => Action::Patch {
            id: id.clone(),
            edits: (0..=random.below(3)).map(|_| edit(random)).collect(),
            condition: random.chance(20).then(|| number(random)),
        },
        10 => Action::Delete(id.clone()),
        _ => Action::Read(id.clone()),
    };
    let mut condition = |percent| {
        random
            .chance(percent)
            .then(|| precondition(random, expected, key, &id))
    };
    Step {
        action,
        if_match: condition(20),
        if_none_match: condition(10),
    }
}

fn precondition(random: &mut Random, expected: &Expected, key: &str, id: &str) -> Precondition {
    let etag = expected.etag(key, id);
    match random.below(4) {
        0 => Precondition::Any,
        1 => Precondition::Etag("\"never\"".to_owned()),
        _ => Precondition::Etag(etag.unwrap_or_else(|| "\"none\"".to_owned())),
    }
}

fn number(random: &mut Random) -> i64 {
    i64::try_from(random.below(4)).unwrap()
}

fn object(random: &mut Random, expected: &Expected, key: &str, id: &str) -> Object {
    let mut object = Object::default();
    object.insert("n".to_owned(), Value::from(number(random)));
    object.insert("id".to_owned(), Value::from(id));
    let components = orrery_json::parse(key.as_bytes()).unwrap();
    for (index, path) in expected.key_paths.iter().enumerate() {
        let component = components.at(index);
        let wrong = random.chance(2);
        if wrong {
            object.insert((*path).to_owned(), Value::from("wrong"));
        } else if component.as_object().is_none() {
            object.insert((*path).to_owned(), component.clone());
        }
    }
    for name in ["u", "v", "w"] {
        if random.chance(80) {
            let value = if random.chance(10) {
                Value::Null
            } else {
                number(random).into()
            };
            object.insert(name.to_owned(), value);
        }
    }
    if random.chance(25) {
        object.insert("ttl".to_owned(), ttl(random));
    }
    if random.chance(30) {
        let length = usize::try_from(random.below(40)).unwrap();
        object.insert("x".to_owned(), Value::from("\"\u{1}ü".repeat(length)));
    }
    object
}

fn ttl(random: &mut Random) -> Value {
    match random.below(10) {
        0 => Value::from(0_i64),
        1 => Value::from("soon"),
        2 | 3 => Value::from(-1_i64),
        _ => Value::from(number(random) * 5 + 1),
    }
}

fn edit(random: &mut Random) -> Edit {
    match random.below(12) {
        0 => Edit::Set("id", Value::from("1")),
        1 => Edit::Set("p", Value::from("a")),
        2 => Edit::Set("ttl", ttl(random)),
        3 => Edit::Remove("x"),
        4 => Edit::Remove("u"),
        5 => Edit::Set("u", number(random).into()),
        6 => Edit::Set("n", Value::from("text")),
        7 => Edit::Set("n", number(random).into()),
        8 => Edit::Set("fresh", number(random).into()),
        _ => Edit::Increment("n", number(random)),
    }
}

impl Step {
    pub(crate) fn operation(&self) -> Operation {
        let document =
            |object: &Object| Document::from_value(Value::Object(object.clone())).unwrap();
        let kind = match &self.action {
            Action::Create(object) => OperationKind::Create(document(object)),
            Action::Upsert(object) => OperationKind::Upsert(document(object)),
            Action::Read(id) => OperationKind::Read { id: id.clone() },
            Action::Replace(id, object) => OperationKind::Replace {
                id: id.clone(),
                document: document(object),
            },
            Action::Patch {
                id,
                edits,
                condition,
            } => {
                let condition = condition.map(|n| format!("from c where c.n = {n}"));
                let operations = edits.iter().map(Edit::operation).collect();
                OperationKind::Patch {
                    id: id.clone(),
                    patch: Patch {
                        operations,
                        condition,
                    },
                }
            }
            Action::Delete(id) => OperationKind::Delete { id: id.clone() },
        };
        Operation {
            if_match: self.if_match.clone(),
            if_none_match: self.if_none_match.clone(),
            ..Operation::new(kind)
        }
    }
}

impl Edit {
    fn operation(&self) -> PatchOperation {
        let (name, action) = match self {
            Edit::Set(name, value) => (name, PatchAction::Set(value.clone())),
            Edit::Remove(name) => (name, PatchAction::Remove),
            Edit::Increment(name, by) => (name, PatchAction::Increment((*by).into())),
        };
        PatchOperation {
            path: JsonPointer::parse(&format!("/{name}")).unwrap(),
            action,
        }
    }
}
