//! All parsers of messages from clients and other regions, with one function each.
//!
//! A target takes bytes and returns whether it accepts them as valid. It panics if it writes a
//! parsed value differently, or if it gives different answers to the same question.

mod frame;
mod index;
mod query;
mod request;
mod rntbd;
mod text;

pub(super) use frame::{frames, stored_records};
pub(super) use query::{resumes, tokens};

use super::corpus::{Corpus, InputKind};

/// A function under test, with the kind of its inputs.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) kind: InputKind,
    /// How often the target has a turn, compared with other targets.
    pub(super) weight: usize,
    pub(super) run: Run,
}

type Run = Box<dyn Fn(&[u8]) -> bool + Send>;

/// All targets. Their order is part of what a seed means.
pub(super) fn all(corpus: &Corpus) -> Vec<Target> {
    let target = |name, kind, weight, run: fn(&[u8]) -> bool| Target {
        name,
        kind,
        weight,
        run: Box::new(run),
    };
    let programs = query::Programs::new(corpus.of(InputKind::Query));
    vec![
        target("syntax", InputKind::Query, 2, query::syntax),
        target("plan", InputKind::Query, 3, query::plan),
        target("program", InputKind::Query, 6, query::program),
        target("index", InputKind::Query, 3, index::index),
        Target {
            name: "resume",
            kind: InputKind::Resume,
            weight: 2,
            run: Box::new(move |input| programs.resume(input)),
        },
        target("continuation", InputKind::Token, 1, query::continuation),
        target("json", InputKind::Json, 1, text::json),
        target("binary json", InputKind::Binary, 1, text::binary_json),
        target("definition", InputKind::Definition, 2, text::definition),
        target("request", InputKind::Request, 2, request::parts),
        target("headers", InputKind::Headers, 1, request::headers),
        target("frame", InputKind::Frame, 1, frame::frame),
        target("direct", InputKind::Direct, 1, rntbd::frames),
        target("note", InputKind::StoredRecord, 1, frame::stored_record),
    ]
}

/// The input as text. Invalid UTF-8 becomes replacement characters.
fn text_of(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}
