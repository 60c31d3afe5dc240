//! Checks the terms that `FullTextScore` searches: texts, and objects for a fuzzy search.

use orrery_json::Value;
use orrery_sql::ast::{Call, Expr, Literal};

use super::Binder;
use crate::ProblemKind;

/// Largest number of letters in which a fuzzy term may differ.
const DISTANCE_MAX: f64 = 2.0;

impl Binder<'_> {
    pub(super) fn search_terms(&mut self, call: &Call) {
        for (index, term) in call.arguments.iter().enumerate().skip(1) {
            if !self.is_search_term(term) {
                let kind = ProblemKind::SearchTerm(call.name.name.clone());
                self.problem(kind.at(call.argument_spans.of(index)));
            }
        }
    }

    fn is_search_term(&self, term: &Expr) -> bool {
        match term {
            Expr::Literal(literal) => matches!(literal, Literal::String(_)),
            Expr::Parameter(name) => match self.parameter(&name.name) {
                Some(Value::String(_)) => true,
                Some(value @ Value::Object(_)) => {
                    is_fuzzy_term(value.get("term"), value.get("distance"))
                }
                _ => false,
            },
            Expr::Object(properties) => {
                let value = |name: &str| {
                    let mut properties = properties.iter();
                    let property = properties.find(|property| property.name == name);
                    property
                        .and_then(|property| self.constant(&property.value))
                        .unwrap_or_default()
                };
                is_fuzzy_term(&value("term"), &value("distance"))
            }
            _ => false,
        }
    }

    /// The value of a scalar literal or a parameter.
    pub(super) fn constant(&self, expr: &Expr) -> Option<Value> {
        match expr {
            Expr::Literal(Literal::Undefined) => Some(Value::Undefined),
            Expr::Literal(Literal::Null) => Some(Value::Null),
            Expr::Literal(Literal::Bool(value)) => Some(Value::Bool(*value)),
            Expr::Literal(Literal::Number(value)) => Some(Value::Number(*value)),
            Expr::Literal(Literal::String(text)) => Some(Value::from(text.as_str())),
            Expr::Parameter(name) => self.parameter(&name.name).cloned(),
            _ => None,
        }
    }
}

fn is_fuzzy_term(term: &Value, distance: &Value) -> bool {
    let distance = distance.as_number().map(orrery_json::Number::as_f64);
    term.as_str().is_some() && distance.is_some_and(|far| (0.0..=DISTANCE_MAX).contains(&far))
}
