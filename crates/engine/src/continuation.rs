//! Continuation tokens: where the next page begins, with a check sum.
//!
//! ```text
//! base64url of: version (1) | check sum (8, big endian) | state
//! ```
//!
//! The state of a read feed is the place of the next item in the order of stored keys; that of a
//! query is what its program wrote.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orrery_model::Failure;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const VERSION: u8 = 1;

/// The check sum is bound to `owner`, so that a token of another container or query is refused.
pub(crate) fn write(owner: u64, state: &[u8]) -> String {
    let sum = xxh3_64_with_seed(state, owner).to_be_bytes();
    URL_SAFE_NO_PAD.encode([&[VERSION][..], &sum, state].concat())
}

pub(crate) fn read(owner: u64, token: &str) -> Result<Vec<u8>, Failure> {
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|_| Failure::InvalidContinuation)?;
    let ([VERSION], rest) = bytes
        .split_first_chunk()
        .ok_or(Failure::InvalidContinuation)?
    else {
        return Err(Failure::InvalidContinuation);
    };
    let (sum, state) = rest
        .split_first_chunk()
        .ok_or(Failure::InvalidContinuation)?;
    if u64::from_be_bytes(*sum) != xxh3_64_with_seed(state, owner) {
        return Err(Failure::InvalidContinuation);
    }
    Ok(state.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back_only_whole_and_at_home() {
        let token = write(7, b"place");
        assert_eq!(read(7, &token).unwrap(), b"place");
        assert_eq!(read(8, &token), Err(Failure::InvalidContinuation));
        let changed = token.replacen(
            &token[12..13],
            if &token[12..13] == "A" { "B" } else { "A" },
            1,
        );
        for wrong in ["", "!", "AQ", &token[1..], &changed] {
            assert_eq!(read(7, wrong), Err(Failure::InvalidContinuation), "{wrong}");
        }
    }
}
