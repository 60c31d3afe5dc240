//! One share of the memory for each client.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock};

use orrery_memory::{MemoryPool, Share};
use orrery_model::KeyRole;

/// Shares that nobody uses are forgotten when there are this many.
const TOKENS_MAX: usize = 4_096;

/// Whose work it is, as far as a credential tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// Whoever has a key of the account of this kind.
    Key(KeyRole),
    /// Everybody without a credential.
    Stranger,
    Operator,
    /// The bearer of a token, by the hash of its text.
    Token(u64),
}

pub(super) struct Shares {
    pool: MemoryPool,
    writers: Share,
    readers: Share,
    strangers: Share,
    operators: Share,
    tokens: RwLock<HashMap<u64, Share>>,
    hasher: RandomState,
}

impl Shares {
    pub(super) fn new(pool: &MemoryPool) -> Shares {
        Shares {
            pool: pool.clone(),
            writers: pool.share(),
            readers: pool.share(),
            strangers: pool.share(),
            operators: pool.share(),
            tokens: RwLock::default(),
            hasher: RandomState::new(),
        }
    }

    pub(super) fn of(&self, client: Client) -> Share {
        match client {
            Client::Key(KeyRole::ReadWrite) => self.writers.clone(),
            Client::Key(KeyRole::ReadOnly) => self.readers.clone(),
            Client::Stranger => self.strangers.clone(),
            Client::Operator => self.operators.clone(),
            Client::Token(hash) => self.of_token(hash),
        }
    }

    /// A client known by its token.
    pub(super) fn bearer(&self, token: &str) -> Client {
        Client::Token(self.hasher.hash_one(token))
    }

    fn of_token(&self, hash: u64) -> Share {
        let known = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = known.get(&hash) {
            return share.clone();
        }
        drop(known);
        let mut known = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TOKENS_MAX {
            known.retain(|_, share| !share.is_forgotten());
        }
        known
            .entry(hash)
            .or_insert_with(|| self.pool.share())
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_one_share() {
        let shares = Shares::new(&MemoryPool::new(1_000));
        let (one, other) = (shares.bearer("one"), shares.bearer("other"));
        let held = shares.of(one).borrow(100).unwrap();
        assert_eq!(shares.of(one).held(), 100);
        assert_eq!(shares.of(other).held(), 0);
        assert_eq!(shares.of(Client::Key(KeyRole::ReadWrite)).held(), 0);
        drop(held);
    }

    #[test]
    fn tokens_that_nobody_uses_are_forgotten() {
        let shares = Shares::new(&MemoryPool::new(1_000));
        let used = shares.of(Client::Token(1));
        let held = used.borrow(100).unwrap();
        for hash in 2..20_000 {
            shares.of(Client::Token(hash));
        }
        assert!(shares.tokens.read().unwrap().len() <= TOKENS_MAX);
        assert_eq!(shares.of(Client::Token(1)).held(), 100);
        drop(held);
    }
}
