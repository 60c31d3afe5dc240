//! Which seeds a test runs.

/// The seeds of a test: few in the ordinary run, which should be short.
pub(crate) fn seeds(count: u64) -> Vec<u64> {
    let number = |name| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().expect("seeds are numbers"))
    };
    let first = number("ORRERY_FIRST").unwrap_or(0);
    match (number("ORRERY_SEED"), number("ORRERY_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, count_asked) => (first..first + count_asked.unwrap_or(count)).collect(),
    }
}
