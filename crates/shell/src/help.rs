//! The commands, in the order of `help`.

use std::fmt::Write;

/// A command, as `help` and error messages describe it.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// Other names of the command.
    aliases: &'static [&'static str],
    pub(crate) usage: &'static str,
    summary: &'static str,
    /// Details beyond the summary.
    more: &'static str,
}

/// All commands. Completion offers the names; parsing resolves the aliases.
pub(crate) const COMMANDS: [Command; 18] = [
    Command {
        name: "databases",
        aliases: &["dbs"],
        usage: "databases",
        summary: "list the databases of the account",
        more: "",
    },
    Command {
        name: "containers",
        aliases: &["colls"],
        usage: "containers [DATABASE]",
        summary: "list the containers of a database with their partition keys",
        more: "",
    },
    Command {
        name: "use",
        aliases: &[],
        usage: "use DATABASE [CONTAINER]",
        summary: "choose what the following statements are about",
        more: "Names with spaces stand in quotes: use 'my db' books",
    },
    Command {
        name: "describe",
        aliases: &["desc"],
        usage: "describe [CONTAINER]",
        summary: "partition key, throughput, policies, partitions and scripts of a container",
        more: "",
    },
    Command {
        name: "partitions",
        aliases: &[],
        usage: "partitions",
        summary: "the physical partitions of the container",
        more: "Orrery tells what they hold and use; of another server the ranges are shown.",
    },
    Command {
        name: "scripts",
        aliases: &[],
        usage: "scripts",
        summary: "list stored procedures, triggers and functions of the container",
        more: "",
    },
    Command {
        name: "key",
        aliases: &[],
        usage: "key JSON|off",
        summary: "read only one partition in the queries that follow, or all again",
        more: "A key is JSON: key \"a\", or key [\"a\", 1] for several parts. A word that is no JSON is a string.",
    },
    Command {
        name: "get",
        aliases: &["read"],
        usage: "get ID [KEY]",
        summary: "read one item",
        more: "The key is JSON and may be left out where the partition key is /id: get 1 \"a\"",
    },
    Command {
        name: "create",
        aliases: &[],
        usage: "create JSON",
        summary: "create an item",
        more: "The item may go over several lines. Its partition key is taken from it.",
    },
    Command {
        name: "upsert",
        aliases: &[],
        usage: "upsert JSON",
        summary: "create an item or replace it",
        more: "",
    },
    Command {
        name: "replace",
        aliases: &[],
        usage: "replace JSON",
        summary: "replace an item",
        more: "If the item has an _etag, it is replaced only while that is still its etag.",
    },
    Command {
        name: "patch",
        aliases: &[],
        usage: "patch ID KEY OPERATIONS",
        summary: "change parts of an item",
        more: "patch 1 \"a\" [{\"op\":\"set\",\"path\":\"/price\",\"value\":9}]",
    },
    Command {
        name: "delete",
        aliases: &[],
        usage: "delete ID [KEY]",
        summary: "delete an item",
        more: "",
    },
    Command {
        name: "explain",
        aliases: &[],
        usage: "explain SELECT ...",
        summary: "run a query and show how its first page was found (Orrery only)",
        more: "",
    },
    Command {
        name: "watch",
        aliases: &[],
        usage: "watch [every SECONDS] [times N] SELECT ... | changes [from beginning]",
        summary: "run a query again and again, or follow the changes of the container",
        more: "Ctrl-C ends it. Without `every` two seconds lie between two runs.",
    },
    Command {
        name: "format",
        aliases: &[],
        usage: "format table|json|csv",
        summary: "how rows are shown from now on",
        more: "",
    },
    Command {
        name: "help",
        aliases: &["?"],
        usage: "help [COMMAND]",
        summary: "this list, or more about one command",
        more: "",
    },
    Command {
        name: "quit",
        aliases: &["exit", "\\q"],
        usage: "quit",
        summary: "leave the shell, as Ctrl-D does",
        more: "",
    },
];

const CLOSING: &str = "
Anything that begins with SELECT is a query of the container. A statement may go over several lines and ends with
a semicolon, an empty line, or when it is complete. Tab completes, Ctrl-R searches the history, Ctrl-C cancels.
";

/// The command with this name in lower case.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    let mut commands = COMMANDS.iter();
    commands.find(|command| command.name == name || command.aliases.contains(&name))
}

/// The help of one command, or of all commands.
pub(crate) fn text(command: Option<&Command>) -> String {
    let mut text = String::new();
    match command {
        Some(command) => {
            let _ = writeln!(text, "{}\n  {}", command.usage, command.summary);
            if !command.more.is_empty() {
                let _ = writeln!(text, "  {}", command.more);
            }
            if !command.aliases.is_empty() {
                let _ = writeln!(text, "  Also: {}", command.aliases.join(", "));
            }
        }
        None => {
            for command in &COMMANDS {
                // Long usages are cut in the list; `help COMMAND` shows them whole.
                let first = command.usage.split(" SELECT").next().unwrap_or_default();
                let _ = writeln!(text, "  {first:<34} {}", command.summary);
            }
            text.push_str(CLOSING);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_all_their_names() {
        for (name, expected) in [("use", "use"), ("exit", "quit"), ("desc", "describe")] {
            assert_eq!(find(name).unwrap().name, expected);
        }
        assert!(find("select").is_none());
        for (index, command) in COMMANDS.iter().enumerate() {
            let first = COMMANDS.iter().position(|other| other.name == command.name);
            assert_eq!(first, Some(index));
            assert!(text(None).contains(command.summary));
        }
    }

    /// Else a line of a query could end the query before it.
    #[test]
    fn no_command_is_a_word_of_the_language() {
        for command in &COMMANDS {
            let word = command.name.to_ascii_uppercase();
            assert!(!orrery_sql::KEYWORDS.contains(&word.as_str()), "{word}");
        }
    }

    #[test]
    fn one_command_says_more() {
        let shown = text(find("get"));
        assert!(shown.starts_with("get ID [KEY]\n") && shown.contains("Also: read"));
    }
}
