//! What the names of a query stand for.

use orrery_json::Path;
use orrery_sql::ast::{Collection, Expr, Identifier, Literal, PathStep, Source};

/// The names in sight, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    names: Vec<(String, Binding)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Binding {
    /// The value at one place of every document.
    Document(Vec<Segment>),
    /// An element, a row of a subquery, or the value of a `LET`.
    Derived,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    Name(String),
    Index(u64),
}

impl Scope {
    /// What to give [`leave`](Self::leave) to forget the names bound from here on.
    pub(crate) fn mark(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn leave(&mut self, mark: usize) {
        self.names.truncate(mark);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names bound since the mark.
    pub(crate) fn since(&self, mark: usize) -> impl Iterator<Item = &str> {
        self.names[mark..].iter().map(|(name, _)| name.as_str())
    }

    pub(crate) fn bind(&mut self, name: &str, binding: Binding) {
        self.names.push((name.to_owned(), binding));
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<&Binding> {
        self.names
            .iter()
            .rev()
            .find(|(known, _)| known == name || is_root_word(known) && is_root_word(name))
            .map(|(_, binding)| binding)
    }

    /// Binds the alias of a source, if it has one.
    pub(crate) fn bind_source(&mut self, source: &Source) {
        let binding = match source {
            Source::Value {
                collection: Collection::Path { root, steps },
                ..
            } => self.path_of_collection(&root.name, steps),
            Source::Value { .. } | Source::Elements { .. } => Binding::Derived,
        };
        if let Some(alias) = alias(source) {
            self.bind(alias, binding);
        }
    }

    /// A name that is not in sight is that of the container.
    fn path_of_collection(&self, root: &str, steps: &[PathStep]) -> Binding {
        match self.lookup(root) {
            Some(Binding::Derived) => Binding::Derived,
            Some(Binding::Document(path)) => Binding::Document(extended(path, steps)),
            None => Binding::Document(extended(&[], steps)),
        }
    }

    /// The place in the document that a path expression leads to.
    pub(crate) fn document_path(&self, expr: &Expr) -> Option<Vec<Segment>> {
        match expr {
            Expr::Identifier(name) => match self.lookup(&name.name)? {
                Binding::Document(path) => Some(path.clone()),
                Binding::Derived => None,
            },
            Expr::Member { object, name } => {
                let mut path = self.document_path(object)?;
                path.push(Segment::Name(name.clone()));
                Some(path)
            }
            Expr::Index { object, index } => {
                let segment = match &**index {
                    Expr::Literal(Literal::String(name)) => Segment::Name(name.clone()),
                    Expr::Literal(Literal::Number(number)) => {
                        Segment::Index(u64::try_from(number.as_i64()?).ok()?)
                    }
                    _ => return None,
                };
                let mut path = self.document_path(object)?;
                path.push(segment);
                Some(path)
            }
            _ => None,
        }
    }
}

/// The name a source is known by: `FROM c.a.b` binds `b`, and `FROM c[0]` nothing.
pub(crate) fn alias(source: &Source) -> Option<&str> {
    match source {
        Source::Elements { alias, .. }
        | Source::Value {
            alias: Some(alias), ..
        } => Some(&alias.name),
        Source::Value {
            collection: Collection::Path { root, steps },
            alias: None,
        } => match steps.last() {
            None => Some(&root.name),
            Some(PathStep::Name(name)) => Some(name),
            Some(PathStep::Key(_) | PathStep::Index(_)) => None,
        },
        Source::Value {
            collection: Collection::Subquery(_),
            alias: None,
        } => None,
    }
}

/// Whether a place in the document is the one that a policy writes as this path.
pub(crate) fn is_at(place: &[Segment], path: &Path) -> bool {
    let names = path.segments();
    place.len() == names.len()
        && place
            .iter()
            .zip(names)
            .all(|(segment, name)| matches!(segment, Segment::Name(known) if known == name))
}

/// The identifier at the beginning of `c.a[0].b`; `None` for what is not such a path.
pub(crate) fn path_root(expr: &Expr) -> Option<&Identifier> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::Member { object, .. } | Expr::Index { object, .. } => path_root(object),
        _ => None,
    }
}

/// `ROOT` names the container in any case.
pub(crate) fn is_root_word(name: &str) -> bool {
    name.eq_ignore_ascii_case("root")
}

fn extended(path: &[Segment], steps: &[PathStep]) -> Vec<Segment> {
    let steps = steps.iter().map(|step| match step {
        PathStep::Name(name) | PathStep::Key(name) => Segment::Name(name.clone()),
        PathStep::Index(index) => Segment::Index(*index),
    });
    path.iter().cloned().chain(steps).collect()
}
