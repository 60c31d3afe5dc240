//! Regular expressions, in time linear in the text. A pattern that cannot be compiled, or is too
//! large when compiled, gives undefined, and so does a large one with a long text, because a search
//! cannot be stopped and takes as long as their product; so do the look-around and back-references of other
//! engines, which have no linear form.

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
    .taking(steps),
    extract("REGEXEXTRACT", |arguments| {
        let (text, regex) = subject(arguments)?;
        let found = regex.captures(text)?.get(group(arguments)?)?;
        Some(Value::from(found.as_str()))
    }),
    extract("REGEXEXTRACTALL", extract_all).making(matches),
];

/// The memory of one compiled pattern, and of the states it makes while it searches.
const COMPILED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Sizes that a compiled pattern is tried with: the first one that is enough says how large it is.
const SIZES: [usize; 3] = [16 * 1024, 128 * 1024, COMPILED_BYTES_MAX];

/// Of the size of a pattern and the length of a text: the longest text that functions make may be
/// searched for a pattern of the smallest size, and 32 KB for the largest.
const PRODUCT_MAX: usize = 1 << 36;

/// Rows of a loop that take as long as to compile a pattern of some size.
const STEPS: u64 = 8;
const BYTES_PER_STEP: usize = 64;

/// How many patterns a thread remembers: those of the queries it works on.
const REMEMBERED_MAX: usize = 8;

const fn extract(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Between(2, 4), evaluate).taking(steps)
}

/// Bounds the bytes of all matches: a pattern may match before every character and once at the end.
fn matches(arguments: &[Argument<'_>]) -> usize {
    let text = arguments.first().and_then(|text| text.as_str());
    let bytes = text.unwrap_or_default().len();
    strings_bytes(bytes + 1, bytes)
}

fn extract_all(arguments: &[Argument<'_>]) -> Option<Value> {
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

fn subject<'a>(arguments: &'a [Argument<'_>]) -> Option<(&'a str, Regex)> {
    let (text, pattern) = (arguments.first()?.as_str()?, arguments.get(1)?.as_str()?);
    let modifiers = match arguments.get(2) {
        Some(modifiers) => parse_modifiers(modifiers.as_str()?)?,
        None => Modifiers::default(),
    };
    let (regex, size) = compiled(pattern, modifiers)?;
    (text.len().saturating_mul(size) <= PRODUCT_MAX).then_some((text, regex))
}

/// Counts compiling the pattern as well, because the thread may not remember that pattern.
fn steps(arguments: &[Argument<'_>]) -> u64 {
    let lengths = arguments.iter().filter_map(|text| text.as_str());
    STEPS + (lengths.map(str::len).sum::<usize>() / BYTES_PER_STEP) as u64
}

/// Zero is the whole match.
fn group(arguments: &[Argument<'_>]) -> Option<usize> {
    match arguments.get(3) {
        Some(group) => usize::try_from(group.as_number()?.as_i64()?).ok(),
        None => Some(0),
    }
}

/// In any order; the same one twice is once.
const MODIFIERS: &str = "msix";

/// Which of the letters are given.
type Modifiers = [bool; MODIFIERS.len()];

fn parse_modifiers(text: &str) -> Option<Modifiers> {
    let mut modifiers = Modifiers::default();
    for letter in text.chars() {
        modifiers[MODIFIERS.find(letter)?] = true;
    }
    Some(modifiers)
}

struct Remembered {
    pattern: String,
    modifiers: Modifiers,
    /// None for a pattern that cannot be compiled, so that it is not tried for every row.
    regex: Option<(Regex, usize)>,
}

thread_local! {
    /// The most recent first.
    static REMEMBERED: RefCell<Vec<Remembered>> = const { RefCell::new(Vec::new()) };
}

fn compiled(pattern: &str, modifiers: Modifiers) -> Option<(Regex, usize)> {
    REMEMBERED.with_borrow_mut(|remembered| {
        let known = remembered
            .iter()
            .position(|known| known.pattern == pattern && known.modifiers == modifiers);
        match known {
            Some(index) => remembered[..=index].rotate_right(1),
            None => {
                remembered.truncate(REMEMBERED_MAX - 1);
                remembered.insert(
                    0,
                    Remembered {
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

/// The compiled pattern, with the first of `SIZES` that is large enough for it.
fn compile(pattern: &str, modifiers: Modifiers) -> Option<(Regex, usize)> {
    let mut sizes = SIZES.into_iter();
    sizes.find_map(|size| Some((compile_within(size, pattern, modifiers)?, size)))
}

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
        let count = || REMEMBERED.with_borrow(Vec::len);
        for _ in 0..3 {
            for number in 0..=REMEMBERED_MAX {
                assert!(compiled(&format!("a{number}"), Modifiers::default()).is_some());
                assert!(compiled("(", Modifiers::default()).is_none());
            }
        }
        assert_eq!(count(), REMEMBERED_MAX);
        let latest = REMEMBERED.with_borrow(|remembered| remembered[0].pattern.clone());
        assert_eq!(latest, "(");
    }

    #[test]
    fn a_pattern_that_would_be_huge_is_refused() {
        assert!(compile("(?:a{1000}){1000}", Modifiers::default()).is_none());
    }
}
