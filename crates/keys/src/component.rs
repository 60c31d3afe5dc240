//! One component of a partition key: a scalar, or `Undefined`.

use std::hash::{Hash, Hasher};

use orrery_json::Value;

/// The value of one partition key path.
///
/// Equality is by value: `0.0` and `-0.0` are one component, and so are all NaNs.
#[derive(Debug, Clone)]
pub enum KeyComponent {
    /// The path is absent from the document; not the same key as `Null`.
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    String(String),
}

impl KeyComponent {
    /// The component of a JSON value; `None` for arrays and objects.
    pub fn from_value(value: &Value) -> Option<KeyComponent> {
        match value {
            Value::Undefined => Some(KeyComponent::Undefined),
            Value::Null => Some(KeyComponent::Null),
            Value::Bool(value) => Some(KeyComponent::Bool(*value)),
            Value::Number(number) => Some(KeyComponent::Number(normal(number.as_f64()))),
            Value::String(text) => Some(KeyComponent::String(text.clone())),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Maps equal components to one representation, so that equal keys have equal hashes.
    pub(crate) fn normalised(self) -> KeyComponent {
        match self {
            KeyComponent::Number(number) => KeyComponent::Number(normal(number)),
            other => other,
        }
    }
}

impl PartialEq for KeyComponent {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (KeyComponent::Undefined, KeyComponent::Undefined)
            | (KeyComponent::Null, KeyComponent::Null) => true,
            (KeyComponent::Bool(a), KeyComponent::Bool(b)) => a == b,
            (KeyComponent::Number(a), KeyComponent::Number(b)) => {
                normal(*a).to_bits() == normal(*b).to_bits()
            }
            (KeyComponent::String(a), KeyComponent::String(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for KeyComponent {}

impl Hash for KeyComponent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            KeyComponent::Undefined | KeyComponent::Null => {}
            KeyComponent::Bool(value) => value.hash(state),
            KeyComponent::Number(number) => normal(*number).to_bits().hash(state),
            KeyComponent::String(text) => text.hash(state),
        }
    }
}

/// Maps both zeros to `0.0` and every NaN to one NaN, because equal numbers must have equal hashes.
fn normal(number: f64) -> f64 {
    if number == 0.0 {
        0.0
    } else if number.is_nan() {
        f64::NAN
    } else {
        number
    }
}
