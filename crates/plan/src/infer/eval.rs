//! The possible values of expressions.

use orrery_json::{Value, equal};
use orrery_sql::ast::{BinaryOp, Call, Expr, Literal, LogicalOp, Query, SubqueryKind, UnaryOp};

use super::block::{Inference, Named};
use super::facts::parts;
use super::signature::{Signature, tested, tested_in_part};
use super::values::{Bound, Interval, Kinds, Values};
use crate::aggregate::AggregateKind;
use crate::ranges::{fold_binary, fold_unary};
use crate::scope::PathSegment;

impl Inference<'_> {
    pub(super) fn eval(&mut self, expr: &Expr) -> Values {
        if !self.step() {
            return Values::of_kinds(Kinds::ALL);
        }
        self.depth += 1;
        let values = self.eval_here(expr);
        self.depth -= 1;
        values
    }

    fn eval_here(&mut self, expr: &Expr) -> Values {
        if let Some(place) = self.place(expr) {
            return self.facts.values(&place);
        }
        match expr {
            Expr::Literal(Literal::Undefined) => Values::of(Value::Undefined),
            Expr::Literal(_) => self.constant(expr),
            Expr::Parameter(_) => Values::of(self.constants.value(expr).unwrap_or_default()),
            Expr::Identifier(name) => match self.lookup(&name.name) {
                Some(Named::Values(values)) => Values::clone(values),
                Some(Named::ValuePath(_)) | None => Values::of_kinds(Kinds::ALL),
            },
            Expr::Member { object, name, .. } => {
                parts(&self.eval(object), &[PathSegment::Name(name.clone())])
            }
            Expr::Index { object, index, .. } => self.index(object, index),
            Expr::Unary { op, operand } => self.unary(*op, operand),
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::Logical { op, terms } => self.logical(*op, terms),
            Expr::In {
                needle,
                list,
                negated,
            } => self.within(needle, list, *negated),
            Expr::Between {
                value,
                low,
                high,
                negated,
            } => self.between([value, low, high], *negated),
            Expr::Like { value, pattern, .. } => self.like(value, pattern),
            Expr::Coalesce { left, right } => self.coalesce(left, right),
            Expr::Conditional {
                condition,
                then,
                otherwise,
            } => self.conditional(condition, then, otherwise),
            Expr::Array(elements) => self.array(expr, elements),
            Expr::Object(properties) => {
                for property in properties {
                    self.eval(&property.value);
                }
                self.made(expr, Kinds::OBJECT)
            }
            Expr::Call(call) => self.call(call),
            Expr::Subquery { kind, query } => self.subquery(*kind, query),
            Expr::Let { name, value, body } => {
                let named = self.named(value);
                self.bind(&name.name, named);
                let values = self.eval(body);
                self.unbind();
                values
            }
        }
    }

    /// What a `LET` name stands for.
    pub(super) fn named(&mut self, value: &Expr) -> Named {
        match self.place(value) {
            Some(place) => Named::ValuePath(place),
            None => Named::Values(Box::new(self.eval(value))),
        }
    }

    fn constant(&self, expr: &Expr) -> Values {
        match self.constants.value(expr) {
            Some(value) => Values::of(value),
            None => Values::of_kinds(Kinds::ALL),
        }
    }

    /// A constant array or object, or any of its kind.
    fn made(&self, expr: &Expr, kind: Kinds) -> Values {
        match self.constants.value(expr) {
            Some(value) => Values::of(value),
            None => Values::of_kinds(kind),
        }
    }

    fn array(&mut self, expr: &Expr, elements: &[Expr]) -> Values {
        for element in elements {
            self.eval(element);
        }
        self.made(expr, Kinds::ARRAY)
    }

    fn index(&mut self, object: &Expr, index: &Expr) -> Values {
        let segment = match self.eval(index).single() {
            Some(Value::String(name)) => PathSegment::Name(name.clone()),
            Some(Value::Number(number)) => match number.as_i64().map(u64::try_from) {
                Some(Ok(index)) => PathSegment::Index(index),
                _ => return Values::of_kinds(Kinds::ALL),
            },
            _ => return Values::of_kinds(Kinds::ALL),
        };
        parts(&self.eval(object), &[segment])
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Values {
        let values = self.eval(operand);
        if let Some(value) = values.single()
            && let Some(folded) = fold_unary(op, value)
        {
            return Values::of(folded);
        }
        if op == UnaryOp::Not {
            return Values::of_kinds(
                Kinds::TRUE
                    .when(values.may_be(Kinds::FALSE))
                    .with(Kinds::FALSE.when(values.may_be(Kinds::TRUE)))
                    .with(outside(&values, Kinds::BOOL)),
            );
        }
        // A document is no number.
        if let Some(place) = self.place(operand)
            && place.path.is_empty()
            && place.source == 0
        {
            return Values::of(Value::Undefined);
        }
        computed(&[(values, Kinds::NUMBER)], Kinds::NUMBER)
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Values {
        let (left, right) = (self.eval(left), self.eval(right));
        if let (Some(one), Some(other)) = (left.single(), right.single())
            && let Some(folded) = fold_binary(op, one, other)
        {
            return Values::of(folded);
        }
        match op {
            BinaryOp::Equal => equality(&left, &right),
            BinaryOp::NotEqual => not(&equality(&left, &right)),
            BinaryOp::Less
            | BinaryOp::Greater
            | BinaryOp::LessOrEqual
            | BinaryOp::GreaterOrEqual => order(op, &left, &right),
            BinaryOp::Concat => computed(
                &[(left, Kinds::STRING), (right, Kinds::STRING)],
                Kinds::STRING,
            ),
            _ => computed(
                &[(left, Kinds::NUMBER), (right, Kinds::NUMBER)],
                Kinds::NUMBER,
            ),
        }
    }

    fn logical(&mut self, op: LogicalOp, terms: &[Expr]) -> Values {
        // One decisive term determines the result, even beside terms that are `undefined`.
        let decisive = Kinds::of_bool(op == LogicalOp::Or);
        let other = Kinds::of_bool(op == LogicalOp::And);
        let (mut may_decide, mut all_other, mut may_be_undefined) = (false, true, false);
        for term in terms {
            let values = self.eval(term);
            if values.kinds() == decisive {
                return Values::of_kinds(decisive);
            }
            may_decide |= values.may_be(decisive);
            all_other &= values.may_be(other);
            may_be_undefined |= !outside(&values, Kinds::BOOL).is_empty();
        }
        Values::of_kinds(
            decisive
                .when(may_decide)
                .with(other.when(all_other))
                .with(Kinds::UNDEFINED.when(may_be_undefined)),
        )
    }

    fn within(&mut self, needle: &Expr, list: &[Expr], negated: bool) -> Values {
        let needle = self.eval(needle);
        let (mut may_find, mut may_miss) = (false, true);
        for item in list {
            let found = equality(&needle, &self.eval(item));
            may_find |= found.may_be(Kinds::TRUE);
            may_miss &= found.kinds() != Kinds::TRUE;
        }
        let defined = needle.may_be(Kinds::DEFINED);
        let found = Values::of_kinds(
            Kinds::TRUE
                .when(may_find && defined)
                .with(Kinds::FALSE.when(may_miss && defined))
                .with(needle.kinds().and(Kinds::UNDEFINED)),
        );
        if negated { not(&found) } else { found }
    }

    fn between(&mut self, parts: [&Expr; 3], negated: bool) -> Values {
        let [value, low, high] = parts.map(|part| self.eval(part));
        let above = order(BinaryOp::GreaterOrEqual, &value, &low);
        let below = order(BinaryOp::LessOrEqual, &value, &high);
        let both = |kinds: Kinds| above.may_be(kinds) && below.may_be(kinds);
        let either = |kinds: Kinds| above.may_be(kinds) || below.may_be(kinds);
        let is_empty = match (value.interval(Kinds::NUMBER), low.single(), high.single()) {
            (_, Some(low), Some(high)) => {
                order(
                    BinaryOp::LessOrEqual,
                    &Values::of(low.clone()),
                    &Values::of(high.clone()),
                )
                .kinds()
                    != Kinds::TRUE
            }
            _ => false,
        };
        let inside = Values::of_kinds(
            Kinds::TRUE
                .when(both(Kinds::TRUE) && !is_empty)
                .with(Kinds::FALSE.when(either(Kinds::FALSE)))
                .with(Kinds::UNDEFINED.when(either(Kinds::UNDEFINED))),
        );
        if negated { not(&inside) } else { inside }
    }

    fn like(&mut self, value: &Expr, pattern: &Expr) -> Values {
        let operands = [
            (self.eval(value), Kinds::STRING),
            (self.eval(pattern), Kinds::STRING),
        ];
        computed(&operands, Kinds::BOOL)
    }

    fn coalesce(&mut self, left: &Expr, right: &Expr) -> Values {
        let left = self.eval(left);
        let right = self.eval(right);
        if left.may_be(Kinds::UNDEFINED) {
            left.of_only(Kinds::DEFINED).union(&right)
        } else {
            left
        }
    }

    fn conditional(&mut self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Values {
        let condition = self.eval(condition);
        let (then, otherwise) = (self.eval(then), self.eval(otherwise));
        let mut values = Values::of_kinds(Kinds::NONE);
        if condition.may_be(Kinds::TRUE) {
            values = values.union(&then);
        }
        if condition.kinds() != Kinds::TRUE {
            values = values.union(&otherwise);
        }
        values
    }

    fn call(&mut self, call: &Call) -> Values {
        let arguments: Vec<Values> = call.arguments.iter().map(|part| self.eval(part)).collect();
        if call.udf {
            return Values::of_kinds(Kinds::ALL);
        }
        if let Some(aggregate) = AggregateKind::of_call(call) {
            let is_undefined = arguments.iter().any(|part| !part.may_be(Kinds::DEFINED));
            return Values::of_kinds(match aggregate {
                _ if is_undefined => Kinds::UNDEFINED,
                AggregateKind::Count | AggregateKind::CountIf => Kinds::NUMBER,
                AggregateKind::Average | AggregateKind::Sum => Kinds::NUMBER.with(Kinds::UNDEFINED),
                _ => Kinds::ALL,
            });
        }
        let name = call.name.name.as_str();
        let singles: Option<Vec<Value>> = arguments
            .iter()
            .map(|values| values.single().cloned())
            .collect();
        if let Some(singles) = singles
            && let Some(value) = self.constants.functions.evaluate(name, &singles)
        {
            return Values::of(value);
        }
        match arguments.as_slice() {
            [condition, then, otherwise] if name.eq_ignore_ascii_case("IIF") => {
                let mut values = Values::of_kinds(Kinds::NONE);
                if condition.may_be(Kinds::TRUE) {
                    values = values.union(then);
                }
                if condition.kinds() != Kinds::TRUE {
                    values = values.union(otherwise);
                }
                values
            }
            [index, choices @ ..] if name.eq_ignore_ascii_case("CHOOSE") => choose(index, choices),
            [argument] if tested(name).is_some() => {
                let wanted = tested(name).unwrap_or(Kinds::ALL);
                Values::of_kinds(
                    Kinds::TRUE
                        .when(argument.may_be(wanted))
                        .with(Kinds::FALSE.when(!outside(argument, wanted).is_empty())),
                )
            }
            [argument] if tested_in_part(name).is_some() => {
                let wanted = tested_in_part(name).unwrap_or(Kinds::ALL);
                Values::of_kinds(Kinds::FALSE.with(Kinds::TRUE.when(argument.may_be(wanted))))
            }
            arguments => by_signature(Signature::of(name), arguments),
        }
    }

    fn subquery(&mut self, kind: SubqueryKind, query: &Query) -> Values {
        let before = self.facts.clone();
        match kind {
            SubqueryKind::Scalar => self.scalar(query),
            SubqueryKind::Exists => {
                let rows = self.block(query);
                self.facts = before;
                let is_certain = query.from.is_empty() && query.filter.is_none();
                match rows {
                    None => Values::of_kinds(Kinds::FALSE),
                    Some(_) if is_certain && !self.scalar(query).may_be(Kinds::UNDEFINED) => {
                        Values::of_kinds(Kinds::TRUE)
                    }
                    Some(_) => Values::of_kinds(Kinds::BOOL),
                }
            }
            SubqueryKind::All => Values::of_kinds(Kinds::BOOL),
            SubqueryKind::Array => Values::of_kinds(Kinds::ARRAY),
            SubqueryKind::First | SubqueryKind::Last => Values::of_kinds(Kinds::ALL),
        }
    }
}

/// `undefined` if some values are of other kinds than those.
fn outside(values: &Values, kinds: Kinds) -> Kinds {
    Kinds::UNDEFINED.when(!values.kinds().without(kinds).is_empty())
}

/// The result of an operation, which is undefined for operands of other kinds.
fn computed(operands: &[(Values, Kinds)], result: Kinds) -> Values {
    let mut kinds = result;
    for (values, accepted) in operands {
        if !values.may_be(*accepted) {
            return Values::of(Value::Undefined);
        }
        kinds = kinds.with(outside(values, *accepted));
    }
    Values::of_kinds(kinds)
}

fn by_signature(signature: Signature, arguments: &[Values]) -> Values {
    let mut may_be_undefined = !signature.is_total;
    for (index, argument) in arguments.iter().enumerate() {
        let accepted = signature.accepted(index);
        if !argument.may_be(accepted) {
            return Values::of(Value::Undefined);
        }
        may_be_undefined |= !outside(argument, accepted).is_empty();
    }
    let undefined = Values::of_kinds(Kinds::UNDEFINED.when(may_be_undefined));
    let result = if signature.is_not_negative {
        let low = Bound {
            value: Value::from(0),
            is_inclusive: true,
        };
        // The interval is lost in a union with a list only.
        let numbers = Interval {
            low: Some(low),
            high: None,
        };
        Values::within(Kinds::NUMBER, numbers)
    } else {
        Values::of_kinds(signature.result)
    };
    result.union(&undefined)
}

fn choose(index: &Values, choices: &[Values]) -> Values {
    let undefined = Values::of(Value::Undefined);
    if let Some(index) = index.single() {
        let index = index.as_number().and_then(orrery_json::Number::as_i64);
        let chosen = index
            .and_then(|index| usize::try_from(index).ok()?.checked_sub(1))
            .and_then(|index| choices.get(index));
        return chosen.cloned().unwrap_or(undefined);
    }
    if !index.may_be(Kinds::NUMBER) {
        return undefined;
    }
    choices
        .iter()
        .fold(undefined, |all, choice| all.union(choice))
}

/// The possible truth of an equality. Of two computed values that may both be undefined, nothing is
/// inferred.
fn equality(left: &Values, right: &Values) -> Values {
    let (one, other) = (left.of_only(Kinds::DEFINED), right.of_only(Kinds::DEFINED));
    if one.is_empty() || other.is_empty() {
        return Values::of(Value::Undefined);
    }
    let is_constant = left.listed().is_some() || right.listed().is_some();
    let may_be_undefined = left.may_be(Kinds::UNDEFINED) || right.may_be(Kinds::UNDEFINED);
    let is_number = |values: &Values| values.single().is_some_and(|value| !equal(value, value));
    let common = one.intersection(&other);
    let may_hold = !is_number(left)
        && !is_number(right)
        && (!common.is_empty() || may_be_undefined && !is_constant);
    let is_same = match (one.single(), other.single()) {
        (Some(one), Some(other)) => equal(one, other),
        _ => false,
    };
    Values::of_kinds(
        Kinds::TRUE
            .when(may_hold)
            .with(Kinds::FALSE.when(!is_same))
            .with(Kinds::UNDEFINED.when(may_be_undefined)),
    )
}

/// The possible truth of a comparison: only values of one scalar kind are ordered.
fn order(op: BinaryOp, left: &Values, right: &Values) -> Values {
    let (low, high, is_strict) = match op {
        BinaryOp::Less => (left, right, true),
        BinaryOp::LessOrEqual => (left, right, false),
        BinaryOp::Greater => (right, left, true),
        _ => (right, left, false),
    };
    let (mut may_hold, mut may_fail, mut ordered) = (false, false, Kinds::NONE);
    let both = |kinds: Kinds| low.may_be(kinds) && high.may_be(kinds);
    if both(Kinds::NULL) {
        ordered = ordered.with(Kinds::NULL);
        may_hold |= !is_strict;
        may_fail |= is_strict;
    }
    if both(Kinds::BOOL) {
        ordered = ordered.with(Kinds::BOOL);
        let rises = low.may_be(Kinds::FALSE) && high.may_be(Kinds::TRUE);
        let is_level = both(Kinds::FALSE) || both(Kinds::TRUE);
        may_hold |= rises || !is_strict && is_level;
        may_fail |= low.may_be(Kinds::TRUE) && high.may_be(Kinds::FALSE) || is_strict && is_level;
    }
    for kind in [Kinds::NUMBER, Kinds::STRING] {
        if let (Some(one), Some(other)) = (low.interval(kind), high.interval(kind)) {
            ordered = ordered.with(kind);
            let is_level = one.meets(&other);
            may_hold |= one.may_be_below(&other) || !is_strict && is_level;
            may_fail |= other.may_be_below(&one) || is_strict && is_level;
        }
    }
    let one_kind = |values: &Values| values.kinds().without(ordered).is_empty();
    let is_certain = one_kind(low)
        && one_kind(high)
        && [Kinds::NULL, Kinds::BOOL, Kinds::NUMBER, Kinds::STRING]
            .iter()
            .any(|kind| ordered.without(*kind).is_empty());
    Values::of_kinds(
        Kinds::TRUE
            .when(may_hold)
            .with(Kinds::FALSE.when(may_fail))
            .with(Kinds::UNDEFINED.when(!is_certain)),
    )
}

/// The opposite truth; `undefined` stays `undefined`.
fn not(truth: &Values) -> Values {
    Values::of_kinds(
        Kinds::TRUE
            .when(truth.may_be(Kinds::FALSE))
            .with(Kinds::FALSE.when(truth.may_be(Kinds::TRUE)))
            .with(truth.kinds().and(Kinds::UNDEFINED)),
    )
}
