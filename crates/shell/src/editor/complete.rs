//! Completion: the words that may follow at the cursor.

use std::collections::BTreeMap;

use super::vocabulary::{Names, Vocabulary};
use crate::functions::{AGGREGATES, FUNCTIONS};
use crate::help::COMMANDS;
use crate::statement::is_query;
use crate::words::Words;

/// The names of the account that are needed to complete a text.
pub(super) fn names_needed(text: &str) -> Names {
    match cursor_context(text) {
        CursorContext::Argument { command, words, .. } => match (command.as_str(), words.len()) {
            ("use" | "containers", 0) => Names::Databases,
            ("use", 1) => Names::Containers(Some(words[0].clone())),
            ("describe" | "desc", 0) => Names::Containers(None),
            _ => Names::None,
        },
        CursorContext::Query { .. } => Names::Properties,
        CursorContext::Command => Names::None,
    }
}

/// The begin of the word at the end of the text, and its completions. `line` is the whole line,
/// which may name sources after the cursor.
pub(super) fn complete(text: &str, line: &str, known: &Vocabulary) -> (usize, Vec<String>) {
    let start = word_start(text);
    let word = &text[start..];
    // The unfinished word is not a source of the query.
    let line = &format!("{} {}", &text[..start], &line[text.len()..]);
    let offered: Vec<String> = match cursor_context(text) {
        CursorContext::Command => {
            let names = COMMANDS.iter().map(|command| command.name);
            names.chain(["SELECT"]).map(str::to_owned).collect()
        }
        CursorContext::Argument { command, words } => argument(&command, &words, known),
        CursorContext::Query { path: Some(path) } => properties(&path, line, known),
        CursorContext::Query { path: None } => scalar_words(line, known),
    };
    // Completion ignores case, as the query language does for keywords.
    let fits = |name: &String| {
        let beginning = name.get(..word.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
    };
    let mut offered: Vec<String> = offered.into_iter().filter(fits).collect();
    offered.dedup();
    (start, offered)
}

#[derive(Debug)]
enum CursorContext {
    /// The first word of a statement.
    Command,
    /// A later word of a command, after these words.
    Argument { command: String, words: Vec<String> },
    /// A word of a query. The path is the text before the last dot, if the word follows a dot.
    Query { path: Option<Vec<String>> },
}

/// Determines whether the cursor is in a command, in its arguments, or in a query.
fn cursor_context(text: &str) -> CursorContext {
    let statement = current_statement(text);
    let first = Words::new(statement).name().unwrap_or_default();
    let command = first.to_ascii_lowercase();
    // A text that is only `SELECT` may still become another word.
    if is_query(statement) && statement.trim_start().len() > first.len() {
        return CursorContext::Query {
            path: path_before(text),
        };
    }
    if first.is_empty() || statement.trim_start() == first {
        return CursorContext::Command;
    }
    // `explain` and `watch` contain a query after their own words.
    let has_query = statement
        .split_whitespace()
        .any(|word| word.eq_ignore_ascii_case("select"));
    if matches!(command.as_str(), "explain" | "watch") && has_query {
        return CursorContext::Query {
            path: path_before(text),
        };
    }
    let mut reader = Words::new(statement);
    let mut words = Vec::new();
    while let Some(word) = reader.name() {
        words.push(word.to_owned());
    }
    if !statement.ends_with(char::is_whitespace) {
        // The unfinished last word is not an argument yet.
        words.pop();
    }
    // The first word is the command itself.
    words.remove(0);
    CursorContext::Argument { command, words }
}

/// The text after the last semicolon. A semicolon in a string misleads this function, which only
/// costs a suggestion.
fn current_statement(text: &str) -> &str {
    text.rsplit(';').next().unwrap_or_default()
}

/// The begin of the word at the end of the text.
fn word_start(text: &str) -> usize {
    let kept = text.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    kept.len()
}

/// The names before the last dot: `c.a.b|` gives `c`, `a`.
fn path_before(text: &str) -> Option<Vec<String>> {
    let before = &text[..word_start(text)];
    let path = before.strip_suffix('.')?;
    let begin = path.trim_end_matches(|c: char| c.is_alphanumeric() || "_.$[]".contains(c));
    let segments = path[begin.len()..].split('.');
    // The elements of `c.tags[0]` have the properties of the array.
    let name = |segment: &str| segment.split('[').next().unwrap_or_default().to_owned();
    Some(segments.map(name).collect())
}

/// The completions of one argument of a command. Earlier arguments select the names, such as the
/// containers of the named database.
fn argument(command: &str, words: &[String], known: &Vocabulary) -> Vec<String> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let containers = |database: Option<&String>| {
        let found = database.and_then(|database| known.containers.get(database));
        found.cloned().unwrap_or_default()
    };
    match (command, words.len()) {
        ("use" | "containers", 0) => known.databases.clone().unwrap_or_default(),
        ("use", 1) => containers(words.first()),
        ("describe" | "desc", 0) => containers(known.database.as_ref()),
        ("format", 0) => owned(&["table", "json", "csv"]),
        ("key", 0) => owned(&["off"]),
        ("help" | "?", 0) => COMMANDS
            .iter()
            .map(|command| command.name.to_owned())
            .collect(),
        ("explain", 0) => owned(&["SELECT"]),
        ("watch", count) => match words.last().map(String::as_str) {
            Some("changes") => owned(&["from"]),
            Some("from") => owned(&["beginning"]),
            _ if count % 2 == 0 => owned(&["every", "times", "changes", "SELECT"]),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The properties below a path that begins with a source of the query.
fn properties(path: &[String], line: &str, known: &Vocabulary) -> Vec<String> {
    let Some((_, properties)) = &known.properties else {
        return Vec::new();
    };
    let Some((root, steps)) = path.split_first() else {
        return Vec::new();
    };
    let sources = sources(line);
    // A joined source stands for a path, so its properties are those of this path.
    let mut full = sources.get(root.as_str()).cloned().unwrap_or_default();
    full.extend(steps.iter().cloned());
    let names = properties.get(&full.join("."));
    names.into_iter().flatten().cloned().collect()
}

/// The sources of `FROM` and `JOIN`, each with the path of properties that it stands for.
fn sources(line: &str) -> BTreeMap<String, Vec<String>> {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')'))
        .filter(|word| !word.is_empty())
        .collect();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Keywords are compared without regard to case.
    let is = |index: usize, keyword: &str| {
        words
            .get(index)
            .is_some_and(|word| word.eq_ignore_ascii_case(keyword))
    };
    // Sources are found by words and not by the parser, because an unfinished query does not parse.
    for index in 0..words.len() {
        if !is(index, "FROM") && !is(index, "JOIN") {
            continue;
        }
        let Some(first) = words.get(index + 1) else {
            continue;
        };
        if is(index + 2, "IN") {
            let Some(collection) = words.get(index + 3) else {
                continue;
            };
            let mut steps = collection.split('.').map(str::to_owned);
            let root = steps.next().unwrap_or_default();
            // The collection may begin with an earlier source, whose path comes first.
            let mut path = found.get(&root).cloned().unwrap_or_default();
            path.extend(steps);
            found.insert((*first).to_owned(), path);
        } else {
            let alias = if is(index + 2, "AS") {
                index + 3
            } else {
                index + 2
            };
            // The word after a source may be `WHERE`, which is no alias.
            let alias = words.get(alias).filter(|word| !is_reserved(word));
            found.insert((*alias.unwrap_or(first)).to_owned(), Vec::new());
        }
    }
    found
}

/// The words that may begin an expression: sources first, then keywords and functions.
fn scalar_words(line: &str, known: &Vocabulary) -> Vec<String> {
    let mut offered: Vec<String> = sources(line).into_keys().collect();
    if offered.is_empty() {
        // Without a source in the text the usual alias is offered.
        offered.push("c".to_owned());
    }
    offered.extend(known.container.clone());
    let words = orrery_sql::KEYWORDS
        .iter()
        .chain(&AGGREGATES)
        .chain(FUNCTIONS);
    let mut words: Vec<String> = words.map(|word| (*word).to_owned()).collect();
    words.sort();
    words.dedup();
    offered.extend(words);
    offered
}

/// Returns whether a word is a keyword of the query language.
fn is_reserved(word: &str) -> bool {
    let mut keywords = orrery_sql::KEYWORDS.iter();
    keywords.any(|keyword| word.eq_ignore_ascii_case(keyword))
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::properties_of;
    use super::*;

    fn vocabulary() -> Vocabulary {
        let item = r#"{"id":"1","author":{"name":"x","born":1},"tags":[{"label":"y"}]}"#;
        Vocabulary {
            databases: Some(vec!["shop".to_owned(), "stock".to_owned()]),
            containers: BTreeMap::from([("shop".to_owned(), vec!["books".to_owned()])]),
            properties: Some(("l".to_owned(), properties_of(item))),
            database: Some("shop".to_owned()),
            container: Some("books".to_owned()),
        }
    }

    /// The bar is the cursor.
    fn check(text: &str, expected: &[&str]) {
        let cursor = text.find('|').unwrap();
        let line = text.replace('|', "");
        let (start, found) = complete(&line[..cursor], &line, &vocabulary());
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, expected, "{text}");
        assert!(start <= cursor);
    }

    #[test]
    fn commands_and_their_arguments() {
        check("des|", &["describe"]);
        check("sel|", &["SELECT"]);
        check("use s|", &["shop", "stock"]);
        check("use shop |", &["books"]);
        check("use shop b|", &["books"]);
        check("describe |", &["books"]);
        check("format j|", &["json"]);
        check("help wat|", &["watch"]);
        check("watch |", &["every", "times", "changes", "SELECT"]);
        check("watch every 2 ch|", &["changes"]);
        check("watch changes |", &["from"]);
        check("get |", &[]);
        check("databases; us|", &["use"]);
    }

    #[test]
    fn queries() {
        check("SELECT c.au| FROM c", &["author"]);
        check("SELECT c.author.|", &["born", "name"]);
        check("SELECT c.tags[0].l|", &["label"]);
        check("SELECT t.| FROM c JOIN t IN c.tags", &["label"]);
        check("SELECT * FROM books b WHERE b.author.n|", &["name"]);
        check("SELECT * FROM c WHER|", &["WHERE"]);
        check("SELECT * FROM boo|", &["books"]);
        check("SELECT array_len|", &["ARRAY_LENGTH"]);
        check("SELECT coun|", &["COUNT", "COUNTIF"]);
        check("explain SELECT c.i|", &["id"]);
        check("SELECT c.nothing.|", &[]);
    }

    #[test]
    fn only_what_is_needed_is_asked_for() {
        for (text, expected) in [
            ("use ", Names::Databases),
            ("use a ", Names::Containers(Some("a".to_owned()))),
            ("describe ", Names::Containers(None)),
            ("SELECT c.", Names::Properties),
            ("he", Names::None),
            ("get 1", Names::None),
        ] {
            assert_eq!(names_needed(text), expected, "{text}");
        }
    }
}
