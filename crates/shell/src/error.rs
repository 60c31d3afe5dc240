//! The errors between a statement and its result.

use std::io;
use std::path::PathBuf;

use orrery_client::Refusal;

use crate::caret;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot connect to {authority}")]
    Connect {
        authority: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection broke after the request was sent. The server may have carried the request
    /// out.
    #[error("the connection broke before the answer was there")]
    Broken(#[source] hyper::Error),
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// A refusal of a request with the text of a query.
    #[error("{refusal}")]
    InQuery {
        query: String,
        refusal: Box<Refusal>,
    },
    #[error(
        "this endpoint runs a query with {clause} over several partitions only with the help of a query plan, which \
         this shell does not follow; name one partition with `key JSON`, or leave {clause} out"
    )]
    NeedsPlan {
        clause: &'static str,
        source: Box<Refusal>,
    },
    #[error("cannot read the answer of the server: {0}")]
    Answer(String),
    /// The statement cannot be carried out. The text says what to type instead.
    #[error("{0}")]
    Usage(String),
    #[error("cannot read {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("cannot use the terminal")]
    Terminal(#[source] rustyline::error::ReadlineError),
    #[error("cannot write the output")]
    Output(#[source] io::Error),
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
}

impl Error {
    /// The whole chain on one line, without texts that a cause repeats.
    pub(crate) fn sentence(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let more = error.to_string();
            // Some errors repeat their cause in their own text.
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            cause = error.source();
        }
        text
    }

    /// The report for a person: the sentence, and the mistakes at their location.
    pub(crate) fn report(&self) -> String {
        let mut text = format!("error: {}\n", self.sentence());
        if let Error::InQuery { query, refusal } = self {
            let mistakes = refusal.mistakes.iter();
            text.extend(mistakes.filter_map(|mistake| caret::shown(query, mistake)));
        }
        text
    }

    /// Adds the text of the query to the refusal of its request.
    pub(crate) fn in_query(self, query: &str) -> Error {
        match self {
            Error::Refused(refusal) => Error::InQuery {
                query: query.to_owned(),
                refusal,
            },
            other => other,
        }
    }

    /// The refusal of the server behind the error, if it is one.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Refused(refusal) | Error::InQuery { refusal, .. } => Some(refusal),
            Error::NeedsPlan { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<orrery_client::Error> for Error {
    fn from(error: orrery_client::Error) -> Error {
        use orrery_client::Error as ClientError;
        match error {
            ClientError::Connect { authority, source } => Error::Connect { authority, source },
            ClientError::Broken(error) => Error::Broken(error),
            ClientError::Refused(refusal) => Error::Refused(refusal),
            ClientError::Answer(reason) => Error::Answer(reason),
            unsendable @ ClientError::Unsendable(_) => Error::Usage(unsendable.to_string()),
        }
    }
}
