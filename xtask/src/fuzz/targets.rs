//! Everything that reads what clients and other regions send, one function each.
//!
//! A target gets bytes and says whether it took them for valid. It panics if what it read is not
//! what it writes, or if it gives different answers to the same question.

mod frame;
mod index;
mod query;
mod request;
mod text;

pub(super) use frame::{frames, notes};
pub(super) use query::{resumes, tokens};

use super::corpus::{Corpus, Kind};

pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// How often it has its turn.
    pub(super) weight: usize,
    pub(super) run: Run,
}

type Run = Box<dyn Fn(&[u8]) -> bool + Send>;

pub(super) fn all(corpus: &Corpus) -> Vec<Target> {
    let target = |name, kind, weight, run: fn(&[u8]) -> bool| Target {
        name,
        kind,
        weight,
        run: Box::new(run),
    };
    let programs = query::Programs::new(corpus.of(Kind::Query));
    vec![
        target("syntax", Kind::Query, 2, query::syntax),
        target("plan", Kind::Query, 3, query::plan),
        target("program", Kind::Query, 6, query::program),
        target("index", Kind::Query, 3, index::index),
        Target {
            name: "resume",
            kind: Kind::Resume,
            weight: 2,
            run: Box::new(move |input| programs.resume(input)),
        },
        target("continuation", Kind::Token, 1, query::continuation),
        target("json", Kind::Json, 1, text::json),
        target("binary json", Kind::Binary, 1, text::binary_json),
        target("definition", Kind::Definition, 2, text::definition),
        target("request", Kind::Request, 2, request::parts),
        target("headers", Kind::Headers, 1, request::headers),
        target("frame", Kind::Frame, 1, frame::frame),
        target("note", Kind::Note, 1, frame::note),
    ]
}

fn text_of(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}
