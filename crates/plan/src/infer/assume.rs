//! Narrows what is known by a condition that must have a truth value.

use orrery_json::Value;
use orrery_sql::ast::{BinaryOp, Call, Expr, LogicalOp, SubqueryKind, UnaryOp};

use super::block::Inference;
use super::signature::{Signature, tested};
use super::values::{Bound, Interval, Kinds, Values};

impl Inference<'_> {
    /// Notes that the condition has the truth value `wanted`; false if it cannot have it.
    pub(super) fn assume(&mut self, expr: &Expr, wanted: bool) -> bool {
        if !self.step() {
            return true;
        }
        if let Some(place) = self.place(expr) {
            return self.facts.narrow(&place, &Values::of(Value::Bool(wanted)));
        }
        self.depth += 1;
        // The value is looked at again behind the narrowing, which may have made it impossible.
        let is_possible =
            self.may_be(expr, wanted) && self.narrow(expr, wanted) && self.may_be(expr, wanted);
        self.depth -= 1;
        is_possible
    }

    fn may_be(&mut self, expr: &Expr, wanted: bool) -> bool {
        // The terms of a chain are looked at one by one.
        matches!(expr, Expr::Logical { .. }) || self.eval(expr).may_be(Kinds::of_bool(wanted))
    }

    fn narrow(&mut self, expr: &Expr, wanted: bool) -> bool {
        match expr {
            Expr::Unary {
                op: UnaryOp::Not,
                operand,
            } => self.assume(operand, !wanted),
            Expr::Logical { op, terms } => {
                if wanted == (*op == LogicalOp::And) {
                    self.all(terms, wanted)
                } else {
                    self.any(terms, wanted)
                }
            }
            Expr::Binary { op, left, right } => self.comparison(*op, left, right, wanted),
            Expr::In {
                needle,
                list,
                negated,
            } => self.member(needle, list, wanted != *negated),
            Expr::Between {
                value,
                low,
                high,
                negated,
            } => {
                let is_inside = wanted != *negated;
                !is_inside
                    || self.comparison(BinaryOp::GreaterOrEqual, value, low, true)
                        && self.comparison(BinaryOp::LessOrEqual, value, high, true)
            }
            Expr::Like { value, pattern, .. } => {
                self.require(value, Kinds::STRING) && self.require(pattern, Kinds::STRING)
            }
            Expr::Call(call) => self.test(call, wanted),
            Expr::Subquery {
                kind: SubqueryKind::Exists,
                query,
            } if wanted => self.block(query).is_some(),
            Expr::Let { name, value, body } => {
                let named = self.named(value);
                self.bind(&name.name, named);
                let is_possible = self.assume(body, wanted);
                self.unbind();
                is_possible
            }
            _ => true,
        }
    }

    /// Every term has the truth value; a later term may make an earlier one impossible.
    fn all(&mut self, terms: &[Expr], wanted: bool) -> bool {
        terms.iter().all(|term| self.assume(term, wanted))
            && terms.iter().all(|term| self.may_be(term, wanted))
    }

    /// Some term has the truth value.
    fn any(&mut self, terms: &[Expr], wanted: bool) -> bool {
        let before = self.facts.clone();
        let mut either = None;
        for term in terms {
            self.facts = before.clone();
            if self.assume(term, wanted) {
                either = Some(match either {
                    None => self.facts.clone(),
                    Some(others) => self.facts.either(&others),
                });
            }
        }
        match either {
            Some(facts) => {
                self.facts = facts;
                true
            }
            None => false,
        }
    }

    fn comparison(&mut self, op: BinaryOp, left: &Expr, right: &Expr, wanted: bool) -> bool {
        let is_comparison = matches!(
            op,
            BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::Less
                | BinaryOp::LessOrEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterOrEqual
        );
        if !is_comparison {
            return true;
        }
        let op = if wanted { op } else { opposite(op) };
        self.require(left, Kinds::DEFINED)
            && self.require(right, Kinds::DEFINED)
            && self.compared(op, left, right)
            && self.compared(mirrored(op), right, left)
    }

    /// Narrows the path on the left by constants on the right.
    fn compared(&mut self, op: BinaryOp, path: &Expr, other: &Expr) -> bool {
        let others = self.eval(other).of_only(Kinds::DEFINED);
        let values = match (op, others.single()) {
            (BinaryOp::Equal, _) if others.listed().is_some() => others,
            (BinaryOp::NotEqual, Some(value)) => Values::other_than(value.clone()),
            (BinaryOp::Equal | BinaryOp::NotEqual, _) | (_, None) => return true,
            (op, Some(value)) => beyond(op, value),
        };
        match self.place(path) {
            Some(place) => self.facts.narrow(&place, &values),
            // The operands of a computed value have the kinds that such a value needs.
            None => self.require(path, values.kinds()),
        }
    }

    fn member(&mut self, needle: &Expr, list: &[Expr], is_member: bool) -> bool {
        let mut all = Values::of_kinds(Kinds::NONE);
        for item in list {
            let item = self.eval(item).of_only(Kinds::DEFINED);
            match item.single() {
                Some(value) if !is_member => {
                    let others = Values::other_than(value.clone());
                    if let Some(place) = self.place(needle)
                        && !self.facts.narrow(&place, &others)
                    {
                        return false;
                    }
                }
                _ => all = all.union(&item),
            }
        }
        if !is_member {
            return self.require(needle, Kinds::DEFINED);
        }
        match self.place(needle) {
            Some(place) => self.facts.narrow(&place, &all),
            None => self.require(needle, all.kinds()),
        }
    }

    /// Narrows by a function that gives the truth value.
    fn test(&mut self, call: &Call, wanted: bool) -> bool {
        if call.udf {
            return true;
        }
        if let ([argument], Some(kinds)) = (call.arguments.as_slice(), tested(&call.name.name)) {
            let kinds = if wanted {
                kinds
            } else {
                Kinds::ALL.without(kinds)
            };
            return self.require(argument, kinds);
        }
        self.require_arguments(call)
    }

    /// Notes that the value of an expression is of some kinds; false if it cannot be.
    fn require(&mut self, expr: &Expr, kinds: Kinds) -> bool {
        if !self.step() {
            return true;
        }
        self.depth += 1;
        let is_possible = self.require_here(expr, kinds);
        self.depth -= 1;
        is_possible
    }

    fn require_here(&mut self, expr: &Expr, kinds: Kinds) -> bool {
        if let Some(place) = self.place(expr) {
            return self.facts.narrow(&place, &Values::of_kinds(kinds));
        }
        if !self.eval(expr).may_be(kinds) {
            return false;
        }
        if kinds.meets(Kinds::UNDEFINED) {
            return true;
        }
        match expr {
            Expr::Unary { op, operand } if *op != UnaryOp::Not => {
                self.require(operand, Kinds::NUMBER)
            }
            Expr::Binary { op, left, right } => match op {
                BinaryOp::Concat => {
                    self.require(left, Kinds::STRING) && self.require(right, Kinds::STRING)
                }
                BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::Less
                | BinaryOp::LessOrEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterOrEqual => {
                    self.require(left, Kinds::DEFINED) && self.require(right, Kinds::DEFINED)
                }
                _ => self.require(left, Kinds::NUMBER) && self.require(right, Kinds::NUMBER),
            },
            Expr::Call(call) if !call.udf => self.require_arguments(call),
            _ => true,
        }
    }

    /// Notes that the arguments are of the kinds that give a result.
    fn require_arguments(&mut self, call: &Call) -> bool {
        let signature = Signature::of(&call.name.name);
        call.arguments.iter().enumerate().all(|(index, argument)| {
            let accepted = signature.accepted(index);
            accepted == Kinds::ALL || self.require(argument, accepted)
        })
    }
}

/// The comparison that holds where this one is false.
fn opposite(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::GreaterOrEqual,
        BinaryOp::LessOrEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessOrEqual,
        _ => BinaryOp::Less,
    }
}

/// The same comparison with its operands exchanged.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        op => op,
    }
}

/// The values that are in this relation to a constant.
fn beyond(op: BinaryOp, constant: &Value) -> Values {
    let is_inclusive = matches!(op, BinaryOp::LessOrEqual | BinaryOp::GreaterOrEqual);
    match constant {
        Value::Number(_) | Value::String(_) => {
            let bound = Some(Bound {
                value: constant.clone(),
                is_inclusive,
            });
            let interval = match op {
                BinaryOp::Less | BinaryOp::LessOrEqual => Interval {
                    low: None,
                    high: bound,
                },
                _ => Interval {
                    low: bound,
                    high: None,
                },
            };
            Values::within(Kinds::of(constant), interval)
        }
        Value::Null => Values::of_kinds(Kinds::NULL.when(is_inclusive)),
        Value::Bool(value) => {
            let is_low = matches!(op, BinaryOp::Less | BinaryOp::LessOrEqual);
            // Beyond `true` upwards and beyond `false` downwards there is nothing.
            let other = Kinds::of_bool(!*value).when(*value == is_low);
            Values::of_kinds(other.with(Kinds::of_bool(*value).when(is_inclusive)))
        }
        Value::Undefined | Value::Array(_) | Value::Object(_) => Values::of_kinds(Kinds::NONE),
    }
}
