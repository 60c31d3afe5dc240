//! One statement: a query, or a command with its arguments.

use std::str::FromStr;
use std::time::Duration;

use orrery_json::Value;

use crate::error::Error;
use crate::help;
use crate::key_values::KeyValues;
use crate::output::Format;
use crate::words::Words;

/// A parsed statement, which is a query or a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Statement {
    Query(String),
    Explain(String),
    Watch(Watch),
    Databases,
    Containers(Option<String>),
    Describe(Option<String>),
    Partitions,
    Scripts,
    Use(String, Option<String>),
    /// Sets the partition key of the queries that follow, or covers all partitions again.
    Key(Option<KeyValues>),
    Get(String, Option<KeyValues>),
    Write(Write, Value),
    Patch {
        id: String,
        key: KeyValues,
        operations: Value,
    },
    Delete(String, Option<KeyValues>),
    Format(Format),
    Help(Option<String>),
    Quit,
}

/// The ways to write a whole item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Create,
    Upsert,
    Replace,
}

/// A statement that repeats.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Watch {
    pub(crate) every: Duration,
    /// The number of rounds. None repeats forever.
    pub(crate) times: Option<u32>,
    pub(crate) what: WatchSubject,
}

/// The repeated query, or the followed change feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WatchSubject {
    Query(String),
    Changes { from_beginning: bool },
}

/// The pause between rounds without `every`.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

/// Whether a line can begin a statement, and does not continue a query.
pub(crate) fn begins_statement(line: &str) -> bool {
    let first = Words::new(line).name().unwrap_or_default();
    is_query(line) || help::find(&first.to_ascii_lowercase()).is_some()
}

/// Whether a text that begins like this is SQL.
pub(crate) fn is_query(text: &str) -> bool {
    let text = text.trim_start().as_bytes();
    let word = text.get(..6).unwrap_or_default();
    word.eq_ignore_ascii_case(b"select")
        && !text
            .get(6)
            .is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_')
}

impl FromStr for Statement {
    type Err = Error;

    fn from_str(text: &str) -> Result<Statement, Error> {
        if is_query(text) {
            return Ok(Statement::Query(text.trim().to_owned()));
        }
        let mut words = Words::new(text);
        let name = words.name().unwrap_or_default().to_ascii_lowercase();
        // Aliases are resolved here, so the match below has one name for each command.
        let Some(command) = help::find(&name) else {
            return Err(Error::Usage(format!(
                "'{name}' is neither a query nor a command; `help` lists the commands, and a query begins with SELECT"
            )));
        };
        let usage = || Error::Usage(format!("usage: {}", command.usage));
        let statement = match command.name {
            "databases" => Statement::Databases,
            "containers" => Statement::Containers(words.name().map(str::to_owned)),
            "describe" => Statement::Describe(words.name().map(str::to_owned)),
            "partitions" => Statement::Partitions,
            "scripts" => Statement::Scripts,
            "use" => Statement::Use(
                words.name().ok_or_else(usage)?.to_owned(),
                words.name().map(str::to_owned),
            ),
            "key" => match words.rest() {
                "" => return Err(usage()),
                rest if rest.eq_ignore_ascii_case("off") => return Ok(Statement::Key(None)),
                rest if rest.starts_with('\'') => Statement::Key(key(&mut words)),
                rest => return Ok(Statement::Key(Some(KeyValues::typed(rest)))),
            },
            "get" | "delete" => {
                let id = words.name().ok_or_else(usage)?.to_owned();
                let key = key(&mut words);
                match command.name {
                    "get" => Statement::Get(id, key),
                    _ => Statement::Delete(id, key),
                }
            }
            "create" => return write(Write::Create, &words),
            "upsert" => return write(Write::Upsert, &words),
            "replace" => return write(Write::Replace, &words),
            "patch" => {
                let id = words.name().ok_or_else(usage)?.to_owned();
                let key = key(&mut words).ok_or_else(usage)?;
                let operations = json(words.rest(), command.usage)?;
                return Ok(Statement::Patch {
                    id,
                    key,
                    operations,
                });
            }
            "explain" if is_query(words.rest()) => {
                return Ok(Statement::Explain(words.rest().to_owned()));
            }
            "watch" => return Ok(Statement::Watch(watch(words).ok_or_else(usage)?)),
            "format" => {
                let format = words.name().ok_or_else(usage)?;
                Statement::Format(format.parse().map_err(|_| usage())?)
            }
            "help" => Statement::Help(words.name().map(str::to_ascii_lowercase)),
            "quit" => Statement::Quit,
            _ => return Err(usage()),
        };
        // Words that no command reads are probably a mistake, so they are not ignored.
        if words.rest().is_empty() {
            Ok(statement)
        } else {
            Err(usage())
        }
    }
}

/// A partition key: JSON, a word, or a string in single quotes, which JSON does not have.
fn key(words: &mut Words<'_>) -> Option<KeyValues> {
    if words.rest().starts_with('\'') {
        return words.name().map(KeyValues::of_text);
    }
    words.value().map(KeyValues::typed)
}

/// A statement that writes an item. A missing id is reported before anything is sent.
fn write(kind: Write, words: &Words<'_>) -> Result<Statement, Error> {
    let item = json(words.rest(), "create|upsert|replace {\"id\": ...}")?;
    if item.get("id").as_str().is_none() {
        return Err(Error::Usage(
            "an item is a JSON object with an \"id\" that is a string".to_owned(),
        ));
    }
    Ok(Statement::Write(kind, item))
}

/// The options of `watch` in any order, and then its subject.
fn watch(mut words: Words<'_>) -> Option<Watch> {
    let mut watch = Watch {
        every: WATCH_INTERVAL,
        times: None,
        what: WatchSubject::Changes {
            from_beginning: false,
        },
    };
    loop {
        if is_query(words.rest()) {
            watch.what = WatchSubject::Query(words.rest().to_owned());
            return Some(watch);
        }
        match words.name()?.to_ascii_lowercase().as_str() {
            "every" => {
                let seconds: f64 = words.name()?.parse().ok()?;
                // Negative and infinite numbers have no duration.
                watch.every = Duration::try_from_secs_f64(seconds).ok()?;
            }
            "times" => watch.times = Some(words.name()?.parse().ok()?),
            "changes" => {
                let from_beginning = match words.rest().to_ascii_lowercase().as_str() {
                    "" => false,
                    "from beginning" => true,
                    _ => return None,
                };
                watch.what = WatchSubject::Changes { from_beginning };
                return Some(watch);
            }
            _ => return None,
        }
    }
}

/// Parses JSON from the user. The error repeats how the command is used.
fn json(text: &str, usage: &str) -> Result<Value, Error> {
    orrery_json::parse(text.as_bytes())
        .map_err(|error| Error::Usage(format!("that is not JSON: {error}; usage: {usage}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements() {
        let key = |text: &str| Some(KeyValues::typed(text));
        let name = |text: &str| text.to_owned();
        for (text, expected) in [
            (" select 1", Statement::Query(name("select 1"))),
            ("EXPLAIN SELECT 1", Statement::Explain(name("SELECT 1"))),
            (
                "use 'my db' c",
                Statement::Use(name("my db"), Some(name("c"))),
            ),
            ("get 1", Statement::Get(name("1"), None)),
            (
                "get 1 [\"a\", 2]",
                Statement::Get(name("1"), key("[\"a\",2]")),
            ),
            ("delete 1 a", Statement::Delete(name("1"), key("\"a\""))),
            (
                "delete 1 '7 b'",
                Statement::Delete(name("1"), key("\"7 b\"")),
            ),
            ("key '7'", Statement::Key(key("\"7\""))),
            ("key off", Statement::Key(None)),
            ("key two words", Statement::Key(key("\"two words\""))),
            ("format CSV", Statement::Format(Format::Csv)),
            ("exit", Statement::Quit),
            ("\\q", Statement::Quit),
            (
                "watch every 0.5 times 3 SELECT 1",
                Statement::Watch(Watch {
                    every: Duration::from_millis(500),
                    times: Some(3),
                    what: WatchSubject::Query(name("SELECT 1")),
                }),
            ),
            (
                "watch changes from beginning",
                Statement::Watch(Watch {
                    every: WATCH_INTERVAL,
                    times: None,
                    what: WatchSubject::Changes {
                        from_beginning: true,
                    },
                }),
            ),
        ] {
            assert_eq!(text.parse::<Statement>().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, phrase) in [
            ("selekt 1", "begins with SELECT"),
            ("use", "usage: use DATABASE"),
            ("get", "usage: get ID"),
            ("get 1 2 3", "usage: get ID"),
            ("create {\"id\":1}", "a string"),
            ("create {", "not JSON"),
            ("patch 1", "usage: patch"),
            ("watch every x SELECT 1", "usage: watch"),
            ("watch changes for ever", "usage: watch"),
            ("watch every -1 changes", "usage: watch"),
            ("explain 1", "usage: explain"),
            ("format xml", "usage: format"),
        ] {
            let error = text.parse::<Statement>().unwrap_err().to_string();
            assert!(error.contains(phrase), "{text}: {error}");
        }
    }

    #[test]
    fn words_that_begin_like_select() {
        assert!(is_query("SELECT*FROM c") && is_query("select\n1"));
        assert!(!is_query("selected") && !is_query("sele"));
    }
}
