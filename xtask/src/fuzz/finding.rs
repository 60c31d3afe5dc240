//! A panic: caught, identified by its source location, and minimised.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::{Duration, Instant};

/// How long an input is minimised.
const TIME_MAX: Duration = Duration::from_secs(3);

thread_local! {
    /// The panics of the running input, which are not printed.
    static CAUGHT: RefCell<Option<Vec<Panic>>> = const { RefCell::new(None) };
}

/// One panic. Panics at the same source location are one finding.
#[derive(Debug, Clone)]
pub(super) struct Panic {
    pub(super) location: String,
    pub(super) message: String,
}

/// Runs a target. Returns whether the target accepts the input as valid.
pub(super) fn catch(run: impl FnOnce() -> bool) -> Result<bool, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(set_hook);
    // From here on the hook collects the panics of this thread.
    CAUGHT.set(Some(Vec::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    // The first panic is the cause; a second one may come from a destructor.
    let caught = CAUGHT.take().and_then(|caught| caught.into_iter().next());
    outcome.map_err(|_| {
        caught.unwrap_or(Panic {
            location: "unknown".to_owned(),
            message: String::new(),
        })
    })
}

/// Installs the panic hook. Panics of other tests are printed as usual.
fn set_hook() {
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_caught = CAUGHT.with_borrow_mut(|caught| match caught {
            Some(caught) => {
                caught.push(Panic {
                    location: info.location().map(ToString::to_string).unwrap_or_default(),
                    message: info.payload_as_str().unwrap_or_default().to_owned(),
                });
                true
            }
            None => false,
        });
        if !is_caught {
            shown(info);
        }
    }));
}

/// Removes the bytes that are not needed for the panic.
pub(super) fn minimise(input: Vec<u8>, panics: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let begun = Instant::now();
    let mut smallest = input;
    // Large pieces first: most of the input is usually irrelevant.
    let mut length = smallest.len() / 2;
    while length > 0 {
        let mut position = 0;
        while position < smallest.len() {
            if begun.elapsed() > TIME_MAX {
                return smallest;
            }
            // The position stays the same after a success, because the next bytes moved to it.
            let end = (position + length).min(smallest.len());
            let shorter = [&smallest[..position], &smallest[end..]].concat();
            if panics(&shorter) {
                smallest = shorter;
            } else {
                position = end;
            }
        }
        length /= 2;
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_caught_and_made_small() {
        let panics = |input: &[u8]| {
            catch(|| {
                assert!(!input.contains(&b'x'), "an x");
                true
            })
        };
        assert!(panics(b"abc").is_ok());
        let found = panics(b"abxc").expect_err("it panics");
        assert!(found.message.contains("an x") && found.location.contains("finding.rs"));
        let smallest = minimise(b"abcdefxghi".to_vec(), |input| panics(input).is_err());
        assert_eq!(smallest, b"x");
    }
}
