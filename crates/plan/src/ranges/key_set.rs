//! Sets of partition keys, as a filter restricts them.
//!
//! A set is a union of boxes. A box lists the allowed values of each key level, or allows any value
//! at that level. An inexact set contains superfluous keys and lacks none, so that a plan never
//! misses a document.

use std::collections::HashSet;

use orrery_keys::KeyComponent;

use crate::limits::ALTERNATIVES_MAX;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeySet {
    /// Number of levels of a key.
    depth: usize,
    /// Empty for the set without any key.
    boxes: Vec<KeyBox>,
}

/// The allowed values of each level; `None` allows every value.
pub(crate) type KeyBox = Vec<Option<Vec<KeyComponent>>>;

impl KeySet {
    pub(crate) fn all(depth: usize) -> KeySet {
        KeySet {
            depth,
            boxes: vec![vec![None; depth]],
        }
    }

    pub(crate) fn nothing(depth: usize) -> KeySet {
        KeySet {
            depth,
            boxes: Vec::new(),
        }
    }

    /// The keys with one of `values` at `level`.
    pub(crate) fn at(depth: usize, level: usize, values: Vec<KeyComponent>) -> KeySet {
        if values.is_empty() {
            return KeySet::nothing(depth);
        }
        let mut levels = vec![None; depth];
        levels[level] = Some(values);
        KeySet {
            depth,
            boxes: vec![levels],
        }
    }

    /// Whether some box of the set allows every key.
    fn is_all(&self) -> bool {
        self.boxes
            .iter()
            .any(|keys| keys.iter().all(Option::is_none))
    }

    pub(crate) fn boxes(&self) -> &[KeyBox] {
        &self.boxes
    }

    pub(crate) fn union(mut self, other: KeySet) -> KeySet {
        for keys in other.boxes {
            self.add(keys);
        }
        // Too many alternatives: the set widens to all keys instead of growing further.
        if self.boxes.len() > ALTERNATIVES_MAX {
            return KeySet::all(self.depth);
        }
        self
    }

    /// Adds a box. Boxes that restrict the same single level are merged, so that a long chain of `k
    /// = 1 OR k = 2 OR ...` stays one box.
    fn add(&mut self, keys: KeyBox) {
        if let Some(level) = single_level(&keys) {
            for known in &mut self.boxes {
                if single_level(known) == Some(level)
                    && let (Some(known), Some(values)) = (&mut known[level], &keys[level])
                {
                    known.extend(values.iter().cloned());
                    return;
                }
            }
        }
        self.boxes.push(keys);
    }

    pub(crate) fn intersection(self, other: &KeySet) -> KeySet {
        if other.is_all() {
            return self;
        }
        // The product would be too large. Ignoring `other` only makes the result larger than
        // necessary.
        if self.boxes.len() * other.boxes.len() > ALTERNATIVES_MAX {
            return self;
        }
        let mut both = KeySet::nothing(self.depth);
        for left in &self.boxes {
            for right in &other.boxes {
                if let Some(keys) = common(left, right) {
                    both.add(keys);
                }
            }
        }
        both
    }
}

/// The only level that a box restricts; `None` for none or several.
fn single_level(keys: &KeyBox) -> Option<usize> {
    let mut levels = (0..keys.len()).filter(|level| keys[*level].is_some());
    let first = levels.next()?;
    levels.next().is_none().then_some(first)
}

/// The intersection of two boxes; `None` if it is empty.
fn common(left: &KeyBox, right: &KeyBox) -> Option<KeyBox> {
    left.iter()
        .zip(right)
        .map(|(left, right)| match (left, right) {
            (None, values) | (values, None) => Some(values.clone()),
            (Some(left), Some(right)) => {
                let right: HashSet<&KeyComponent> = right.iter().collect();
                let values: Vec<KeyComponent> = left
                    .iter()
                    .filter(|value| right.contains(value))
                    .cloned()
                    .collect();
                (!values.is_empty()).then_some(Some(values))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(level: usize, values: &[i32]) -> KeySet {
        let values = values
            .iter()
            .map(|value| KeyComponent::Number(f64::from(*value)));
        KeySet::at(2, level, values.collect())
    }

    #[test]
    fn levels_combine() {
        let both = at(0, &[1, 2]).intersection(&at(1, &[3]));
        assert_eq!(both.boxes().len(), 1);
        assert_eq!(both.clone().intersection(&at(1, &[4])), KeySet::nothing(2));
        assert_eq!(
            both.intersection(&at(0, &[2, 7])),
            at(0, &[2]).intersection(&at(1, &[3]))
        );
        assert_eq!(at(0, &[1]).union(at(0, &[2])), at(0, &[1, 2]));
        assert_eq!(at(0, &[1]).union(at(1, &[2])).boxes().len(), 2);
    }
}
