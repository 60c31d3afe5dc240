//! What can go wrong between a statement and its result.

use std::io;
use std::path::PathBuf;

use crate::caret;
use crate::client::Refusal;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot connect to {authority}")]
    Connect {
        authority: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The request may or may not have been carried out.
    #[error("the connection broke before the answer was there")]
    Broken(#[source] hyper::Error),
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The same, where the text of a query was sent.
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
    /// What was typed cannot be carried out, and what to type instead.
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
    /// The whole chain on one line, without what a cause repeats.
    pub(crate) fn sentence(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let more = error.to_string();
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            cause = error.source();
        }
        text
    }

    /// For a person: the sentence, and mistakes shown where they are.
    pub(crate) fn report(&self) -> String {
        let mut text = format!("error: {}\n", self.sentence());
        if let Error::InQuery { query, refusal } = self {
            let mistakes = refusal.mistakes.iter();
            text.extend(mistakes.filter_map(|mistake| caret::shown(query, mistake)));
        }
        text
    }

    /// Of a request that carried this query.
    pub(crate) fn in_query(self, query: &str) -> Error {
        match self {
            Error::Refused(refusal) => Error::InQuery {
                query: query.to_owned(),
                refusal,
            },
            other => other,
        }
    }

    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Refused(refusal) | Error::InQuery { refusal, .. } => Some(refusal),
            Error::NeedsPlan { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(Box::new(refusal))
    }
}
