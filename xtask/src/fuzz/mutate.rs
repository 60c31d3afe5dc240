//! Random changes to an input: some to its bytes, some to its words.

use std::ops::Range;

use super::random::Random;

/// Longer inputs cost time and rarely find more.
const BYTES_MAX: usize = 6000;
/// More levels than any parser here accepts.
const NESTING_MAX: usize = 300;

/// Numbers at the limits of the common types, and malformed numbers.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "0.5",
    "1e308",
    "1e-320",
    "-0.0",
    "255",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "1e999",
    "NaN",
    "Infinity",
    "00",
    "1.",
    ".5",
    "0x10",
];

/// Pairs that nest a word. Repeated, they test the recursion limits of parsers.
const BRACKETS: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("{\"a\": ", "}"),
    ("NOT ", ""),
    ("-", ""),
    ("(SELECT VALUE ", ")"),
    ("ARRAY(SELECT VALUE ", " FROM c)"),
    ("\"", "\""),
    ("ABS(", ")"),
];

/// Inputs of one kind.
#[derive(Clone, Copy)]
pub(super) struct Pool<'a> {
    pub(super) known: &'a [Vec<u8>],
    /// Changed inputs that turned out to be valid.
    pub(super) valid_inputs: &'a [Vec<u8>],
}

impl<'a> Pool<'a> {
    /// Chooses an input. Valid changed inputs have half of the chance, so that changes accumulate.
    pub(super) fn choice(&self, random: &mut Random) -> Option<&'a [u8]> {
        let from_valid = random.chance(2) && !self.valid_inputs.is_empty();
        let inputs = if from_valid {
            self.valid_inputs
        } else {
            self.known
        };
        random.choice(inputs).map(Vec::as_slice)
    }
}

/// Changes `input` at random. `others` are inputs of the same kind, and `words` are worth
/// inserting.
pub(super) fn mutate(input: &mut Vec<u8>, others: &Pool<'_>, words: &[&str], random: &mut Random) {
    // Input with changed bytes is mostly invalid, so words are changed more often.
    let change = if random.chance(4) {
        change_bytes
    } else {
        change_words
    };
    loop {
        change(input, others, words, random);
        if random.chance(2) {
            break;
        }
    }
    // Repeated splicing would let inputs grow without bound.
    input.truncate(BYTES_MAX);
}

/// Changes bytes without regard to words.
fn change_bytes(input: &mut Vec<u8>, others: &Pool<'_>, _: &[&str], random: &mut Random) {
    match random.below(6) {
        0 => flip(input, random),
        1 => set(input, random),
        2 => {
            let range = range(input, random);
            input.drain(range);
        }
        3 => {
            let range = range(input, random);
            let copy = input[range].to_vec();
            insert(input, &copy, random);
        }
        4 => {
            let noise: Vec<u8> = (0..random.below(8)).map(|_| random.byte()).collect();
            insert(input, &noise, random);
        }
        _ => splice(input, others, random),
    }
}

/// Changes words, and leaves most of the syntax intact.
fn change_words(input: &mut Vec<u8>, others: &Pool<'_>, words: &[&str], random: &mut Random) {
    match random.below(10) {
        0 => insert_word(input, words, random),
        1..=3 => replace_word(input, words, random),
        4 => replace_word(input, NUMBERS, random),
        5 | 6 => borrow_word(input, others, random),
        7 => swap_words(input, random),
        8 => remove_words(input, random),
        _ => nest(input, random),
    }
}

/// Flips one bit.
fn flip(input: &mut [u8], random: &mut Random) {
    let position = random.below(input.len());
    if let Some(byte) = input.get_mut(position) {
        *byte ^= 1 << random.below(8);
    }
}

/// Replaces one byte by a byte that many parsers treat specially.
fn set(input: &mut [u8], random: &mut Random) {
    const BYTES: &[u8] = b"\0\x01\x7f\x80\xff \"'\\/{}[]().,:@*?%_$-+0123456789eE\n";
    let position = random.below(input.len());
    if let (Some(byte), Some(new)) = (input.get_mut(position), random.choice(BYTES)) {
        *byte = *new;
    }
}

/// Inserts bytes at a random position.
fn insert(input: &mut Vec<u8>, bytes: &[u8], random: &mut Random) {
    let position = random.below(input.len() + 1);
    input.splice(position..position, bytes.iter().copied());
}

/// Inserts a word after another word.
fn insert_word(input: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    let Some(word) = random.choice(words).map(|word| format!(" {word} ")) else {
        return;
    };
    let position = match random.choice(&spans(input)) {
        Some(span) => span.end,
        None => 0,
    };
    input.splice(position..position, word.into_bytes());
}

/// Replaces a word by one of `words`.
fn replace_word(input: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    let spans = words_of(input, random);
    if let (Some(span), Some(word)) = (random.choice(&spans), random.choice(words)) {
        input.splice(span.clone(), word.bytes());
    }
}

/// Replaces a word of this input by a word of another one.
fn borrow_word(input: &mut Vec<u8>, others: &Pool<'_>, random: &mut Random) {
    let spans_here = words_of(input, random);
    let Some(other) = others.choice(random) else {
        return;
    };
    let spans_there = words_of(other, random);
    if let (Some(here), Some(there)) = (random.choice(&spans_here), random.choice(&spans_there)) {
        input.splice(here.clone(), other[there.clone()].iter().copied());
    }
}

/// Removes a few consecutive words.
fn remove_words(input: &mut Vec<u8>, random: &mut Random) {
    let spans = spans(input);
    let first = random.below(spans.len());
    let last = first + random.below(4);
    if let (Some(first), Some(last)) = (spans.get(first), spans.get(last)) {
        input.drain(first.start..last.end);
    }
}

/// Swaps two words that do not overlap.
fn swap_words(input: &mut Vec<u8>, random: &mut Random) {
    let spans = words_of(input, random);
    let (Some(a), Some(b)) = (random.choice(&spans), random.choice(&spans)) else {
        return;
    };
    let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
    if first.end <= second.start {
        let (early, late) = (
            input[first.clone()].to_vec(),
            input[second.clone()].to_vec(),
        );
        // The later range first: a splice moves everything behind its range.
        input.splice(second.clone(), early);
        input.splice(first.clone(), late);
    }
}

/// Joins the begin of this input to the end of another one.
fn splice(input: &mut Vec<u8>, others: &Pool<'_>, random: &mut Random) {
    if let Some(other) = others.choice(random) {
        let start = random.below(other.len() + 1);
        input.truncate(random.below(input.len() + 1));
        input.extend_from_slice(&other[start..]);
    }
}

/// Encloses a word in brackets, and sometimes in hundreds of levels of brackets.
fn nest(input: &mut Vec<u8>, random: &mut Random) {
    let spans = words_of(input, random);
    let (Some(span), Some((open, close))) = (random.choice(&spans), random.choice(BRACKETS)) else {
        return;
    };
    let depth = if random.chance(8) {
        random.below(NESTING_MAX)
    } else {
        1
    };
    let word = input[span.clone()].to_vec();
    let nested = [
        open.repeat(depth).as_bytes(),
        &word,
        close.repeat(depth).as_bytes(),
    ]
    .concat();
    input.splice(span.clone(), nested);
}

/// A random range. Most ranges are short.
fn range(input: &[u8], random: &mut Random) -> Range<usize> {
    let start = random.below(input.len() + 1);
    let length = if random.chance(4) {
        random.below(input.len() + 1)
    } else {
        random.below(12)
    };
    start..(start + length).min(input.len())
}

/// The positions of words, and sometimes also of punctuation: hardly any input stays valid without
/// it.
fn words_of(input: &[u8], random: &mut Random) -> Vec<Range<usize>> {
    let mut spans = spans(input);
    if !random.chance(8) {
        spans.retain(|span| input[span.start].is_ascii_alphanumeric());
    }
    spans
}

/// The positions of words and punctuation characters.
fn spans(input: &[u8]) -> Vec<Range<usize>> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'@';
    let mut spans = Vec::new();
    let mut position = 0;
    while position < input.len() {
        let length = input[position..]
            .iter()
            .take_while(|byte| is_word(byte))
            .count();
        let end = position + length.max(1);
        if !input[position].is_ascii_whitespace() {
            spans.push(position..end);
        }
        position = end;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_input_can_be_changed() {
        let mut random = Random::new(1);
        let known = [b"other".to_vec()];
        let pool = Pool {
            known: &known,
            valid_inputs: &[],
        };
        for start in ["", "a", "SELECT c.x FROM c", "\u{e9}\u{e9}"] {
            for _ in 0..500 {
                let mut input = start.as_bytes().to_vec();
                mutate(&mut input, &pool, &["word"], &mut random);
                assert!(input.len() <= BYTES_MAX);
            }
        }
        assert_eq!(spans(b"a1 (b)"), [0..2, 3..4, 4..5, 5..6]);
    }
}
