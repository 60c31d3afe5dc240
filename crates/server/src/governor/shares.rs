//! One share of the memory for each client.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock};

use orrery_memory::{MemoryPool, Share};
use orrery_model::KeyRole;

/// When there are this many shares of tokens, the next new token removes the shares that nobody
/// uses.
const TOKENS_MAX: usize = 4_096;

/// Who pays for the memory of a request, as far as its credential tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// Everybody whose requests are signed with an account key of this role.
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

    /// The client that sends `token`. Clients send the same token with or without the semicolon at
    /// its end, and both texts are one client.
    pub(super) fn bearer(&self, token: &str) -> Client {
        Client::Token(self.hasher.hash_one(token.trim_end_matches(';')))
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
    fn a_token_is_one_client_however_it_is_written() {
        let shares = Shares::new(&MemoryPool::new(1_000));
        assert_eq!(shares.bearer("sig;grant;"), shares.bearer("sig;grant"));
        assert_ne!(shares.bearer("sig;grant;"), shares.bearer("sig;other;"));
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
