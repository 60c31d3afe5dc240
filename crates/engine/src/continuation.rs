//! Continuation tokens: the position of the next page, protected by a checksum.
//!
//! ```text
//! base64url of: version (1) | checksum (8, big endian) | state
//! ```
//!
//! The state of a read feed is the stored key of the next item; the state of a query is the
//! continuation that its program encoded.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orrery_model::Failure;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const VERSION: u8 = 1;
/// Bounds the strings of a position for clients that accept tokens of any length. HTTP proxies
/// refuse headers of more than four kilobytes.
const POSITION_BYTES_MAX: usize = 2048;
/// Bytes of a token beside these strings, before the base64 encoding.
const REST_BYTES: usize = 288;

/// The string bytes of a position that fits a token of at most `token_bytes_max`.
pub(crate) fn position_bytes(token_bytes_max: Option<usize>) -> usize {
    token_bytes_max.map_or(POSITION_BYTES_MAX, |token| {
        let state = token / 4 * 3;
        state.saturating_sub(REST_BYTES).min(POSITION_BYTES_MAX)
    })
}

/// Encodes a token. The checksum is seeded with `owner`, so that a token of another container or
/// query is refused.
pub(crate) fn write(owner: u64, state: &[u8]) -> String {
    let sum = xxh3_64_with_seed(state, owner).to_be_bytes();
    URL_SAFE_NO_PAD.encode([&[VERSION][..], &sum, state].concat())
}

/// Decodes a token that [`write`] made for the same owner.
pub(crate) fn read(owner: u64, token: &str) -> Result<Vec<u8>, Failure> {
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|_| unreadable_continuation(token))?;
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

/// The failure for a token that Orrery did not write. Azure Cosmos DB's tokens name the last item
/// of a page, alone (`-RID:~…#RT:1#TRC:10`, `+RIDLEL:~…#RT:1#TRC:2`) or in JSON with a range.
pub fn unreadable_continuation(token: &str) -> Failure {
    if token.contains("RID") && token.contains("#RT:") {
        return Failure::bad_request(
            "Invalid Continuation Token: Azure Cosmos DB made this token, and Orrery cannot go on where a \
             query of another database ended. Run the query again from its beginning.",
        );
    }
    Failure::InvalidContinuation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_and_are_bound_to_their_owner() {
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
