//! Resolves names at one position of a query.

use orrery_json::Value;
use orrery_sql::ast::{Expr, Identifier};

use crate::CompileError;
use crate::computed::ComputedProperties;
use crate::grouping::GroupScope;
use crate::parameters::{self, Parameters};
use crate::scalar::Scalar;
use crate::user_functions::FunctionNames;

/// The names in scope, with the frame levels at which their values stand. A scope is cloned for
/// each inner block, so bindings never escape from it.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    /// Bound names; the innermost name is last.
    names: Vec<(String, Scalar)>,
    /// The number of frames above the document.
    level: usize,
    container: ContainerName,
    parameters: Parameters<'a>,
    computed: Option<&'a ComputedProperties>,
    functions: Option<&'a FunctionNames<'a>>,
    group: Option<&'a GroupScope<'a>>,
    filter_language: bool,
}

/// The name by which a `FROM` refers to the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContainerName {
    /// No `FROM` has named the container yet; the first name does.
    Unnamed,
    Named(String),
    /// The query has no `FROM`.
    Absent,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(container: ContainerName, parameters: &'a [(String, Value)]) -> Scope<'a> {
        Scope::with(container, Parameters::Values(parameters))
    }

    pub(crate) fn with(container: ContainerName, parameters: Parameters<'a>) -> Scope<'a> {
        Scope {
            names: Vec::new(),
            level: 0,
            container,
            parameters,
            computed: None,
            functions: None,
            group: None,
            filter_language: false,
        }
    }

    /// The scope of the filter subset: it reads one document and cannot fail.
    pub(crate) fn of_filters(
        container: ContainerName,
        parameters: &'a [(String, Value)],
    ) -> Scope<'a> {
        Scope {
            filter_language: true,
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

    pub(crate) fn is_filter_language(&self) -> bool {
        self.filter_language
    }

    /// The scope behind a `GROUP BY`, where rows have become cells one level up.
    pub(crate) fn grouped<'b>(&self, group: &'b GroupScope<'b>) -> Scope<'b>
    where
        'a: 'b,
    {
        Scope {
            level: self.level + 1,
            // A group has no document that a subquery could read.
            container: ContainerName::Absent,
            group: Some(group),
            ..self.clone()
        }
    }

    /// The scope of a subquery.
    pub(crate) fn inside(&self) -> Scope<'a> {
        Scope {
            group: None,
            ..self.clone()
        }
    }

    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Binds a name to a value without a frame of its own.
    pub(crate) fn bind(&mut self, name: &str, value: Scalar) {
        self.names.push((name.to_owned(), value));
    }

    /// Adds a frame, with or without a name.
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

    /// Finds a name, innermost first. Any spelling of `ROOT` finds the name that `ROOT` was bound
    /// to.
    pub(crate) fn find(&self, name: &str) -> Option<&Scalar> {
        let is_root = is_root_word(name);
        self.names
            .iter()
            .rev()
            .find(|(known, _)| known == name || is_root && is_root_word(known))
            .map(|(_, value)| value)
    }

    /// Whether a name was bound in this scope and not in `outer`.
    pub(crate) fn binds_more_than(&self, outer: &Scope<'_>, name: &str) -> bool {
        self.names
            .iter()
            .skip(outer.names.len())
            .any(|(known, _)| known == name)
    }

    /// Resolves the root of a `FROM` or `JOIN`: a bound name, or the container.
    pub(crate) fn resolve_source(&mut self, name: &Identifier) -> Result<Scalar, CompileError> {
        if let Some(value) = self.find(&name.name) {
            return Ok(value.clone());
        }
        let document = Scalar::Path(0, Vec::new());
        match &self.container {
            ContainerName::Unnamed => {
                self.container = ContainerName::Named(name.name.clone());
                Ok(document)
            }
            ContainerName::Named(container)
                if *container == name.name || is_root_word(&name.name) =>
            {
                Ok(document)
            }
            ContainerName::Named(_) | ContainerName::Absent => Err(unresolved(name)),
        }
    }

    /// Moves to the level of a scope that was opened inside of this one.
    pub(crate) fn adopt_level(&mut self, inside: &Scope<'_>) {
        self.level = inside.level;
    }

    /// Fixes the container's name after the first source: it has the name given there, or none.
    pub(crate) fn fix_container_name(&mut self) {
        if self.container == ContainerName::Unnamed {
            self.container = ContainerName::Absent;
        }
    }

    /// A parameter: its value as a constant, or its slot.
    pub(crate) fn parameter(&self, name: &Identifier) -> Scalar {
        match self.parameters {
            Parameters::Values(values) => Scalar::Constant(parameters::find(values, name).clone()),
            Parameters::Slots(slots) => Scalar::Parameter(slots.of(name)),
        }
    }

    /// Records that the compiler has used a constant's value, which rules out a slot.
    pub(crate) fn note_constant_use(&self, scalar: &Scalar) {
        if let (Parameters::Slots(slots), Scalar::Parameter(_)) = (self.parameters, scalar) {
            slots.mark_values_needed();
        }
    }

    /// Finds the computed property of the document by its name.
    pub(crate) fn computed(&self, object: &Scalar, name: &str) -> Option<Scalar> {
        match object {
            Scalar::Path(0, steps) if steps.is_empty() => self.computed?.find(name),
            _ => None,
        }
    }

    /// The group cell of `expr`, if it is a key or aggregate.
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
