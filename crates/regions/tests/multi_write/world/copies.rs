//! Trimmed logs, and regions that need a snapshot because of a trimmed log.

use std::collections::BTreeMap;

use orrery_regions::{StreamId, StreamRecord, VersionVector};

use super::World;
use crate::history::Value;
use crate::node::{Node, State};

impl World {
    pub(super) fn install(
        &mut self,
        node: usize,
        snapshot: &VersionVector,
        state: State,
        counts: BTreeMap<Value, u32>,
    ) {
        let own = self.nodes[node].own();
        let disk = &mut self.nodes[node].disk;
        disk.state = state;
        disk.counts = counts;
        disk.log.retain(|record| record.stream == own);
        let missing: Vec<StreamRecord> = disk
            .log
            .iter()
            .filter(|record| record.sequence > snapshot.of(own))
            .cloned()
            .collect();
        // The account stream has its own log, which the snapshot does not replace.
        let account = disk.progress.of(StreamId::Account);
        disk.progress.merge(snapshot);
        disk.progress = disk
            .progress
            .iter()
            .map(|(stream, sequence)| match stream {
                StreamId::Account => (stream, account),
                StreamId::Region(_) => (stream, sequence),
            })
            .collect();
        for (stream, sequence) in snapshot.iter().filter(|(stream, _)| *stream != own) {
            disk.bases.advance(stream, sequence);
        }
        for record in missing {
            self.merge(node, &record);
        }
        self.nodes[node].multi_write = None;
        self.start(node);
    }

    /// Logs of other regions' streams are trimmed at random, the own stream only up to the stable
    /// prefix.
    pub(super) fn trim(&mut self, node: usize) {
        if !self.random.chance(60) {
            return;
        }
        let far = self.random.chance(300);
        let own = self.nodes[node].own();
        let Node {
            disk,
            multi_write: Some(multi_write),
            ..
        } = &mut self.nodes[node]
        else {
            return;
        };
        let held = multi_write.stable_prefix();
        for (stream, sequence) in disk.progress.clone().iter() {
            let upto = if far && stream != own {
                sequence
            } else {
                held.of(stream)
            };
            disk.log
                .retain(|record| record.stream != stream || record.sequence > upto);
            disk.bases.advance(stream, upto);
            multi_write.trimmed(stream, upto);
        }
    }
}
