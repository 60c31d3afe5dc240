//! The index state of a container: which indexing policy the entries of each document follow.
//!
//! A new policy does not change the entries of stored documents at once. A background walk rewrites
//! the entries in key order, one step at a time. The index state assigns a policy to every key
//! range: the first range has the newest policy and grows until it covers the whole container.
//! Replacing the policy during a walk adds another range.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_index::IndexDefinition;
use orrery_json::{parse, write_value};
use orrery_model::IndexingPolicy;

use crate::history::history_key;
use crate::keyspaces::{CATALOGUE, INDEXING_POLICY, META, REMOVAL_MARK};
use crate::overlay::Overlay;
use crate::record::KeyChange;
use crate::{Container, Error};

const VERSION: u8 = 1;

/// A compiled indexing policy together with its canonical text.
#[derive(Debug)]
pub struct ContainerIndex {
    text: Bytes,
    definition: IndexDefinition,
    /// The encoded state of a container whose documents all follow this policy.
    settled: Bytes,
}

impl ContainerIndex {
    pub fn new(policy: &IndexingPolicy) -> ContainerIndex {
        let mut text = Vec::new();
        write_value(&policy.to_value(), &mut text);
        ContainerIndex::known_as(text.into(), policy)
    }

    fn known_as(text: Bytes, policy: &IndexingPolicy) -> ContainerIndex {
        let mut settled = vec![VERSION];
        write_policy_range(None, &text, &mut settled);
        ContainerIndex {
            text,
            definition: IndexDefinition::new(policy),
            settled: settled.into(),
        }
    }

    fn read(text: Bytes) -> Result<ContainerIndex, Error> {
        let damaged = || Error::Damaged("a stored indexing policy does not parse".to_owned());
        let policy = parse(&text).map_err(|_| damaged())?;
        let policy = IndexingPolicy::of_value(policy).map_err(|_| damaged())?;
        Ok(ContainerIndex::known_as(text, &policy))
    }

    pub fn definition(&self) -> &IndexDefinition {
        &self.definition
    }

    /// The encoded state of a container whose documents all follow this policy.
    pub(crate) fn settled(&self) -> &Bytes {
        &self.settled
    }

    /// The canonical text of the policy. Equal texts mean equal entries.
    pub fn text(&self) -> &Bytes {
        &self.text
    }
}

/// The policies that the entries of a container follow, by key range.
#[derive(Debug, Clone)]
pub(crate) struct IndexState {
    /// In key order; the last range has no end.
    ranges: Vec<PolicyRange>,
}

#[derive(Debug, Clone)]
struct PolicyRange {
    /// The first document key after the range; `None` for the last range.
    until: Option<Bytes>,
    index: Arc<ContainerIndex>,
}

impl IndexState {
    pub(crate) fn settled(index: Arc<ContainerIndex>) -> IndexState {
        IndexState {
            ranges: vec![PolicyRange { until: None, index }],
        }
    }

    /// The state after a change of the policy, when no document follows the new policy yet.
    pub(crate) fn replaced(&self, container: u32, index: Arc<ContainerIndex>) -> IndexState {
        if self.ranges[0].index.text == index.text {
            return self.clone();
        }
        let start = Bytes::copy_from_slice(&container.to_be_bytes());
        // Ranges that the walk had not begun to fill are empty and are dropped.
        let begun =
            |segment: &&PolicyRange| segment.until.as_ref().is_none_or(|until| *until > start);
        let first = PolicyRange {
            until: Some(start.clone()),
            index,
        };
        let rest = self.ranges.iter().filter(begun).cloned();
        IndexState {
            ranges: std::iter::once(first).chain(rest).collect(),
        }
    }

    /// The state after the walk has passed all documents before `key`, or all documents if `None`.
    pub(crate) fn advanced(&self, key: Option<&Bytes>) -> IndexState {
        let ahead = |segment: &&PolicyRange| match (&segment.until, key) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(until), Some(key)) => until > key,
        };
        let rest: Vec<PolicyRange> = self.ranges[1..].iter().filter(ahead).cloned().collect();
        let first = PolicyRange {
            until: key.cloned(),
            index: Arc::clone(&self.ranges[0].index),
        };
        IndexState {
            ranges: std::iter::once(first).chain(rest).collect(),
        }
    }

    /// The policy that the entries of a document follow.
    pub(crate) fn index_at(&self, key: &[u8]) -> &Arc<ContainerIndex> {
        let holds = |segment: &&PolicyRange| segment.until.as_ref().is_none_or(|until| key < until);
        let segment = self.ranges.iter().find(holds);
        &segment.unwrap_or(&self.ranges[0]).index
    }

    /// The policy that all documents will follow after the walk.
    pub(crate) fn newest(&self) -> &Arc<ContainerIndex> {
        &self.ranges[0].index
    }

    /// The key at which the walk continues; `None` when it is complete.
    pub(crate) fn cursor(&self) -> Option<&Bytes> {
        self.ranges[0].until.as_ref()
    }

    /// The indexes that every document has, whichever policy its entries follow.
    pub(crate) fn common(&self) -> IndexDefinition {
        let mut definitions = self.ranges.iter().map(|segment| &segment.index.definition);
        let first = definitions.next().cloned();
        let first = first.unwrap_or_else(|| IndexDefinition::new(&IndexingPolicy::none()));
        definitions.fold(first, |common, next| {
            IndexDefinition::intersection(&common, next)
        })
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut bytes = vec![VERSION];
        for segment in &self.ranges {
            write_policy_range(segment.until.as_ref(), &segment.index.text, &mut bytes);
        }
        bytes.into()
    }

    pub(crate) fn decode(bytes: &Bytes) -> Result<IndexState, Error> {
        let damaged = || Error::Damaged("the state of an index does not decode".to_owned());
        let mut at = 1;
        let mut part = || -> Option<Bytes> {
            let length = bytes.get(at..)?.first_chunk().copied();
            let length = usize::try_from(u32::from_le_bytes(length?)).ok()?;
            let from = at + 4;
            at = from.checked_add(length)?;
            bytes.get(from..at)?;
            Some(bytes.slice(from..at))
        };
        if bytes.first() != Some(&VERSION) {
            return Err(damaged());
        }
        let mut segments: Vec<PolicyRange> = Vec::new();
        while let Some(until) = part() {
            let text = part().ok_or_else(damaged)?;
            segments.push(PolicyRange {
                until: (!until.is_empty()).then_some(until),
                index: Arc::new(ContainerIndex::read(text)?),
            });
        }
        let is_whole = |(number, segment): (usize, &PolicyRange)| {
            segment.until.is_none() == (number + 1 == segments.len())
        };
        if at != bytes.len() || segments.is_empty() || !segments.iter().enumerate().all(is_whole) {
            return Err(damaged());
        }
        Ok(IndexState { ranges: segments })
    }
}

fn write_policy_range(until: Option<&Bytes>, text: &Bytes, out: &mut Vec<u8>) {
    for part in [until.map_or(&[][..], |until| until), text] {
        let length = u32::try_from(part.len()).expect("keys and policies are bounded");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(part);
    }
}

/// The key of a container's index state in the meta keyspace.
pub(crate) fn state_key(container: u32) -> [u8; 5] {
    let mut key = [b'i'; 5];
    key[1..].copy_from_slice(&container.to_be_bytes());
    key
}

/// The committer's cache of container states.
#[derive(Debug, Default)]
pub(crate) struct IndexStateCache {
    indexes: HashMap<u32, Arc<IndexState>>,
    /// Whether each container keeps its history.
    histories: HashMap<u32, bool>,
    /// Whether each container is being purged.
    purging: HashMap<u32, bool>,
}

impl IndexStateCache {
    pub(crate) fn of(
        &mut self,
        overlay: &Overlay<'_>,
        container: u32,
    ) -> Result<Arc<IndexState>, Error> {
        if let Some(state) = self.indexes.get(&container) {
            return Ok(Arc::clone(state));
        }
        let row = overlay.get(META, &Bytes::copy_from_slice(&state_key(container)))?;
        let state = Arc::new(match row {
            Some(row) => IndexState::decode(&row)?,
            None => IndexState::settled(Arc::new(ContainerIndex::new(&IndexingPolicy::none()))),
        });
        self.indexes.insert(container, Arc::clone(&state));
        Ok(state)
    }

    /// Applies a catalogue change of an indexing policy. `entry` is the mode byte followed by the
    /// policy text.
    pub(crate) fn apply(
        &mut self,
        overlay: &mut Overlay<'_>,
        container: u32,
        entry: &Bytes,
    ) -> Result<(), Error> {
        let Some(mode) = entry.first() else {
            return Err(Error::Damaged("an indexing policy is empty".to_owned()));
        };
        let index = Arc::new(ContainerIndex::read(entry.slice(1..))?);
        let state = if *mode == POLICY_OF_NEW_CONTAINER {
            IndexState::settled(index)
        } else {
            self.of(overlay, container)?.replaced(container, index)
        };
        self.set(overlay, container, state);
        Ok(())
    }

    pub(crate) fn set(&mut self, overlay: &mut Overlay<'_>, container: u32, state: IndexState) {
        let key = Bytes::copy_from_slice(&state_key(container));
        overlay.put(META, key, state.encode());
        self.indexes.insert(container, Arc::new(state));
    }

    pub(crate) fn forget(&mut self, container: u32) {
        self.indexes.remove(&container);
        self.histories.remove(&container);
        self.purging.remove(&container);
    }

    /// Whether a container was deleted and its rows are being purged.
    pub(crate) fn is_purging(
        &mut self,
        overlay: &Overlay<'_>,
        container: u32,
    ) -> Result<bool, Error> {
        if let Some(&is_leaving) = self.purging.get(&container) {
            return Ok(is_leaving);
        }
        let mark = [&[REMOVAL_MARK][..], &container.to_be_bytes()].concat();
        let is_leaving = overlay.get(CATALOGUE, &mark.into())?.is_some();
        self.purging.insert(container, is_leaving);
        Ok(is_leaving)
    }

    /// Whether a container keeps every change for its retention period.
    pub(crate) fn keeps_history(
        &mut self,
        overlay: &Overlay<'_>,
        container: u32,
    ) -> Result<bool, Error> {
        if let Some(&keeps) = self.histories.get(&container) {
            return Ok(keeps);
        }
        let keeps = overlay.get(CATALOGUE, &history_key(container))?.is_some();
        self.histories.insert(container, keeps);
        Ok(keeps)
    }
}

/// First byte of a policy row: the container has no documents yet.
const POLICY_OF_NEW_CONTAINER: u8 = 0;
/// First byte of a policy row: stored documents will be reindexed.
const POLICY_REPLACED: u8 = 1;

/// The catalogue change that sets the indexing policy of a container. A container that `is_new` has
/// no documents; otherwise the background walk reindexes the documents.
pub fn policy_change(container: &Container, is_new: bool) -> KeyChange {
    let mode = if is_new {
        POLICY_OF_NEW_CONTAINER
    } else {
        POLICY_REPLACED
    };
    let entry = [&[mode][..], container.index().text()].concat();
    (policy_key(container), Some(entry.into()))
}

/// The catalogue change that accompanies the deletion of a container.
pub fn policy_removal(container: &Container) -> KeyChange {
    (policy_key(container), None)
}

fn policy_key(container: &Container) -> Bytes {
    let number = container.rid.id().to_be_bytes();
    [&[INDEXING_POLICY][..], &number].concat().into()
}

/// The policy that the index of a container follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexPolicyState {
    Current,
    /// Some documents still have the entries of an older policy.
    Rebuilding,
    /// The stored state differs from the policy in the definition.
    Mismatched,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(excluded: &str) -> Arc<ContainerIndex> {
        let text = format!(
            r#"{{"includedPaths":[{{"path":"/*"}}],"excludedPaths":[{{"path":"/{excluded}/?"}}]}}"#
        );
        let policy = IndexingPolicy::of_value(parse(text.as_bytes()).unwrap()).unwrap();
        Arc::new(ContainerIndex::new(&policy))
    }

    fn key(text: &str) -> Bytes {
        [&1_u32.to_be_bytes()[..], text.as_bytes()].concat().into()
    }

    #[test]
    fn segments_follow_the_walk() {
        let (a, b, c) = (index("a"), index("b"), index("c"));
        let text_at = |state: &IndexState, at: &str| state.index_at(&key(at)).text.clone();
        let state = IndexState::settled(Arc::clone(&a));
        assert!(state.cursor().is_none());
        let state = state.replaced(1, Arc::clone(&b)).advanced(Some(&key("m")));
        assert_eq!(text_at(&state, "d"), b.text);
        assert_eq!(text_at(&state, "m"), a.text);
        let state = state.replaced(1, Arc::clone(&c)).advanced(Some(&key("d")));
        let state = IndexState::decode(&state.encode()).unwrap();
        assert_eq!(text_at(&state, "c"), c.text);
        assert_eq!(text_at(&state, "d"), b.text);
        assert_eq!(text_at(&state, "z"), a.text);
        let state = state.advanced(Some(&key("p")));
        assert_eq!(text_at(&state, "n"), c.text);
        assert_eq!(text_at(&state, "z"), a.text);
        let state = state.advanced(None);
        assert_eq!(text_at(&state, "z"), c.text);
        assert!(state.cursor().is_none());
        assert_eq!(state.encode(), IndexState::settled(c).encode());
    }

    #[test]
    fn a_policy_that_never_began_leaves_nothing() {
        let (a, b, c) = (index("a"), index("b"), index("c"));
        let state = IndexState::settled(Arc::clone(&a));
        let state = state.replaced(1, b).replaced(1, Arc::clone(&c));
        assert_eq!(state.ranges.len(), 2);
        assert_eq!(state.replaced(1, c).ranges.len(), 2);
        for cut in 0..state.encode().len() {
            assert!(IndexState::decode(&state.encode().slice(..cut)).is_err());
        }
    }
}
