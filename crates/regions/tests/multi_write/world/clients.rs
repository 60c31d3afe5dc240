//! Clients with sessions: each writes or reads in its region, and sometimes moves to another.

use orrery_regions::{SessionToken, VersionKind};

use super::{Bug, Event, ITEMS, PATIENCE_MS, TROUBLE_MS, World};
use crate::history::{Action, Item, Made, Operation, Value};
use crate::node::Node;

impl World {
    pub(super) fn token(&self, node: usize) -> SessionToken {
        let progress = &self.nodes[node].disk.progress;
        let local = |node: &Node| (node.id, progress.of(node.own()));
        SessionToken {
            locals: self.nodes.iter().map(local).collect(),
            ..SessionToken::default()
        }
    }

    pub(super) fn record_write(
        &mut self,
        client: usize,
        began: u64,
        ended: Option<u64>,
        value: Value,
    ) {
        let session = self.clients[client].session;
        let action = Action::Write(value);
        self.history.operations.push(Operation {
            session,
            began,
            ended,
            action,
        });
    }

    pub(super) fn client_turn(&mut self, client: usize) {
        if self.now > TROUBLE_MS + 200 {
            return;
        }
        let millis = self.random.between(5, 80);
        self.after(millis, Event::Client(client));
        if self.clients[client].under_way.is_some() {
            return;
        }
        if self.random.chance(150) {
            self.clients[client].region = self.random.below(self.nodes.len());
        }
        self.clients[client].number += 1;
        let (node, number) = (self.clients[client].region, self.clients[client].number);
        let token = self.clients[client]
            .token
            .clone()
            .filter(|_| !self.has(Bug::IgnoreTokens));
        let Some(multi_write) = &self.nodes[node].multi_write else {
            return;
        };
        if token.is_some_and(|token| multi_write.reached(&token).is_err()) {
            return;
        }
        if self.random.chance(500) {
            let item = Item::try_from(self.random.below(ITEMS)).unwrap();
            let change = match self.random.below(10) {
                0 | 1 => VersionKind::Delete,
                2 => VersionKind::Expiry,
                _ => VersionKind::Put(f64::from(u32::try_from(self.random.below(6)).unwrap())),
            };
            // A claim of nothing marks items with unique keys for the checkers.
            let claims = match change {
                VersionKind::Put(_) if item >= 5 => vec![1 + self.random.next() % 2],
                _ if item >= 5 => vec![0],
                _ => Vec::new(),
            };
            let made = Made {
                item,
                change,
                claims,
                decided: None,
            };
            let value = self.propose(node, Some((client, number)), made);
            self.clients[client].under_way = Some((self.now, value));
            self.after(PATIENCE_MS, Event::GiveUp { client, number });
        } else {
            let view = self.nodes[node].view();
            let action = Action::Read {
                region: self.nodes[node].id,
                view,
            };
            let (session, began, ended) = (self.clients[client].session, self.now, Some(self.now));
            self.history.operations.push(Operation {
                session,
                began,
                ended,
                action,
            });
            self.clients[client].token = Some(self.token(node));
        }
    }
}
