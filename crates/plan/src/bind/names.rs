//! Checks the names of properties: an object, and a row, has each name once.

use std::collections::HashSet;

use orrery_sql::Span;
use orrery_sql::ast::{Expr, Property, SelectItem};

use super::{Binder, ExprContext};
use crate::ProblemKind;
use crate::rewrite::own_name;

/// Up to this number of names a search through a list is faster than a set.
const FEW: usize = 8;

impl Binder<'_> {
    /// Checks the items of a select list.
    pub(super) fn items(&mut self, items: &[SelectItem]) {
        let mut known = Names::default();
        let mut unnamed = 0;
        for item in items {
            self.expr(&item.expr, ExprContext::Select);
            match own_name(item) {
                Some(name) => self.unique(&mut known, name, name_span(item)),
                // A generated name evades the names before it, so it is no problem by itself.
                None => {
                    unnamed += 1;
                    known.generated.push(format!("${unnamed}"));
                }
            }
        }
    }

    /// Checks the properties of an object expression.
    pub(super) fn object(&mut self, properties: &[Property], context: ExprContext) {
        let mut known = Names::default();
        for property in properties {
            self.unique(&mut known, &property.name, property.name_span);
            self.expr(&property.value, context);
        }
    }

    fn unique<'a>(&mut self, known: &mut Names<'a>, name: &'a str, span: Span) {
        if !known.insert(name) {
            self.problem(ProblemKind::DuplicateName(name.to_owned()).at(span));
        }
    }
}

/// The names of an object so far.
#[derive(Default)]
struct Names<'a> {
    few: Vec<&'a str>,
    many: HashSet<&'a str>,
    generated: Vec<String>,
}

impl<'a> Names<'a> {
    /// Adds a name; false if it was known.
    fn insert(&mut self, name: &'a str) -> bool {
        if self.generated.iter().any(|known| known == name) {
            return false;
        }
        if self.few.len() < FEW {
            let is_new = !self.few.contains(&name);
            self.few.push(name);
            return is_new;
        }
        self.many.extend(self.few.iter().copied());
        self.many.insert(name)
    }
}

/// The span of the name of an item: its alias, or the end of its path.
fn name_span(item: &SelectItem) -> Span {
    match &item.expr {
        _ if item.alias.is_some() => item.alias_span,
        Expr::Identifier(name) => name.span,
        Expr::Member { name_span, .. } => *name_span,
        Expr::Index { index_span, .. } => *index_span,
        _ => Span::default(),
    }
}
