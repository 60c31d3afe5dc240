//! The bindings of names in a query.

use orrery_json::PropertyPath;
use orrery_sql::ast::{Collection, Expr, FromSource, Identifier, Literal, PathStep};

/// The visible names, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    names: Vec<(String, Binding)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Binding {
    /// The value at one path of every document.
    Document(Vec<PathSegment>),
    /// An array element, a row of a subquery, or the value of a `LET`.
    Derived,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathSegment {
    Name(String),
    Index(u64),
}

impl Scope {
    /// The position to pass to [`leave`](Self::leave), which removes the names bound after this
    /// call.
    pub(crate) fn mark(&self) -> usize {
        self.names.len()
    }

    /// Ends the visibility of all names that were bound since `mark`.
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

    /// Makes a name visible until [`leave`](Self::leave) truncates the scope.
    pub(crate) fn bind(&mut self, name: &str, binding: Binding) {
        self.names.push((name.to_owned(), binding));
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<&Binding> {
        // The innermost binding wins, because a subquery may reuse a name of the enclosing query.
        self.names
            .iter()
            .rev()
            .find(|(known, _)| known == name || is_root_word(known) && is_root_word(name))
            .map(|(_, binding)| binding)
    }

    /// Binds the alias of a source, if the source has one.
    pub(crate) fn bind_source(&mut self, source: &FromSource) {
        if let Some(alias) = source.alias() {
            let binding = self.binding(source);
            self.bind(alias, binding);
        }
    }

    /// The binding of a source: a document path, or a derived value for elements and subquery rows.
    fn binding(&self, source: &FromSource) -> Binding {
        match source {
            FromSource::Value {
                collection: Collection::Path { root, steps },
                ..
            } => self.path_of_collection(&root.name, steps),
            FromSource::Value {
                collection: Collection::Subquery(query),
                ..
            } => match query.filtered_source() {
                Some(source) => self.binding(source),
                None => Binding::Derived,
            },
            FromSource::Elements { .. } => Binding::Derived,
        }
    }

    /// The path of a collection. An unbound root name denotes the container.
    fn path_of_collection(&self, root: &str, steps: &[PathStep]) -> Binding {
        match self.lookup(root) {
            Some(Binding::Derived) => Binding::Derived,
            Some(Binding::Document(path)) => Binding::Document(extended(path, steps)),
            None => Binding::Document(extended(&[], steps)),
        }
    }

    /// The document path of a path expression. `None` for expressions that are not paths into the
    /// document.
    pub(crate) fn document_path(&self, expr: &Expr) -> Option<Vec<PathSegment>> {
        match expr {
            Expr::Identifier(name) => match self.lookup(&name.name)? {
                Binding::Document(path) => Some(path.clone()),
                Binding::Derived => None,
            },
            Expr::Member { object, name, .. } => {
                let mut path = self.document_path(object)?;
                path.push(PathSegment::Name(name.clone()));
                Some(path)
            }
            Expr::Index { object, index, .. } => {
                let segment = match &**index {
                    Expr::Literal(Literal::String(name)) => PathSegment::Name(name.clone()),
                    Expr::Literal(Literal::Number(number)) => {
                        PathSegment::Index(u64::try_from(number.as_i64()?).ok()?)
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

/// Whether a document path equals a path of a policy.
pub(crate) fn matches_path(document_path: &[PathSegment], path: &PropertyPath) -> bool {
    let names = path.segments();
    document_path.len() == names.len()
        && document_path
            .iter()
            .zip(names)
            .all(|(segment, name)| matches!(segment, PathSegment::Name(known) if known == name))
}

/// The identifier at the start of a path such as `c.a[0].b`; `None` for other expressions.
pub(crate) fn path_root(expr: &Expr) -> Option<&Identifier> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::Member { object, .. } | Expr::Index { object, .. } => path_root(object),
        _ => None,
    }
}

/// The word `ROOT` denotes the container, in upper or lower case.
pub(crate) fn is_root_word(name: &str) -> bool {
    name.eq_ignore_ascii_case("root")
}

fn extended(path: &[PathSegment], steps: &[PathStep]) -> Vec<PathSegment> {
    let steps = steps.iter().map(|step| match step {
        PathStep::Name(name) | PathStep::Key(name, _) => PathSegment::Name(name.clone()),
        PathStep::Index(index) => PathSegment::Index(*index),
    });
    path.iter().cloned().chain(steps).collect()
}
