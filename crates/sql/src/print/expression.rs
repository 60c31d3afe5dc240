//! Prints expressions.

use std::fmt::{self, Formatter};

use orrery_json::Number;

use super::{Indent, list, string, subquery};
use crate::ast::{BinaryOp, Expr, Literal, LogicalOp, SubqueryKind, UnaryOp};
use crate::keyword::Keyword;

/// Prints an expression with parentheses around every operator, so that the text needs no
/// precedence.
pub(super) fn write(expr: &Expr, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    let part = |expr: &Expr, f: &mut Formatter<'_>| write(expr, indent, f);
    match expr {
        Expr::Literal(value) => literal(value, f),
        Expr::Parameter(name) | Expr::Identifier(name) => f.write_str(&name.name),
        Expr::Member { object, name, .. } => {
            accessed(object, indent, f)?;
            write!(f, ".{name}")
        }
        Expr::Index { object, index, .. } => {
            accessed(object, indent, f)?;
            f.write_str("[")?;
            part(index, f)?;
            f.write_str("]")
        }
        Expr::Unary { op, operand } => {
            write!(f, "({} ", unary_text(*op))?;
            part(operand, f)?;
            f.write_str(")")
        }
        Expr::Binary { op, left, right } => infix(left, binary_text(*op), right, indent, f),
        Expr::Coalesce { left, right } => infix(left, "??", right, indent, f),
        Expr::Logical { op, terms } => logical(*op, terms, indent, f),
        Expr::In {
            needle,
            list: values,
            negated,
        } => {
            f.write_str("(")?;
            part(needle, f)?;
            f.write_str(if *negated { " NOT IN (" } else { " IN (" })?;
            list(values, f, part)?;
            f.write_str("))")
        }
        Expr::Between {
            value,
            low,
            high,
            negated,
        } => {
            f.write_str("(")?;
            part(value, f)?;
            f.write_str(if *negated {
                " NOT BETWEEN "
            } else {
                " BETWEEN "
            })?;
            part(low, f)?;
            f.write_str(" AND ")?;
            part(high, f)?;
            f.write_str(")")
        }
        Expr::Like {
            value,
            pattern,
            escape,
            negated,
        } => {
            f.write_str("(")?;
            part(value, f)?;
            f.write_str(if *negated { " NOT LIKE " } else { " LIKE " })?;
            part(pattern, f)?;
            if let Some(escape) = escape {
                f.write_str(" ESCAPE ")?;
                string(escape.encode_utf8(&mut [0; 4]), f)?;
            }
            f.write_str(")")
        }
        Expr::Conditional {
            condition,
            then,
            otherwise,
        } => {
            f.write_str("(")?;
            part(condition, f)?;
            f.write_str(" ? ")?;
            part(then, f)?;
            f.write_str(" : ")?;
            part(otherwise, f)?;
            f.write_str(")")
        }
        Expr::Array(elements) => {
            f.write_str("[")?;
            list(elements, f, part)?;
            f.write_str("]")
        }
        Expr::Object(properties) => {
            f.write_str("{")?;
            list(properties, f, |property, f| {
                string(&property.name, f)?;
                f.write_str(": ")?;
                part(&property.value, f)
            })?;
            f.write_str("}")
        }
        Expr::Call(call) => {
            let prefix = if call.udf { "udf." } else { "" };
            f.write_str(prefix)?;
            // Reserved words print in capitals, also where they are names of functions.
            if Keyword::of(&call.name.name).is_some() {
                f.write_str(&call.name.name.to_ascii_uppercase())?;
            } else {
                f.write_str(&call.name.name)?;
            }
            f.write_str("(")?;
            list(&call.arguments, f, part)?;
            f.write_str(")")
        }
        Expr::Subquery { kind, query } => {
            f.write_str(subquery_text(*kind))?;
            subquery(query, indent, f)
        }
        Expr::Let { name, value, body } => {
            write!(f, "(LET {} = ", name.name)?;
            part(value, f)?;
            f.write_str(" IN ")?;
            part(body, f)?;
            f.write_str(")")
        }
    }
}

/// Prints an accessed object. A number gets parentheses, because a following dot would become part
/// of it.
fn accessed(object: &Expr, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    if !matches!(object, Expr::Literal(Literal::Number(_))) {
        return write(object, indent, f);
    }
    f.write_str("(")?;
    write(object, indent, f)?;
    f.write_str(")")
}

/// Prints a binary operator with its operands in parentheses.
fn infix(
    left: &Expr,
    op: &str,
    right: &Expr,
    indent: Indent,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    f.write_str("(")?;
    write(left, indent, f)?;
    write!(f, " {op} ")?;
    write(right, indent, f)?;
    f.write_str(")")
}

/// Prints a chain with its left association: `((a AND b) AND c)`.
fn logical(op: LogicalOp, terms: &[Expr], indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    let word = match op {
        LogicalOp::And => " AND ",
        LogicalOp::Or => " OR ",
    };
    for _ in 1..terms.len() {
        f.write_str("(")?;
    }
    for (index, term) in terms.iter().enumerate() {
        if index > 0 {
            f.write_str(word)?;
        }
        write(term, indent, f)?;
        if index > 0 {
            f.write_str(")")?;
        }
    }
    Ok(())
}

/// Prints a literal.
fn literal(literal: &Literal, f: &mut Formatter<'_>) -> fmt::Result {
    match literal {
        Literal::Undefined => f.write_str("undefined"),
        Literal::Null => f.write_str("null"),
        Literal::Bool(value) => write!(f, "{value}"),
        Literal::Number(value) => number(*value, f),
        Literal::String(text) => string(text, f),
    }
}

/// Prints a number. `NaN` and `Infinity` have no JSON text.
fn number(number: Number, f: &mut Formatter<'_>) -> fmt::Result {
    let value = number.as_f64();
    if value.is_nan() {
        return f.write_str("NaN");
    }
    if value.is_infinite() {
        return f.write_str("Infinity");
    }
    let mut text = Vec::new();
    orrery_json::write_long_number(number, &mut text);
    f.write_str(&String::from_utf8_lossy(&text))
}

fn unary_text(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Not => "NOT",
        UnaryOp::Minus => "-",
        UnaryOp::Plus => "+",
        UnaryOp::BitNot => "~",
    }
}

/// The canonical spelling of an operator; `<>` prints as `!=`.
fn binary_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitXor => "^",
        BinaryOp::BitOr => "|",
        BinaryOp::Concat => "||",
        BinaryOp::Equal => "=",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::Greater => ">",
        BinaryOp::LessOrEqual => "<=",
        BinaryOp::GreaterOrEqual => ">=",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::ShiftRightUnsigned => ">>>",
    }
}

fn subquery_text(kind: SubqueryKind) -> &'static str {
    match kind {
        SubqueryKind::Scalar => "",
        SubqueryKind::Exists => "EXISTS",
        SubqueryKind::Array => "ARRAY",
        SubqueryKind::All => "ALL",
        SubqueryKind::First => "FIRST",
        SubqueryKind::Last => "LAST",
    }
}
