//! Clients with sessions: they write and read at some level, move between regions, and give up.

use std::collections::BTreeMap;

use orrery_regions::{Consistency, ReadVerdict, SessionToken};

use crate::history::{Action, Key, Operation, Position, ReadLevel, Value};
use crate::node::{PendingRead, PendingWrite, encode};
use crate::plan::Bug;
use crate::world::{Event, TROUBLE_MS, World};

const KEYS: u8 = 4;
const PATIENCE_MS: u64 = 700;

pub(crate) struct Client {
    pub(crate) session: u64,
    pub(crate) region: usize,
    pub(crate) token: Option<SessionToken>,
    /// The number of the last operation.
    pub(crate) number: u64,
    pub(crate) under_way: Option<InFlightOperation>,
}

pub(crate) struct InFlightOperation {
    pub(crate) began: u64,
    pub(crate) does: Does,
}

pub(crate) enum Does {
    Write {
        puts: Vec<(Key, Value)>,
        is_sent: bool,
    },
    Read {
        level: ReadLevel,
    },
}

impl World {
    pub(crate) fn client_turn(&mut self, client: usize) {
        if self.rest_since.is_some() || self.now > TROUBLE_MS + 700 {
            return;
        }
        if self.clients[client].under_way.is_none() {
            if self.random.chance(100) {
                self.clients[client].region = self.random.below(self.nodes.len());
            }
            self.clients[client].number += 1;
            let number = self.clients[client].number;
            if self.random.chance(450) {
                self.begin_write(client, number);
            } else {
                self.begin_read(client, number);
            }
            self.after(PATIENCE_MS, Event::GiveUp { client, number });
        }
        let millis = self.random.between(5, 120);
        self.after(millis, Event::Client(client));
    }

    pub(crate) fn begin_write(&mut self, client: usize, number: u64) {
        let count = 1 + usize::from(self.random.chance(300));
        let mut puts = BTreeMap::new();
        for _ in 0..count {
            self.next_value += 1;
            puts.insert(
                u8::try_from(self.random.below(usize::from(KEYS))).unwrap(),
                self.next_value,
            );
        }
        let puts: Vec<(Key, Value)> = puts.into_iter().collect();
        let home = self.clients[client].region;
        let known = self.nodes[home]
            .life
            .as_ref()
            .and_then(|life| life.replica.write_region());
        let mut node = known.map_or(home, |region| usize::from(region.0));
        if self.random.chance(150) {
            node = self.random.below(self.nodes.len());
        }
        let clock = self.nodes[node].clock(self.now);
        let token = self.clients[client].token.clone();
        let verdict = self
            .replica(node)
            .map(|replica| replica.may_read(clock, Consistency::Session, token.as_ref()));
        if verdict == Some(ReadVerdict::SessionLost) {
            // A region takes writes whatever their token is, but a token of lost writes ends its
            // session.
            self.begin_session(client);
        }
        let is_outdated = token.is_some_and(|token| {
            let replica = self.replica(node);
            replica.is_some_and(|replica| replica.is_outdated(&token))
        });
        let is_bound_ignored = self.plan.has(Bug::IgnoreWriteBound);
        let is_paused = self.nodes[node].paused_until > self.now;
        let data = encode(&puts);
        let written = self
            .replica(node)
            .filter(|_| !is_paused && !is_outdated)
            .and_then(|replica| {
                if is_bound_ignored {
                    replica.write_unbounded(clock, data).ok()
                } else {
                    replica.write(clock, data).ok()
                }
            });
        self.clients[client].under_way = Some(InFlightOperation {
            began: self.now,
            does: Does::Write {
                puts,
                is_sent: written.is_some(),
            },
        });
        match written {
            Some(record) => {
                let position = (record.epoch, record.sequence);
                self.append(node, vec![record]);
                let life = self.nodes[node].life.as_mut().unwrap();
                life.writes.push(PendingWrite {
                    client,
                    number,
                    position,
                });
                self.settle(node);
            }
            None => self.end_write(client, number, None),
        }
    }

    pub(crate) fn end_write(
        &mut self,
        client: usize,
        number: u64,
        acknowledged: Option<(Position, SessionToken)>,
    ) {
        if self.clients[client].number != number {
            return;
        }
        let Some(under_way) = self.clients[client].under_way.take() else {
            return;
        };
        let Does::Write { puts, is_sent } = under_way.does else {
            return;
        };
        if !is_sent {
            return;
        }
        let (position, token) = acknowledged.unzip();
        if let Some(token) = token {
            merge(&mut self.clients[client].token, token);
        }
        self.history.operations.push(Operation {
            session: self.clients[client].session,
            began: under_way.began,
            ended: position.map(|_| self.now),
            action: Action::Write {
                puts,
                acknowledged: position,
            },
        });
    }

    pub(crate) fn begin_read(&mut self, client: usize, number: u64) {
        let node = self.clients[client].region;
        let (level, read_level) = self.read_level();
        self.clients[client].under_way = Some(InFlightOperation {
            began: self.now,
            does: Does::Read { level: read_level },
        });
        let clock = self.nodes[node].clock(self.now);
        let token = self.clients[client].token.clone();
        let token = token.filter(|_| !self.plan.has(Bug::IgnoreTokens));
        let is_paused = self.nodes[node].paused_until > self.now;
        let Some(life) = self.nodes[node].life.as_mut().filter(|_| !is_paused) else {
            return self.end_read(node, client, number, false);
        };
        let mut verdict = life.replica.may_read(clock, level, token.as_ref());
        if self.plan.has(Bug::ReadUnconfirmed) && verdict == ReadVerdict::ReadIndex
            || self.plan.has(Bug::IgnoreReadBound) && verdict == ReadVerdict::TooStale
        {
            verdict = ReadVerdict::Answer;
        }
        match verdict {
            ReadVerdict::Answer => self.end_read(node, client, number, true),
            ReadVerdict::ReadIndex => {
                let read = life.replica.read_index(clock);
                life.reads.insert(read, PendingRead { client, number });
                self.settle(node);
            }
            ReadVerdict::SessionLost => {
                self.happened("a session was lost");
                self.begin_session(client);
                self.end_read(node, client, number, false);
            }
            ReadVerdict::Behind(..)
            | ReadVerdict::TooStale
            | ReadVerdict::AboveTheAccount
            | ReadVerdict::NotAMember => self.end_read(node, client, number, false),
        }
    }

    pub(crate) fn begin_session(&mut self, client: usize) {
        self.next_session += 1;
        self.clients[client].session = self.next_session;
        self.clients[client].token = None;
    }

    /// Mostly the level of the account, else a weaker one.
    pub(crate) fn read_level(&mut self) -> (Consistency, ReadLevel) {
        let weaker = [
            Consistency::Session,
            Consistency::ConsistentPrefix,
            Consistency::Eventual,
        ];
        let level = if self.random.chance(800) {
            self.plan.level
        } else {
            self.random.pick(&weaker)
        };
        let level = if level.strength() > self.plan.level.strength() {
            self.plan.level
        } else {
            level
        };
        let read_level = match level {
            Consistency::Strong => ReadLevel::Strong,
            Consistency::Bounded(_) => ReadLevel::Bounded,
            Consistency::Session => ReadLevel::Session,
            Consistency::ConsistentPrefix => ReadLevel::Prefix,
            Consistency::Eventual => ReadLevel::Eventual,
        };
        (level, read_level)
    }

    pub(crate) fn end_read(&mut self, node: usize, client: usize, number: u64, is_answered: bool) {
        if self.clients[client].number != number {
            return;
        }
        let Some(under_way) = self.clients[client].under_way.take() else {
            return;
        };
        let Some(life) = self.nodes[node].life.as_ref().filter(|_| is_answered) else {
            return;
        };
        let Does::Read { level } = under_way.does else {
            return;
        };
        let token = life.replica.token();
        let at = (self.nodes[node].epoch_of(life.applied), life.applied);
        let view = life.state.clone();
        if level == ReadLevel::Session {
            merge(&mut self.clients[client].token, token.clone());
        }
        self.history.operations.push(Operation {
            session: self.clients[client].session,
            began: under_way.began,
            ended: Some(self.now),
            action: Action::Read {
                level,
                region: self.nodes[node].id,
                view,
                at,
            },
        });
    }

    /// The client does not wait any longer. A write may still happen.
    pub(crate) fn give_up(&mut self, client: usize, number: u64) {
        if self.clients[client].number != number || self.clients[client].under_way.is_none() {
            return;
        }
        match &self.clients[client].under_way {
            Some(InFlightOperation {
                does: Does::Write { .. },
                ..
            }) => self.end_write(client, number, None),
            _ => self.clients[client].under_way = None,
        }
    }
}

fn merge(token: &mut Option<SessionToken>, other: SessionToken) {
    match token {
        Some(token) => token.merge(&other),
        None => *token = Some(other),
    }
}
