//! A panic: caught, told apart from others by its place, and made small.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::{Duration, Instant};

/// How long an input is made smaller.
const TIME_MAX: Duration = Duration::from_secs(3);

thread_local! {
    /// While an input runs, its panics come here and not to the terminal.
    static CAUGHT: RefCell<Option<Vec<Panic>>> = const { RefCell::new(None) };
}

#[derive(Debug, Clone)]
pub(super) struct Panic {
    pub(super) place: String,
    pub(super) message: String,
}

/// Runs a target; says whether it took the input for valid.
pub(super) fn catch(run: impl FnOnce() -> bool) -> Result<bool, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(set_hook);
    CAUGHT.set(Some(Vec::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    let caught = CAUGHT.take().and_then(|caught| caught.into_iter().next());
    outcome.map_err(|_| {
        caught.unwrap_or(Panic {
            place: "unknown".to_owned(),
            message: String::new(),
        })
    })
}

/// Panics of other tests are shown as ever.
fn set_hook() {
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_caught = CAUGHT.with_borrow_mut(|caught| match caught {
            Some(caught) => {
                caught.push(Panic {
                    place: info.location().map(ToString::to_string).unwrap_or_default(),
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

/// Removes what the panic does not need.
pub(super) fn minimise(input: Vec<u8>, panics: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let begun = Instant::now();
    let mut smallest = input;
    let mut length = smallest.len() / 2;
    while length > 0 {
        let mut place = 0;
        while place < smallest.len() {
            if begun.elapsed() > TIME_MAX {
                return smallest;
            }
            let end = (place + length).min(smallest.len());
            let shorter = [&smallest[..place], &smallest[end..]].concat();
            if panics(&shorter) {
                smallest = shorter;
            } else {
                place = end;
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
        assert!(found.message.contains("an x") && found.place.contains("finding.rs"));
        let smallest = minimise(b"abcdefxghi".to_vec(), |input| panics(input).is_err());
        assert_eq!(smallest, b"x");
    }
}
