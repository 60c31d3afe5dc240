//! The answer to a client whose request needs more memory than the memory for requests has left.

use orrery_memory::Exhausted;
use orrery_model::Failure;

/// Requests that hold much end within seconds.
const RETRY_AFTER_MS: u64 = 500;

/// The one conversion of refused loans into failures.
pub fn out_of_memory(exhausted: Exhausted) -> Failure {
    match exhausted {
        Exhausted::TooLarge { wanted, limit } => Failure::TooLarge(format!(
            "The request needs {wanted} bytes of memory at once, and one client can have half of the {limit} \
             bytes that this server has for requests. Ask for less at a time: smaller pages, fewer operations \
             in a batch, less to sort or to group. Or start the server with more memory for requests \
             (--memory-for-requests)."
        )),
        Exhausted::Share { held, free } => Failure::TooMuchHeld {
            message: format!(
                "Your requests and their answers hold {held} bytes of this server's memory already, and {free} \
                 bytes are left for all clients. Read the answers that wait for you, send fewer requests at \
                 once, and try again."
            ),
            retry_after_ms: RETRY_AFTER_MS,
        },
        Exhausted::Pool { wanted, free } => Failure::Unavailable(format!(
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
    fn who_can_do_something_about_it_is_told_what() {
        let pool = MemoryPool::new(1_000);
        let (a, b) = (pool.share(), pool.share());
        let refuse = |share: &orrery_memory::Share, bytes| {
            out_of_memory(share.borrow(bytes).expect_err("too much"))
        };
        assert!(matches!(refuse(&a, 501), Failure::TooLarge(_)));
        let held = a.borrow(450).unwrap();
        assert!(matches!(refuse(&a, 100), Failure::TooMuchHeld { .. }));
        assert!(matches!(refuse(&b, 400), Failure::Unavailable(_)));
        drop(held);
    }
}
