//! Compiles a syntax tree to a scalar expression: it binds names, replaces parameters by values or
//! slots, and finds functions.

use orrery_json::Value;
use orrery_sql::ast::{
    BinaryOp, Call, Expr, Identifier, Literal, LogicalOp, Property, Query, SubqueryKind, UnaryOp,
};

use crate::CompileError;
use crate::aggregate::AggregateKind;
use crate::functions;
use crate::query_block::QueryBlock;
use crate::scalar::{Pattern, Scalar, ValueStep, index_of};
use crate::scope::Scope;

impl Scope<'_> {
    /// Compiles one expression. Every arm is a call, so that the stack frame of this recursion
    /// stays small.
    pub(crate) fn compile(&self, expr: &Expr) -> Result<Scalar, CompileError> {
        // Inside a `GROUP BY`, a key or an aggregate is a cell of the group and not an expression
        // over rows.
        if let Some(cell) = self.group_cell(expr)? {
            return Ok(cell);
        }
        match expr {
            Expr::Literal(literal) => Ok(Scalar::Constant(literal_value(literal))),
            Expr::Parameter(name) => Ok(self.parameter(name)),
            Expr::Identifier(name) => self.resolve(name),
            Expr::Member { object, name, .. } => self.member(object, name),
            Expr::Index { object, index, .. } => self.index(object, index),
            Expr::Unary { op, operand } => self.unary(*op, operand),
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::Logical { op, terms } => self.logical(*op, terms),
            Expr::In {
                needle,
                list,
                negated,
            } => self.in_list(needle, list, *negated),
            Expr::Between {
                value,
                low,
                high,
                negated,
            } => self.between([value, low, high], *negated),
            Expr::Like {
                value,
                pattern,
                escape,
                negated,
            } => self.like(value, pattern, *escape, *negated),
            Expr::Coalesce { left, right } => self.coalesce(left, right),
            Expr::Conditional {
                condition,
                then,
                otherwise,
            } => self.conditional(condition, then, otherwise),
            Expr::Array(elements) => self.all(elements).map(Scalar::Array),
            Expr::Object(properties) => self.object(properties),
            Expr::Call(call) => self.call(call),
            Expr::Subquery { kind, query } => self.subquery(*kind, query),
            Expr::Let { name, value, body } => self.let_in(name, value, body),
        }
    }

    fn boxed(&self, expr: &Expr) -> Result<Box<Scalar>, CompileError> {
        self.compile(expr).map(Box::new)
    }

    fn unary(&self, op: UnaryOp, operand: &Expr) -> Result<Scalar, CompileError> {
        Ok(Scalar::Unary(op, self.boxed(operand)?))
    }

    fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Result<Scalar, CompileError> {
        Ok(Scalar::Binary(op, self.boxed(left)?, self.boxed(right)?))
    }

    fn logical(&self, op: LogicalOp, terms: &[Expr]) -> Result<Scalar, CompileError> {
        let terms = self.all(terms)?;
        Ok(match op {
            LogicalOp::And => Scalar::And(terms),
            LogicalOp::Or => Scalar::Or(terms),
        })
    }

    fn in_list(&self, needle: &Expr, list: &[Expr], negated: bool) -> Result<Scalar, CompileError> {
        Ok(Scalar::In {
            needle: self.boxed(needle)?,
            list: self.all(list)?,
            negated,
        })
    }

    fn between(&self, parts: [&Expr; 3], negated: bool) -> Result<Scalar, CompileError> {
        let [value, low, high] = parts.map(|part| self.boxed(part));
        Ok(Scalar::Between {
            value: value?,
            low: low?,
            high: high?,
            negated,
        })
    }

    fn like(
        &self,
        value: &Expr,
        pattern: &Expr,
        escape: Option<char>,
        negated: bool,
    ) -> Result<Scalar, CompileError> {
        let value = self.boxed(value)?;
        let pattern = self.boxed(pattern)?;
        // A pattern from a parameter value makes the program depend on that value.
        self.note_constant_use(&pattern);
        // A constant pattern is parsed once at compile time rather than for every row.
        Ok(match *pattern {
            Scalar::Constant(Value::String(text)) => Scalar::LikeConstant {
                value,
                pattern: Pattern::new(&text, escape),
                negated,
            },
            _ => Scalar::Like {
                value,
                pattern,
                escape,
                negated,
            },
        })
    }

    fn coalesce(&self, left: &Expr, right: &Expr) -> Result<Scalar, CompileError> {
        Ok(Scalar::Coalesce(self.boxed(left)?, self.boxed(right)?))
    }

    fn conditional(
        &self,
        condition: &Expr,
        then: &Expr,
        otherwise: &Expr,
    ) -> Result<Scalar, CompileError> {
        Ok(Scalar::Conditional {
            condition: self.boxed(condition)?,
            then: self.boxed(then)?,
            otherwise: self.boxed(otherwise)?,
        })
    }

    /// A property by name: a computed property of the container, or a step of the path.
    fn member(&self, object: &Expr, name: &str) -> Result<Scalar, CompileError> {
        let object = self.boxed(object)?;
        // A computed property hides a stored property of the same name.
        if let Some(value) = self.computed(&object, name) {
            return Ok(value);
        }
        Ok(step_into(*object, ValueStep::Name(name.to_owned())))
    }

    /// A property or element by index. A constant index becomes a path step, which an index can
    /// serve.
    fn index(&self, object: &Expr, index: &Expr) -> Result<Scalar, CompileError> {
        let object = self.boxed(object)?;
        let index = self.boxed(index)?;
        // A parameter as index decides which path the program reads.
        self.note_constant_use(&index);
        if let Scalar::Constant(Value::String(name)) = index.as_ref()
            && let Some(value) = self.computed(&object, name)
        {
            return Ok(value);
        }
        Ok(match constant_step(&index) {
            Some(step) => step_into(*object, step),
            None => Scalar::Index(object, index),
        })
    }

    fn object(&self, properties: &[Property]) -> Result<Scalar, CompileError> {
        let mut compiled = Vec::with_capacity(properties.len());
        for property in properties {
            compiled.push((property.name.clone(), self.compile(&property.value)?));
        }
        Ok(Scalar::Object(compiled))
    }

    pub(crate) fn all(&self, exprs: &[Expr]) -> Result<Vec<Scalar>, CompileError> {
        exprs.iter().map(|expr| self.compile(expr)).collect()
    }

    fn subquery(&self, kind: SubqueryKind, query: &Query) -> Result<Scalar, CompileError> {
        // The filter subset of the language must not fail, and a subquery can.
        if self.is_filter_language() {
            return Err(CompileError::unsupported(feature(kind)));
        }
        let block = QueryBlock::subquery(query, self)?;
        Ok(Scalar::Subquery(kind, Box::new(block)))
    }

    /// A `LET` adds a frame, whose level the name of the value refers to.
    fn let_in(&self, name: &Identifier, value: &Expr, body: &Expr) -> Result<Scalar, CompileError> {
        if self.is_filter_language() {
            return Err(CompileError::unsupported("LET"));
        }
        let value = self.boxed(value)?;
        // The clone keeps the bound name inside of the `LET` body.
        let mut inner = self.clone();
        inner.push(Some(&name.name));
        Ok(Scalar::Let {
            value,
            body: inner.boxed(body)?,
        })
    }

    /// A call of a user-defined function or of a built-in one. An aggregate outside of a select
    /// list over groups is an error.
    fn call(&self, call: &Call) -> Result<Scalar, CompileError> {
        if call.udf {
            return self.user_function(call);
        }
        // The filter subset has no clock and no aggregates, so functions of the current time are
        // refused.
        if self.is_filter_language() {
            let function = functions::find(call)?;
            return Ok(Scalar::Call(function, self.all(&call.arguments)?));
        }
        if AggregateKind::named(&call.name.name).is_some() {
            return Err(CompileError::MisplacedAggregate {
                name: call.name.name.clone(),
                span: call.span,
            });
        }
        let function = functions::find_with_clock(call)?;
        Ok(Scalar::Call(function, self.all(&call.arguments)?))
    }
}

/// Extends a path by one step, or accesses a part of a computed value.
pub(crate) fn step_into(object: Scalar, step: ValueStep) -> Scalar {
    match object {
        Scalar::Path(level, mut steps) => {
            steps.push(step);
            Scalar::Path(level, steps)
        }
        object => Scalar::FieldAccess(Box::new(object), step),
    }
}

/// The path step of an index that is constant at compile time; `None` for an index that never finds
/// a value.
fn constant_step(index: &Scalar) -> Option<ValueStep> {
    match index {
        Scalar::Constant(Value::String(name)) => Some(ValueStep::Name(name.clone())),
        Scalar::Constant(value) => index_of(value).map(ValueStep::Index),
        _ => None,
    }
}

fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Undefined => Value::Undefined,
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Number(value) => Value::Number(*value),
        Literal::String(text) => Value::String(text.clone()),
    }
}

/// The name of a subquery form in a refusal.
fn feature(kind: SubqueryKind) -> &'static str {
    match kind {
        SubqueryKind::Scalar => "scalar subquery",
        SubqueryKind::Exists => "EXISTS",
        SubqueryKind::Array => "ARRAY subquery",
        SubqueryKind::All => "ALL subquery",
        SubqueryKind::First => "FIRST subquery",
        SubqueryKind::Last => "LAST subquery",
    }
}
