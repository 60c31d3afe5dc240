//! The median: one disturbed round does not move it.

/// Returns the median of one or more values. Of an even number of values it is the mean of the
/// middle two.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_rounds() {
        for (values, expected) in [
            (vec![3.0], 3.0),
            (vec![9.0, 1.0, 2.0], 2.0),
            (vec![4.0, 1.0], 2.5),
        ] {
            assert!((median(&values) - expected).abs() < 1e-9, "{values:?}");
        }
    }
}
