//! `LIKE`: `%` matches any run, `_` one character, `[a-f]` a set, `[^a-f]` the complement of a set.

/// Characters that a match examines between two checks of the caller's limits.
const LOOKS_AT_ONCE: usize = 16 * 1024;

/// A parsed pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    parts: Vec<PatternPart>,
}

#[derive(Debug, Clone)]
enum PatternPart {
    Run,
    Any,
    Char(char),
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

/// The literal text in front of the first wildcard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    pub(crate) text: String,
    /// Whether a match may continue behind the text.
    pub(crate) is_open: bool,
    /// Whether the pattern demands nothing behind the text.
    pub(crate) is_all: bool,
}

impl Pattern {
    /// Parses a pattern. An opening bracket without a closing one stands for itself.
    pub(crate) fn new(text: &str, escape: Option<char>) -> Pattern {
        let mut parts = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let part = match c {
                _ if Some(c) == escape => PatternPart::Char(rest.next().unwrap_or(c)),
                '%' => PatternPart::Run,
                '_' => PatternPart::Any,
                '[' => match rest.as_str().split_once(']') {
                    Some((set, after)) => {
                        rest = after.chars();
                        set_part(set)
                    }
                    None => PatternPart::Char(c),
                },
                _ => PatternPart::Char(c),
            };
            // Adjacent runs match like one run.
            let repeated_run =
                matches!(part, PatternPart::Run) && matches!(parts.last(), Some(PatternPart::Run));
            if !repeated_run {
                parts.push(part);
            }
        }
        Pattern { parts }
    }

    /// The beginning that all matching texts share.
    pub(crate) fn beginning(&self) -> Beginning {
        let plain = self.parts.iter().map_while(|part| match part {
            PatternPart::Char(c) => Some(*c),
            _ => None,
        });
        let text: String = plain.collect();
        let rest = &self.parts[text.chars().count()..];
        Beginning {
            text,
            is_open: !rest.is_empty(),
            is_all: matches!(rest, [] | [PatternPart::Run]),
        }
    }

    /// Upper bound of the memory of a pattern's parts.
    pub(crate) fn bytes_max(text: &str) -> usize {
        2 * text.len() * size_of::<PatternPart>()
    }

    /// Matches a text. A mismatch lengthens only the last run, so the cost is at most the product
    /// of both lengths. The match reports its work to `work`, which says whether to continue; if
    /// not, the result is `None`.
    pub(crate) fn matches(&self, text: &str, work: &mut dyn FnMut(usize) -> bool) -> Option<bool> {
        let mut looks = 0;
        let mut part = 0;
        let mut rest = text.chars();
        let mut retry = None;
        loop {
            looks += 1;
            if looks == LOOKS_AT_ONCE {
                looks = 0;
                if !work(LOOKS_AT_ONCE) {
                    return None;
                }
            }
            if let Some(PatternPart::Run) = self.parts.get(part) {
                part += 1;
                retry = Some((part, rest.clone()));
                continue;
            }
            let matched = match (self.parts.get(part), rest.next()) {
                (None, None) => return Some(true),
                (Some(part), Some(c)) => part.matches(c),
                (None, Some(_)) => false,
                (Some(_), None) => return Some(false),
            };
            if matched {
                part += 1;
                continue;
            }
            let Some((after_run, mut from)) = retry else {
                return Some(false);
            };
            if from.next().is_none() {
                return Some(false);
            }
            part = after_run;
            rest = from.clone();
            retry = Some((after_run, from));
        }
    }
}

impl PatternPart {
    fn matches(&self, c: char) -> bool {
        match self {
            PatternPart::Run => false,
            PatternPart::Any => true,
            PatternPart::Char(expected) => *expected == c,
            PatternPart::Set { ranges, negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
            }
        }
    }
}

/// Parses a set such as `a-f` or `^a-f`. A dash at the end stands for itself.
fn set_part(text: &str) -> PatternPart {
    let (negated, text) = match text.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut ranges = Vec::new();
    let mut chars = text.chars();
    while let Some(low) = chars.next() {
        let mut ahead = chars.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) => {
                chars = ahead;
                high
            }
            _ => low,
        };
        ranges.push((low, high));
    }
    PatternPart::Set { ranges, negated }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, pattern, escape, expected) in [
            ("abc", "abc", None, true),
            ("abc", "ABC", None, false),
            ("abc", "a%", None, true),
            ("abc", "%c", None, true),
            ("abc", "%b%", None, true),
            ("abc", "%%", None, true),
            ("", "%", None, true),
            ("", "_", None, false),
            ("abc", "a_c", None, true),
            ("abc", "a_", None, false),
            ("aXbXc", "a%Xc", None, true),
            ("aaab", "%aab", None, true),
            ("é😀", "__", None, true),
            ("a%", "a!%", Some('!'), true),
            ("ab", "a!%", Some('!'), false),
            ("a!", "a!", Some('!'), true),
            ("bat", "[bc]at", None, true),
            ("hat", "[b-g]at", None, false),
            ("hat", "[^b-g]at", None, true),
            ("a%", "a[%]", None, true),
            ("ab", "a[%]", None, false),
            ("a]", "a]", None, true),
            ("a[", "a[", None, true),
            ("a-", "a[x-]", None, true),
        ] {
            assert_eq!(
                Pattern::new(pattern, escape).matches(text, &mut |_| true),
                Some(expected),
                "{text} LIKE {pattern}"
            );
        }
    }
}
