//! One attack, and a count of its outcomes.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::target::{Deadline, Target};

/// How long an attacker that could not connect waits before it tries again.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_millis(20);

/// One kind of misbehaviour: a row of [`ATTACKS`](crate::attacks::ATTACKS).
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// The credential that an attacker needs.
    pub(crate) credential: &'static str,
    /// The input that the attack sends.
    pub(crate) input: &'static str,
    /// The weight of the attack: its share of all connections.
    pub(crate) weight: usize,
    /// The number of connections beyond which more connections add nothing.
    pub(crate) connections_max: usize,
    pub(crate) run: fn(Arc<Target>) -> Round,
}

/// Uses one connection until the server or the attack ends it, and returns how it ended.
pub(crate) type Round = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// How one round ended for the attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// The server did not accept the connection.
    NotConnected,
    /// The server closed the connection without an answer.
    Closed,
    Status(u16),
    /// An answer under a token for one partition key contained an item of another partition key.
    Secret,
}

impl Outcome {
    /// The key of the outcome in a [`Tally`]. A status counts under its number.
    fn name(self) -> String {
        match self {
            Outcome::NotConnected => "not connected".to_owned(),
            Outcome::Closed => "closed".to_owned(),
            Outcome::Status(status) => status.to_string(),
            Outcome::Secret => SECRET_DISCLOSED.to_owned(),
        }
    }
}

/// The name of an outcome that fails the whole run: the server disclosed a foreign item.
pub(crate) const SECRET_DISCLOSED: &str = "SECRET TOLD";

/// Counts of outcomes. Rounds that the end of the attack cut off are `open`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    pub(crate) outcomes: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts a round that the server or the attack has ended.
    fn record(&mut self, outcome: Outcome) {
        self.rounds += 1;
        *self.outcomes.entry(outcome.name()).or_default() += 1;
    }

    /// Counts a round that the deadline cut off. Its connection was still open.
    fn record_open(&mut self) {
        self.rounds += 1;
        *self.outcomes.entry("open".to_owned()).or_default() += 1;
    }

    /// Returns whether any round disclosed an item that the attacker's token does not cover.
    pub(crate) fn has_disclosed_a_secret(&self) -> bool {
        self.outcomes.contains_key(SECRET_DISCLOSED)
    }

    /// Adds the counts of one connection to the counts of all connections.
    pub(crate) fn add(&mut self, other: &Tally) {
        self.rounds += other.rounds;
        for (name, count) in &other.outcomes {
            *self.outcomes.entry(name.clone()).or_default() += count;
        }
    }
}

/// Runs an attack on this many connections. Each connection begins again when its round has ended.
pub(crate) async fn run(
    attack: &'static Attack,
    connections: usize,
    target: Arc<Target>,
    until: Deadline,
) -> Tally {
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let target = Arc::clone(&target);
        tasks.spawn(async move {
            let mut tally = Tally::default();
            while !until.is_over() {
                let round = (attack.run)(Arc::clone(&target));
                // Many attacks never end on their own; the deadline drops their connection.
                match tokio::time::timeout_at(until.0.into(), round).await {
                    Ok(outcome) => {
                        tally.record(outcome);
                        // Without a pause, a full accept queue would turn this loop into a busy
                        // loop.
                        if outcome == Outcome::NotConnected {
                            until.pause(PAUSE_AFTER_REFUSAL).await;
                        }
                    }
                    Err(_) => tally.record_open(),
                }
            }
            tally
        });
    }
    let mut tally = Tally::default();
    while let Some(done) = tasks.join_next().await {
        tally.add(&done.expect("no attack panics"));
    }
    tally
}
