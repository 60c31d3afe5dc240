//! Colours a statement while the user types. The text itself never changes.

use crate::functions::is_function;
use crate::statement::begins_statement;

const RESET: &str = "\x1b[0m";
const KEYWORD: &str = "\x1b[1;34m";
const FUNCTION: &str = "\x1b[36m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[35m";
const PARAMETER: &str = "\x1b[33m";
const COMMENT: &str = "\x1b[90m";

/// The line with colours. The visible text must stay the same, since the editor positions the
/// cursor in it.
pub(super) fn painted(line: &str) -> String {
    let mut out = String::with_capacity(line.len() * 2);
    let mut rest = line;
    let mut after_dot = false;
    let mut is_first = true;
    while let Some(first) = rest.chars().next() {
        // Every token has at least one character, so the loop ends for any text.
        let (length, colour) = token(rest, first, after_dot, is_first);
        let (text, next) = rest.split_at(length);
        match colour {
            Some(colour) => {
                out.push_str(colour);
                out.push_str(text);
                out.push_str(RESET);
            }
            None => out.push_str(text),
        }
        if !first.is_whitespace() {
            after_dot = first == '.';
            is_first = false;
        }
        rest = next;
    }
    out
}

/// The length and the colour of the first token of a text, which must not be empty.
fn token(
    rest: &str,
    first: char,
    after_dot: bool,
    is_first: bool,
) -> (usize, Option<&'static str>) {
    // The length of the first character and of all characters after it that belong to the same
    // token.
    let run = |belongs: fn(char) -> bool| {
        let skipped = first.len_utf8();
        let end = rest[skipped..].find(|c: char| !belongs(c));
        end.map_or(rest.len(), |end| end + skipped)
    };
    match first {
        '"' | '\'' => (string_length(rest, first), Some(STRING)),
        '-' if rest.starts_with("--") => (rest.find('\n').unwrap_or(rest.len()), Some(COMMENT)),
        '@' => (run(in_word), Some(PARAMETER)),
        '0'..='9' => (run(|c| in_word(c) || c == '.'), Some(NUMBER)),
        c if in_word(c) => {
            let length = run(in_word);
            let word = &rest[..length];
            let is_call = rest[length..].trim_start().starts_with('(');
            // Names of commands are no keywords of SQL, so they get their colour only at the start.
            let is_command = is_first && begins_statement(word);
            let colour =
                // After a dot a keyword is the name of a property.
                if is_command || !after_dot && is_keyword(word) && !is_call_of(word, is_call) {
                    Some(KEYWORD)
                } else if is_call && is_function(word) {
                    Some(FUNCTION)
                } else {
                    None
                };
            (length, colour)
        }
        c => (c.len_utf8(), None),
    }
}

/// Whether a word is a call: `LEFT(...)` is a function and not the keyword.
fn is_call_of(word: &str, is_call: bool) -> bool {
    is_call && is_function(word)
}

/// Returns whether a word is a keyword, in any case.
fn is_keyword(word: &str) -> bool {
    let mut keywords = orrery_sql::KEYWORDS.iter();
    keywords.any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// Returns whether a character may occur within a word.
fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a string literal, up to its closing quote or the end of the text.
fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        let colours = [RESET, KEYWORD, FUNCTION, STRING, NUMBER, PARAMETER, COMMENT];
        let mut text = text.to_owned();
        for colour in colours {
            text = text.replace(colour, "");
        }
        text
    }

    #[test]
    fn words_have_colours() {
        let text = painted("select count(1), c.value from c where c.a = 'x' -- y");
        for (word, colour) in [
            ("select", KEYWORD),
            ("count", FUNCTION),
            ("1", NUMBER),
            ("'x'", STRING),
            ("-- y", COMMENT),
            ("where", KEYWORD),
        ] {
            assert!(text.contains(&format!("{colour}{word}{RESET}")), "{word}");
        }
        assert!(text.contains(".value"), "a name after a dot is no keyword");
        assert!(painted("SELECT LEFT('a', 1)").contains(&format!("{FUNCTION}LEFT")));
        assert!(painted("use a").starts_with(KEYWORD));
    }

    #[test]
    fn nothing_but_colours_is_added() {
        for text in [
            "",
            "  ",
            "SELECT 'open",
            "'\\",
            "@",
            "1.5e3 é日本 \u{1f600}",
            "a--b\nc",
            "\"a\\\"b\" c",
        ] {
            assert_eq!(plain(&painted(text)), text);
        }
    }
}
