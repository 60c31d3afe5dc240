//! One share of the memory for each client.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock};

use orrery_memory::{MemoryPool, MemoryShare};
use orrery_model::AccountKeyRole;

/// The number of token shares from which on a new token removes the shares that no request uses.
const TOKENS_MAX: usize = 4_096;

/// The client that pays for the memory of a request, as far as its credential identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientIdentity {
    /// All clients that sign with an account key of this role.
    Key(AccountKeyRole),
    /// All clients without a credential.
    Unauthenticated,
    Operator,
    /// The bearer of a token, by the hash of its text.
    Token(u64),
}

pub(super) struct Shares {
    pool: MemoryPool,
    writers: MemoryShare,
    readers: MemoryShare,
    unauthenticated: MemoryShare,
    operators: MemoryShare,
    tokens: RwLock<HashMap<u64, MemoryShare>>,
    // Random keys, so that no client can choose a token that collides with another one.
    hasher: RandomState,
}

impl Shares {
    pub(super) fn new(pool: &MemoryPool) -> Shares {
        Shares {
            pool: pool.clone(),
            writers: pool.share(),
            readers: pool.share(),
            unauthenticated: pool.share(),
            operators: pool.share(),
            tokens: RwLock::default(),
            hasher: RandomState::new(),
        }
    }

    /// The share of a client. Clients with the same account key share one share.
    pub(super) fn of(&self, client: ClientIdentity) -> MemoryShare {
        match client {
            ClientIdentity::Key(AccountKeyRole::ReadWrite) => self.writers.clone(),
            ClientIdentity::Key(AccountKeyRole::ReadOnly) => self.readers.clone(),
            ClientIdentity::Unauthenticated => self.unauthenticated.clone(),
            ClientIdentity::Operator => self.operators.clone(),
            ClientIdentity::Token(hash) => self.of_token(hash),
        }
    }

    /// The client that sends `token`. SDKs send the same token with and without the semicolon at
    /// its end; both texts are one client.
    pub(super) fn bearer(&self, token: &str) -> ClientIdentity {
        ClientIdentity::Token(self.hasher.hash_one(token.trim_end_matches(';')))
    }

    fn of_token(&self, hash: u64) -> MemoryShare {
        let known = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = known.get(&hash) {
            return share.clone();
        }
        // Another thread may add the share between the two locks; `entry` below finds it then.
        drop(known);
        let mut known = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TOKENS_MAX {
            // A share in use must stay in the map, or its client would get a second share.
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
        assert_eq!(
            shares
                .of(ClientIdentity::Key(AccountKeyRole::ReadWrite))
                .held(),
            0
        );
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
        let used = shares.of(ClientIdentity::Token(1));
        let held = used.borrow(100).unwrap();
        for hash in 2..20_000 {
            shares.of(ClientIdentity::Token(hash));
        }
        assert!(shares.tokens.read().unwrap().len() <= TOKENS_MAX);
        assert_eq!(shares.of(ClientIdentity::Token(1)).held(), 100);
        drop(held);
    }
}
