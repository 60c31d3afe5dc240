//! Bounds the memory of a query's parameters.
//!
//! A query can name a text of two megabytes once as a parameter and use it in ten thousand places.
//! Each comparison with a path copies the value for the index.

use orrery_model::Failure;

use super::QueryText;

/// Some steps compare a parameter name with all parameter names. The limit admits an `IN` list of
/// 16,000 parameters, and not many more.
const COMPARISONS_MAX: usize = 300_000_000;
/// In the worst case, the values of a maximal request take less than this, each counted once.
const BYTES_MAX: usize = 256 << 20;

/// Returns the maximum bytes of the parameters, counting every use. Refuses a query whose
/// parameters take too much memory or too many comparisons.
pub(super) fn bytes(query: &QueryText) -> Result<usize, Failure> {
    let values = query.parameters.iter();
    let values = values.map(|(_, value)| value.allocated_bytes());
    let (all, largest) = values.fold((0, 0), |(all, largest): (usize, usize), bytes| {
        (all + bytes, largest.max(bytes))
    });
    // Counting `@` overestimates: an `@` inside a string literal also counts.
    let uses = query.text.bytes().filter(|byte| *byte == b'@').count();
    let copies = largest.saturating_mul(uses);
    if uses > 1 && copies > BYTES_MAX {
        return Err(Failure::BadRequest(format!(
            "The query uses its parameters in {uses} places, and the largest of them takes {largest} bytes of \
             memory: more than {BYTES_MAX} bytes altogether. Use large parameters in fewer places."
        )));
    }
    if uses.saturating_mul(query.parameters.len()) > COMPARISONS_MAX {
        return Err(Failure::BadRequest(format!(
            "The query uses parameters in {uses} places and has {} of them. Use an array as one parameter.",
            query.parameters.len()
        )));
    }
    Ok(all + copies)
}

#[cfg(test)]
mod tests {
    use orrery_json::Value;

    use super::*;

    #[test]
    fn large_values_may_be_used_in_few_places() {
        let query = |uses: usize, bytes: usize| QueryText {
            text: format!(
                "SELECT * FROM c WHERE {} false",
                "c.a = @p OR ".repeat(uses)
            ),
            parameters: vec![("@p".to_owned(), Value::from("x".repeat(bytes).as_str()))],
            resume: None,
        };
        assert!(bytes(&query(10_000, 100)).is_ok());
        assert!(bytes(&query(100, 2 << 20)).is_ok());
        assert!(bytes(&query(1, 300 << 20)).is_ok());
        let refused = bytes(&query(10_000, 2 << 20));
        assert!(
            matches!(refused, Err(Failure::BadRequest(_))),
            "{refused:?}"
        );
    }
}
