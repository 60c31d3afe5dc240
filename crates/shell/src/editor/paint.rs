//! Colours of a statement while it is typed. Whatever the text is, only colours are added.

use crate::functions::is_function;
use crate::statement::begins_statement;

const RESET: &str = "\x1b[0m";
const KEYWORD: &str = "\x1b[1;34m";
const FUNCTION: &str = "\x1b[36m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[35m";
const PARAMETER: &str = "\x1b[33m";
const COMMENT: &str = "\x1b[90m";

pub(super) fn painted(line: &str) -> String {
    let mut out = String::with_capacity(line.len() * 2);
    let mut rest = line;
    let mut after_dot = false;
    let mut is_first = true;
    while let Some(first) = rest.chars().next() {
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

/// The length of the token at the beginning of a text that is not empty, and its colour.
fn token(
    rest: &str,
    first: char,
    after_dot: bool,
    is_first: bool,
) -> (usize, Option<&'static str>) {
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
            let is_command = is_first && begins_statement(word);
            let colour =
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

/// `LEFT(...)` is a function and not the keyword.
fn is_call_of(word: &str, is_call: bool) -> bool {
    is_call && is_function(word)
}

fn is_keyword(word: &str) -> bool {
    let mut keywords = orrery_sql::KEYWORDS.iter();
    keywords.any(|keyword| word.eq_ignore_ascii_case(keyword))
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// To the closing quote, or to the end where there is none yet.
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
