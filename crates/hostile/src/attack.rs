//! One attack, and a count of its outcomes.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::target::{Target, Until};

/// How long an attacker that could not connect waits before it tries again.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_millis(20);

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// What somebody needs to do this.
    pub(crate) credential: &'static str,
    /// What is sent.
    pub(crate) input: &'static str,
    /// Its part of all connections, as a weight.
    pub(crate) weight: usize,
    /// Connections beyond which more of them add nothing.
    pub(crate) connections_max: usize,
    pub(crate) run: fn(Arc<Target>) -> Round,
}

/// Uses one connection until the server or the attack ends it, and says how it ended.
pub(crate) type Round = Pin<Box<dyn Future<Output = Outcome> + Send>>;

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
    fn name(self) -> String {
        match self {
            Outcome::NotConnected => "not connected".to_owned(),
            Outcome::Closed => "closed".to_owned(),
            Outcome::Status(status) => status.to_string(),
            Outcome::Secret => SECRET_TOLD.to_owned(),
        }
    }
}

pub(crate) const SECRET_TOLD: &str = "SECRET TOLD";

/// How often each outcome was met. Rounds that the end of the attack cut off are `open`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    pub(crate) outcomes: BTreeMap<String, u64>,
}

impl Tally {
    fn note(&mut self, outcome: Outcome) {
        self.rounds += 1;
        *self.outcomes.entry(outcome.name()).or_default() += 1;
    }

    fn note_open(&mut self) {
        self.rounds += 1;
        *self.outcomes.entry("open".to_owned()).or_default() += 1;
    }

    pub(crate) fn has_told_a_secret(&self) -> bool {
        self.outcomes.contains_key(SECRET_TOLD)
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.rounds += other.rounds;
        for (name, count) in &other.outcomes {
            *self.outcomes.entry(name.clone()).or_default() += count;
        }
    }
}

/// Runs an attack on so many connections; each begins again when its round has ended.
pub(crate) async fn run(
    attack: &'static Attack,
    connections: usize,
    target: Arc<Target>,
    until: Until,
) -> Tally {
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let target = Arc::clone(&target);
        tasks.spawn(async move {
            let mut tally = Tally::default();
            while !until.is_over() {
                let round = (attack.run)(Arc::clone(&target));
                match tokio::time::timeout_at(until.0.into(), round).await {
                    Ok(outcome) => {
                        tally.note(outcome);
                        if outcome == Outcome::NotConnected {
                            until.pause(PAUSE_AFTER_REFUSAL).await;
                        }
                    }
                    Err(_) => tally.note_open(),
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
