//! Which seeds a test runs.

/// The seeds of a test: few in the ordinary run, which should be short.
pub(crate) fn seeds(count: u64) -> Vec<u64> {
    let number = |name| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().expect("seeds are numbers"))
    };
    match (number("ORRERY_SEED"), number("ORRERY_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, Some(count)) => (0..count).collect(),
        (None, None) => (0..count).collect(),
    }
}
