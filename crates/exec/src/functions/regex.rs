//! Regular expressions with matching time linear in the text. The result is undefined for a pattern
//! that does not compile or compiles to a large program, and for a large program over a long text:
//! a search cannot be interrupted and takes time proportional to their product. Look-around and
//! back-references of other engines have no linear form and do not compile.

use std::cell::RefCell;

use orrery_json::Value;
use regex::{Regex, RegexBuilder};

use super::string::strings_bytes;
use super::{Argument, Arity, Evaluate, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("REGEXMATCH", Arity::Between(2, 3), |arguments| {
        let (text, regex) = subject(arguments)?;
        Some(Value::Bool(regex.is_match(text)))
    })
    .with_step_cost(steps),
    extract("REGEXEXTRACT", |arguments| {
        let (text, regex) = subject(arguments)?;
        let found = regex.captures(text)?.get(group(arguments)?)?;
        Some(Value::from(found.as_str()))
    }),
    extract("REGEXEXTRACTALL", extract_all).with_memory_bound(matches),
];

/// Memory limit of one compiled pattern, and of its states during a search.
const COMPILED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Sizes with which a pattern is compiled in turn: the first sufficient size tells how large it is.
const SIZES: [usize; 3] = [16 * 1024, 128 * 1024, COMPILED_BYTES_MAX];

/// Limit for pattern size times text length. The longest text of a function can be searched with a
/// pattern of the smallest size, and 32 KB with the largest.
const PRODUCT_MAX: usize = 1 << 36;

/// Loop rows that take as long as compiling a pattern.
const STEPS: u64 = 8;
const BYTES_PER_STEP: usize = 64;

/// Limit of patterns that a thread remembers: those of the queries on which it works.
const CACHED_PATTERNS_MAX: usize = 8;

const fn extract(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Between(2, 4), evaluate).with_step_cost(steps)
}

/// Upper bound of all matches: a pattern can match in front of every character and once at the end.
fn matches(arguments: &[Argument<'_>]) -> usize {
    let text = arguments.first().and_then(|text| text.as_str());
    let bytes = text.unwrap_or_default().len();
    strings_bytes(bytes + 1, bytes)
}

/// All matches, or all occurrences of one group.
fn extract_all(arguments: &[Argument<'_>]) -> Option<Value> {
    // An unknown group is undefined rather than an empty list.
    let (text, regex) = subject(arguments)?;
    let group = group(arguments)?;
    if group >= regex.captures_len() {
        return None;
    }
    if group == 0 {
        let found = regex.find_iter(text).map(|found| found.as_str());
        return Some(Value::Array(found.map(Value::from).collect()));
    }
    let found = regex
        .captures_iter(text)
        .filter_map(|captures| captures.get(group))
        .map(|found| Value::from(found.as_str()));
    Some(Value::Array(found.collect()))
}

/// The text and the compiled pattern of a call; `None` if the search could take too long.
fn subject<'a>(arguments: &'a [Argument<'_>]) -> Option<(&'a str, Regex)> {
    let (text, pattern) = (arguments.first()?.as_str()?, arguments.get(1)?.as_str()?);
    let modifiers = match arguments.get(2) {
        Some(modifiers) => parse_modifiers(modifiers.as_str()?)?,
        None => Modifiers::default(),
    };
    let (regex, size) = compiled(pattern, modifiers)?;
    (text.len().saturating_mul(size) <= PRODUCT_MAX).then_some((text, regex))
}

/// Step count of a call. It includes the compilation, because the thread may not remember the
/// pattern.
fn steps(arguments: &[Argument<'_>]) -> u64 {
    let lengths = arguments.iter().filter_map(|text| text.as_str());
    STEPS + (lengths.map(str::len).sum::<usize>() / BYTES_PER_STEP) as u64
}

/// The group to extract; zero is the whole match.
fn group(arguments: &[Argument<'_>]) -> Option<usize> {
    match arguments.get(3) {
        Some(group) => usize::try_from(group.as_number()?.as_i64()?).ok(),
        None => Some(0),
    }
}

/// The modifier letters, in any order and possibly repeated.
const MODIFIERS: &str = "msix";

/// The modifiers that a call sets, in the order of [`MODIFIERS`].
type Modifiers = [bool; MODIFIERS.len()];

fn parse_modifiers(text: &str) -> Option<Modifiers> {
    let mut modifiers = Modifiers::default();
    for letter in text.chars() {
        modifiers[MODIFIERS.find(letter)?] = true;
    }
    Some(modifiers)
}

/// A pattern that this thread has compiled.
struct CachedPattern {
    pattern: String,
    modifiers: Modifiers,
    /// `None` for a pattern that does not compile; this entry saves compiling the pattern for every
    /// row.
    regex: Option<(Regex, usize)>,
}

thread_local! {
    /// Ordered by use, most recent first.
    static PATTERN_CACHE: RefCell<Vec<CachedPattern>> = const { RefCell::new(Vec::new()) };
}

/// The compiled pattern from the cache of this thread, compiled if it is missing.
fn compiled(pattern: &str, modifiers: Modifiers) -> Option<(Regex, usize)> {
    PATTERN_CACHE.with_borrow_mut(|remembered| {
        let known = remembered
            .iter()
            .position(|known| known.pattern == pattern && known.modifiers == modifiers);
        match known {
            // The rotation moves the found pattern to the front and keeps the order of the others.
            Some(index) => remembered[..=index].rotate_right(1),
            None => {
                remembered.truncate(CACHED_PATTERNS_MAX - 1);
                remembered.insert(
                    0,
                    CachedPattern {
                        pattern: pattern.to_owned(),
                        modifiers,
                        regex: compile(pattern, modifiers),
                    },
                );
            }
        }
        remembered.first()?.regex.clone()
    })
}

/// The compiled pattern with the first of [`SIZES`] that is large enough for it.
fn compile(pattern: &str, modifiers: Modifiers) -> Option<(Regex, usize)> {
    let mut sizes = SIZES.into_iter();
    sizes.find_map(|size| Some((compile_within(size, pattern, modifiers)?, size)))
}

/// Compiles a pattern with a size limit; `None` if the pattern is invalid or too large.
fn compile_within(size: usize, pattern: &str, modifiers: Modifiers) -> Option<Regex> {
    let [
        multi_line,
        dot_matches_new_line,
        ignore_case,
        ignore_white_space,
    ] = modifiers;
    RegexBuilder::new(pattern)
        .multi_line(multi_line)
        .dot_matches_new_line(dot_matches_new_line)
        .case_insensitive(ignore_case)
        .ignore_whitespace(ignore_white_space)
        .size_limit(size)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_remembers_a_few_patterns() {
        let count = || PATTERN_CACHE.with_borrow(Vec::len);
        for _ in 0..3 {
            for number in 0..=CACHED_PATTERNS_MAX {
                assert!(compiled(&format!("a{number}"), Modifiers::default()).is_some());
                assert!(compiled("(", Modifiers::default()).is_none());
            }
        }
        assert_eq!(count(), CACHED_PATTERNS_MAX);
        let latest = PATTERN_CACHE.with_borrow(|remembered| remembered[0].pattern.clone());
        assert_eq!(latest, "(");
    }

    #[test]
    fn a_pattern_that_would_be_huge_is_refused() {
        assert!(compile("(?:a{1000}){1000}", Modifiers::default()).is_none());
    }
}
