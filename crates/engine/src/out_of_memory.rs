//! The failure for a request that needs more memory than the server's request memory has left.

use orrery_memory::LoanError;
use orrery_model::Failure;

/// Requests that hold much memory usually end within seconds.
const RETRY_AFTER_MS: u64 = 500;

/// Converts a refused loan into a failure. Every refusal passes through this function, so that
/// clients see one wording.
pub fn out_of_memory(exhausted: LoanError) -> Failure {
    match exhausted {
        LoanError::TooLarge { wanted, limit } => Failure::TooLarge(format!(
            "The request needs {wanted} bytes of memory at once, and one client can have half of the {limit} \
             bytes that this server has for requests. Ask for less at a time: smaller pages, fewer operations \
             in a batch, less to sort or to group. Or start the server with more memory for requests \
             (--memory-for-requests)."
        )),
        LoanError::ShareExceeded { held, free } => Failure::ClientLimitExceeded {
            message: format!(
                "Your requests and their answers hold {held} bytes of this server's memory already, and {free} \
                 bytes are left for all clients. Read the answers that wait for you, send fewer requests at \
                 once, and try again."
            ),
            retry_after_ms: RETRY_AFTER_MS,
        },
        LoanError::PoolExceeded { wanted, free } => Failure::Unavailable(format!(
            "Service is currently unavailable: other requests hold the memory of this server ({wanted} bytes \
             are needed, {free} are free). Try again in a moment, or start the server with more memory for \
             requests (--memory-for-requests)."
        )),
    }
}

#[cfg(test)]
mod tests {
    use orrery_memory::MemoryPool;

    use super::*;

    #[test]
    fn each_refusal_says_what_the_client_can_do() {
        let pool = MemoryPool::new(1_000);
        let (a, b) = (pool.share(), pool.share());
        let refuse = |share: &orrery_memory::MemoryShare, bytes| {
            out_of_memory(share.borrow(bytes).expect_err("too much"))
        };
        assert!(matches!(refuse(&a, 501), Failure::TooLarge(_)));
        let held = a.borrow(450).unwrap();
        assert!(matches!(
            refuse(&a, 100),
            Failure::ClientLimitExceeded { .. }
        ));
        assert!(matches!(refuse(&b, 400), Failure::Unavailable(_)));
        drop(held);
    }
}
