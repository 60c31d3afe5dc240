//! A reader that follows the change feed of a container in one region.

use std::collections::BTreeMap;
use std::sync::Arc;

use orrery_engine::{ChangeFeedRequest, ChangeFeedStart, ChangeMode, Container, Engine, FeedScope};
use orrery_model::ConsistencyLevel;

use super::expected::ItemKey;
use super::fault_simulation::{CONTAINERS, FaultSimulation, find, place_of};

/// A limit above any number of readable changes.
const PAGES_MAX: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Reader {
    position: Option<String>,
    /// The newest version of every item that the reader has seen.
    pub(crate) seen: BTreeMap<ItemKey, String>,
}

impl Reader {
    /// Reads a page; returns whether the page had changes.
    pub(crate) async fn read(
        &mut self,
        engine: &Arc<Engine>,
        container: &Arc<Container>,
        items_max: usize,
    ) -> bool {
        let request = ChangeFeedRequest {
            scope: FeedScope::Container,
            mode: ChangeMode::LatestVersion,
            start: match &self.position {
                Some(position) => ChangeFeedStart::After(position.clone()),
                None => ChangeFeedStart::Beginning,
            },
            since_seconds: None,
            items_max,
            budget: ConsistencyLevel::Session.into(),
        };
        let page = engine.changes(container, request).await.result.unwrap();
        self.position = Some(page.position);
        let has_read = !page.changes.is_empty();
        for change in page.changes {
            let text = change.current.unwrap();
            let text = String::from_utf8(text.to_vec()).unwrap();
            self.seen.insert(place_of(&text), text);
        }
        has_read
    }

    /// Reads until there is nothing more.
    pub(crate) async fn read_all(&mut self, engine: &Arc<Engine>, container: &Arc<Container>) {
        for _ in 0..PAGES_MAX {
            if !self.read(engine, container, 4).await {
                return;
            }
        }
        panic!("the changes do not end: {self:?}");
    }
}

impl FaultSimulation {
    /// Every reader of a region reads one page.
    pub(super) async fn read_on(&mut self, at: usize) {
        let region = &self.regions[at];
        for (reader, (id, ..)) in self.readers[at].iter_mut().zip(CONTAINERS) {
            let items_max = usize::try_from(1 + self.random.below(4)).unwrap();
            let container = find(region, id);
            reader.read(&region.engine, &container, items_max).await;
        }
    }

    /// Checks that no reader has missed a final version.
    pub(super) async fn check_readers(&mut self) {
        for (region, readers) in self.regions.iter().zip(&mut self.readers) {
            let progress = region.engine.version_vector();
            for ((reader, expected), (id, ..)) in
                readers.iter_mut().zip(&self.expected).zip(CONTAINERS)
            {
                let container = find(region, id);
                reader.read_all(&region.engine, &container).await;
                for (place, text) in expected.shown(&progress).documents {
                    let seen = reader.seen.get(&place);
                    assert_eq!(seen, Some(&text), "{id} in region {}", region.id);
                }
            }
        }
    }
}
