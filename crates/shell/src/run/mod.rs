//! Runs statements. Each kind of statements has a file.

mod describe;
mod items;
mod rows;

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::process::ExitCode;

use orrery_client::Client;
use orrery_json::{Object, Value};
use tokio::runtime::Builder;

use crate::account;
use crate::arguments::ShellArguments;
use crate::connection::ConnectionSettings;
use crate::error::Error;
use crate::output::{Format, Output, print_message};
use crate::paths;
use crate::profile::Profile;
use crate::session::ShellSession;
use crate::statement::Statement;
use crate::{help, interactive, script, watch};

pub(crate) use rows::show_rows;

/// Whether the shell continues after a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Statement,
    End,
}

/// Runs the shell: interactively on a terminal, otherwise as a script.
pub fn shell(arguments: ShellArguments) -> Result<ExitCode, Error> {
    // One thread is enough: the shell has one request at a time.
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::Runtime)?;
    // A dialogue needs a terminal for input and for output.
    let is_script = !arguments.execute.is_empty()
        || arguments.file.is_some()
        || !io::stdin().is_terminal()
        || !io::stdout().is_terminal();
    let keep_going = arguments.keep_going;
    if !is_script {
        let history = paths::history_file(&paths::environment);
        let history = history.filter(|_| !arguments.no_history);
        return interactive::run(runtime, session(arguments, true)?, history);
    }
    // Before the session: a script that cannot be read needs no connection.
    let (name, text) = script_text(&arguments)?;
    let mut session = session(arguments, false)?;
    let failures = runtime.block_on(script::run(&mut session, &name, &text, keep_going));
    Ok(match failures {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The script, and its name for messages.
fn script_text(arguments: &ShellArguments) -> Result<(String, String), Error> {
    if !arguments.execute.is_empty() {
        // An empty line ends a statement, so each option ends its own.
        return Ok(("--execute".to_owned(), arguments.execute.join("\n\n")));
    }
    let wrong = |path: &std::path::Path| {
        let path = path.to_owned();
        move |error: io::Error| Error::File {
            path,
            reason: error.to_string(),
        }
    };
    if let Some(path) = arguments
        .file
        .as_deref()
        .filter(|path| path.as_os_str() != "-")
    {
        let text = fs::read_to_string(path).map_err(wrong(path))?;
        return Ok((path.display().to_string(), text));
    }
    let mut text = String::new();
    let name = "standard input";
    io::stdin()
        .read_to_string(&mut text)
        .map_err(wrong(name.as_ref()))?;
    Ok((name.to_owned(), text))
}

/// The session from arguments, profile and environment. Arguments precede the profile.
fn session(arguments: ShellArguments, interactive: bool) -> Result<ShellSession, Error> {
    let environment = &paths::environment;
    let profile = match &arguments.profile {
        Some(name) => {
            let path = arguments
                .profiles
                .or_else(|| paths::profiles_file(environment));
            let none = || Error::Usage("name the file of profiles with --profiles FILE".to_owned());
            Profile::load(&path.ok_or_else(none)?, name)?
        }
        None => Profile::default(),
    };
    let given = arguments.connection.or(profile.connection);
    let connection = ConnectionSettings::choose(given.as_ref(), environment)?;
    let mut trust = arguments.trust;
    // One source that accepts any certificate is enough.
    trust.insecure |= profile.insecure || connection.insecure;
    trust.certificate = trust.certificate.or(profile.certificate);
    trust.ca = trust.ca.or(profile.ca);
    let client = Client::new(connection.endpoint, &connection.key, trust);
    let format = arguments.format.or(profile.format).unwrap_or(Format::Table);
    let output = Output::new(format, interactive);
    let mut session = ShellSession::new(client, connection.key, output);
    // A container belongs to the database of the same source.
    match arguments.database {
        Some(database) => session.choose(Some(database), arguments.container),
        None => session.choose(profile.database, profile.container),
    }
    Ok(session)
}

/// Runs one statement.
pub(crate) async fn statement(session: &mut ShellSession, text: &str) -> Result<Next, Error> {
    match text.parse()? {
        Statement::Query(query) => {
            let summary = show_rows(session, &query).await?;
            print_message(&summary.to_string());
        }
        Statement::Explain(query) => rows::explain(session, &query).await?,
        Statement::Watch(watch) => watch::watch(session, &watch).await?,
        Statement::Databases => {
            let names = account::databases(&mut session.client).await?;
            let rows: Vec<Value> = names
                .into_iter()
                .map(|name| object([("database", Value::from(name))]))
                .collect();
            session.output.all(&rows)?;
        }
        Statement::Containers(database) => describe::containers(session, database).await?,
        Statement::Describe(container) => describe::describe(session, container).await?,
        Statement::Partitions => {
            let link = session.link()?;
            let rows = describe::partitions(session, &link).await?;
            session.output.all(&rows)?;
        }
        Statement::Scripts => {
            let link = session.link()?;
            let rows = describe::scripts(session, &link).await?;
            session.output.all(&rows)?;
        }
        Statement::Use(database, container) => session.choose(Some(database), container),
        Statement::Key(key) => session.partition = key,
        Statement::Get(id, key) => items::get(session, &id, key).await?,
        Statement::Write(kind, item) => items::write(session, kind, &item).await?,
        Statement::Patch {
            id,
            key,
            operations,
        } => items::patch(session, &id, &key, operations).await?,
        Statement::Delete(id, key) => items::delete(session, &id, key).await?,
        Statement::Format(format) => session.output.format = format,
        Statement::Help(command) => {
            let text = match command.as_deref() {
                None => help::text(None),
                Some(name) => match help::find(name) {
                    Some(command) => help::text(Some(command)),
                    None => return Err(Error::Usage(format!("there is no command '{name}'"))),
                },
            };
            session.output.begin();
            session.output.text(&text)?;
        }
        Statement::Quit => return Ok(Next::End),
    }
    Ok(Next::Statement)
}

/// A JSON object with these properties, in this order.
fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let properties = properties.map(|(name, value)| (name.to_owned(), value));
    Value::Object(Object::from_iter(properties))
}
