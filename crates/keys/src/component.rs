//! One level of a partition key: a scalar, or the absence of one.

use std::hash::{Hash, Hasher};

use orrery_json::Value;

/// The value of one partition key path.
///
/// Equality is by value: `0.0` and `-0.0` are one component, and so are all NaNs.
#[derive(Debug, Clone)]
pub enum Component {
    /// The path is absent from the document; not the same key as `Null`.
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    String(String),
}

impl Component {
    /// The component a JSON value stands for; `None` for arrays and objects.
    pub fn from_value(value: &Value) -> Option<Component> {
        match value {
            Value::Undefined => Some(Component::Undefined),
            Value::Null => Some(Component::Null),
            Value::Bool(value) => Some(Component::Bool(*value)),
            Value::Number(number) => Some(Component::Number(normal(number.as_f64()))),
            Value::String(text) => Some(Component::String(text.clone())),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The one representative of all components equal to this one.
    pub(crate) fn normalised(self) -> Component {
        match self {
            Component::Number(number) => Component::Number(normal(number)),
            other => other,
        }
    }
}

impl PartialEq for Component {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Component::Undefined, Component::Undefined) | (Component::Null, Component::Null) => {
                true
            }
            (Component::Bool(a), Component::Bool(b)) => a == b,
            (Component::Number(a), Component::Number(b)) => {
                normal(*a).to_bits() == normal(*b).to_bits()
            }
            (Component::String(a), Component::String(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Component {}

impl Hash for Component {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Component::Undefined | Component::Null => {}
            Component::Bool(value) => value.hash(state),
            Component::Number(number) => normal(*number).to_bits().hash(state),
            Component::String(text) => text.hash(state),
        }
    }
}

/// Equal numbers must hash alike, so of the two zeros and the many NaNs one is chosen.
fn normal(number: f64) -> f64 {
    if number == 0.0 {
        0.0
    } else if number.is_nan() {
        f64::NAN
    } else {
        number
    }
}
