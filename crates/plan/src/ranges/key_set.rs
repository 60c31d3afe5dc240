//! Sets of partition keys, as far as a filter describes them.
//!
//! A set is a union of boxes. A box says for each level of the key which values it may have, or
//! nothing. Sets only ever err by being too large.

use std::collections::HashSet;

use orrery_keys::Component;

use crate::limits::ALTERNATIVES_MAX;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeySet {
    /// Levels of a key.
    depth: usize,
    /// None: no key at all.
    boxes: Vec<KeyBox>,
}

/// The values of each level; `None` is any value.
pub(crate) type KeyBox = Vec<Option<Vec<Component>>>;

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

    /// The keys with one of these values at `level`.
    pub(crate) fn at(depth: usize, level: usize, values: Vec<Component>) -> KeySet {
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
        if self.boxes.len() > ALTERNATIVES_MAX {
            return KeySet::all(self.depth);
        }
        self
    }

    /// A long chain of `k = 1 OR k = 2 OR ...` stays one box.
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

fn single_level(keys: &KeyBox) -> Option<usize> {
    let mut levels = (0..keys.len()).filter(|level| keys[*level].is_some());
    let first = levels.next()?;
    levels.next().is_none().then_some(first)
}

fn common(left: &KeyBox, right: &KeyBox) -> Option<KeyBox> {
    left.iter()
        .zip(right)
        .map(|(left, right)| match (left, right) {
            (None, values) | (values, None) => Some(values.clone()),
            (Some(left), Some(right)) => {
                let right: HashSet<&Component> = right.iter().collect();
                let values: Vec<Component> = left
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
            .map(|value| Component::Number(f64::from(*value)));
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
