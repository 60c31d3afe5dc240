//! Syntax tree to scalar expression: names bound, parameters replaced or given slots, functions found.

use orrery_json::Value;
use orrery_sql::ast::{
    BinaryOp, Call, Expr, Identifier, Literal, LogicalOp, Property, Query, SubqueryKind, UnaryOp,
};

use crate::CompileError;
use crate::aggregate::AggregateKind;
use crate::block::Block;
use crate::functions;
use crate::scalar::{Pattern, Scalar, Step, index_of};
use crate::scope::Scope;

impl Scope<'_> {
    /// Every arm is a call, so that the frame of this recursion stays small.
    pub(crate) fn compile(&self, expr: &Expr) -> Result<Scalar, CompileError> {
        if let Some(cell) = self.group_cell(expr)? {
            return Ok(cell);
        }
        match expr {
            Expr::Literal(literal) => Ok(Scalar::Constant(literal_value(literal))),
            Expr::Parameter(name) => self.parameter(name),
            Expr::Identifier(name) => self.resolve(name),
            Expr::Member { object, name } => self.member(object, name),
            Expr::Index { object, index } => self.index(object, index),
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
        self.look_into(&pattern);
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

    fn member(&self, object: &Expr, name: &str) -> Result<Scalar, CompileError> {
        let object = self.boxed(object)?;
        if let Some(value) = self.computed(&object, name) {
            return Ok(value);
        }
        Ok(step_into(*object, Step::Name(name.to_owned())))
    }

    fn index(&self, object: &Expr, index: &Expr) -> Result<Scalar, CompileError> {
        let object = self.boxed(object)?;
        let index = self.boxed(index)?;
        self.look_into(&index);
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
        if self.is_subset() {
            return Err(CompileError::unsupported(feature(kind)));
        }
        let block = Block::subquery(query, self)?;
        Ok(Scalar::Subquery(kind, Box::new(block)))
    }

    fn let_in(&self, name: &Identifier, value: &Expr, body: &Expr) -> Result<Scalar, CompileError> {
        if self.is_subset() {
            return Err(CompileError::unsupported("LET"));
        }
        let value = self.boxed(value)?;
        let mut inner = self.clone();
        inner.push(Some(&name.name));
        Ok(Scalar::Let {
            value,
            body: inner.boxed(body)?,
        })
    }

    fn call(&self, call: &Call) -> Result<Scalar, CompileError> {
        if call.udf {
            return self.user_function(call);
        }
        if self.is_subset() {
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

pub(crate) fn step_into(object: Scalar, step: Step) -> Scalar {
    match object {
        Scalar::Path(level, mut steps) => {
            steps.push(step);
            Scalar::Path(level, steps)
        }
        object => Scalar::Part(Box::new(object), step),
    }
}

/// The step that an index known when compiling makes; none when it leads nowhere.
fn constant_step(index: &Scalar) -> Option<Step> {
    match index {
        Scalar::Constant(Value::String(name)) => Some(Step::Name(name.clone())),
        Scalar::Constant(value) => index_of(value).map(Step::Index),
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
