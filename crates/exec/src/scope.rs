//! What names mean in one place of a query.

use orrery_json::Value;
use orrery_sql::ast::{Expr, Identifier};

use crate::CompileError;
use crate::computed::ComputedProperties;
use crate::grouping::GroupScope;
use crate::parameters::{self, Parameters};
use crate::scalar::Scalar;
use crate::user_functions::FunctionNames;

#[derive(Clone)]
pub(crate) struct Scope<'a> {
    /// The innermost name is last.
    names: Vec<(String, Scalar)>,
    /// How many frames there are below the document.
    level: usize,
    container: Container,
    parameters: Parameters<'a>,
    computed: Option<&'a ComputedProperties>,
    functions: Option<&'a FunctionNames<'a>>,
    group: Option<&'a GroupScope<'a>>,
    subset: bool,
}

/// By which name a `FROM` reaches the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Container {
    /// No `FROM` has named it yet: the first name does.
    Unnamed,
    Named(String),
    /// The query has no `FROM`.
    Absent,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(container: Container, parameters: &'a [(String, Value)]) -> Scope<'a> {
        Scope::with(container, Parameters::Values(parameters))
    }

    pub(crate) fn with(container: Container, parameters: Parameters<'a>) -> Scope<'a> {
        Scope {
            names: Vec::new(),
            level: 0,
            container,
            parameters,
            computed: None,
            functions: None,
            group: None,
            subset: false,
        }
    }

    /// The part of the language that looks at one document and cannot fail.
    pub(crate) fn of_filters(container: Container, parameters: &'a [(String, Value)]) -> Scope<'a> {
        Scope {
            subset: true,
            ..Scope::new(container, parameters)
        }
    }

    pub(crate) fn with_computed(self, computed: Option<&'a ComputedProperties>) -> Scope<'a> {
        Scope { computed, ..self }
    }

    pub(crate) fn with_functions(self, functions: Option<&'a FunctionNames<'a>>) -> Scope<'a> {
        Scope { functions, ..self }
    }

    pub(crate) fn functions(&self) -> Option<&'a FunctionNames<'a>> {
        self.functions
    }

    pub(crate) fn is_subset(&self) -> bool {
        self.subset
    }

    /// The names outside a `GROUP BY`, where the rows have become cells one level up.
    pub(crate) fn grouped<'b>(&self, group: &'b GroupScope<'b>) -> Scope<'b>
    where
        'a: 'b,
    {
        Scope {
            level: self.level + 1,
            // A group has no document that a subquery could read.
            container: Container::Absent,
            group: Some(group),
            ..self.clone()
        }
    }

    /// The names a subquery sees.
    pub(crate) fn inside(&self) -> Scope<'a> {
        Scope {
            group: None,
            ..self.clone()
        }
    }

    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// A name for a value without a frame of its own.
    pub(crate) fn bind(&mut self, name: &str, value: Scalar) {
        self.names.push((name.to_owned(), value));
    }

    /// A frame, with a name or without one.
    pub(crate) fn push(&mut self, name: Option<&str>) -> Scalar {
        self.level += 1;
        let value = Scalar::Path(self.level, Vec::new());
        if let Some(name) = name {
            self.bind(name, value.clone());
        }
        value
    }

    pub(crate) fn resolve(&self, name: &Identifier) -> Result<Scalar, CompileError> {
        self.find(&name.name)
            .cloned()
            .ok_or_else(|| unresolved(name))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Scalar> {
        let is_root = is_root_word(name);
        self.names
            .iter()
            .rev()
            .find(|(known, _)| known == name || is_root && is_root_word(known))
            .map(|(_, value)| value)
    }

    /// Whether a name was bound here and not in `outer`.
    pub(crate) fn binds_more_than(&self, outer: &Scope<'_>, name: &str) -> bool {
        self.names
            .iter()
            .skip(outer.names.len())
            .any(|(known, _)| known == name)
    }

    /// What a `FROM` or `JOIN` starts from: a name in scope, or the container.
    pub(crate) fn resolve_source(&mut self, name: &Identifier) -> Result<Scalar, CompileError> {
        if let Some(value) = self.find(&name.name) {
            return Ok(value.clone());
        }
        let document = Scalar::Path(0, Vec::new());
        match &self.container {
            Container::Unnamed => {
                self.container = Container::Named(name.name.clone());
                Ok(document)
            }
            Container::Named(container) if *container == name.name || is_root_word(&name.name) => {
                Ok(document)
            }
            Container::Named(_) | Container::Absent => Err(unresolved(name)),
        }
    }

    /// Once the first source is read, the container has the name it got there or none.
    pub(crate) fn seal_container(&mut self) {
        if self.container == Container::Unnamed {
            self.container = Container::Absent;
        }
    }

    pub(crate) fn parameter(&self, name: &Identifier) -> Result<Scalar, CompileError> {
        Ok(match self.parameters {
            Parameters::Values(values) => Scalar::Constant(parameters::find(values, name)?.clone()),
            Parameters::Slots(slots) => Scalar::Parameter(slots.of(name)),
        })
    }

    /// Called where a constant is looked into while compiling.
    pub(crate) fn look_into(&self, scalar: &Scalar) {
        if let (Parameters::Slots(slots), Scalar::Parameter(_)) = (self.parameters, scalar) {
            slots.mark_decisive();
        }
    }

    /// What a property of the document is, if the container computes it.
    pub(crate) fn computed(&self, object: &Scalar, name: &str) -> Option<Scalar> {
        match object {
            Scalar::Path(0, steps) if steps.is_empty() => self.computed?.find(name),
            _ => None,
        }
    }

    /// What `expr` is in a group, if it is a key or an aggregate.
    pub(crate) fn group_cell(&self, expr: &Expr) -> Result<Option<Scalar>, CompileError> {
        match self.group {
            Some(group) => group.cell(expr),
            None => Ok(None),
        }
    }
}

fn unresolved(name: &Identifier) -> CompileError {
    CompileError::UnresolvedIdentifier {
        name: name.name.clone(),
        span: name.span,
    }
}

/// `ROOT` names the container in any case.
fn is_root_word(name: &str) -> bool {
    name.eq_ignore_ascii_case("root")
}
