//! Paths as the query has written them, for error messages.

use orrery_sql::Span;
use orrery_sql::ast::{Expr, Identifier, Literal, PathStep, Quote};

/// The text of a path, with the quotation marks of its names as they were written.
pub(super) fn path_text(path: &Expr) -> String {
    match path {
        Expr::Member { object, name, .. } => format!("{}.{name}", path_text(object)),
        Expr::Index {
            object,
            index,
            quote: Quote::Single,
            ..
        } => match &**index {
            Expr::Literal(Literal::String(name)) => {
                let name = name.replace('\\', "\\\\").replace('\'', "\\'");
                format!("{}['{name}']", path_text(object))
            }
            index => format!("{}[{index}]", path_text(object)),
        },
        Expr::Index { object, index, .. } => format!("{}[{index}]", path_text(object)),
        other => other.to_string(),
    }
}

/// The span of a path: from its root to its last name or closing bracket.
pub(super) fn path_span(root: &Identifier, path: &Expr) -> Span {
    let start = root.span.start;
    let end = match path {
        Expr::Member { name_span, .. } => name_span.end,
        Expr::Index { span, .. } => span.end,
        _ => root.span.end,
    };
    Span { start, end }
}

/// The path of a source as an expression. A source has no space between its steps, so their
/// positions follow from their texts.
pub(super) fn collection_path(root: &Identifier, steps: &[PathStep]) -> Expr {
    let mut end = root.span.end;
    let mut path = Expr::Identifier(root.clone());
    for step in steps {
        path = match step {
            PathStep::Name(name) => Expr::Member {
                object: Box::new(path),
                name: name.clone(),
                name_span: Span::default(),
            },
            PathStep::Key(name, quote) => index(path, Literal::String(name.clone()), *quote),
            PathStep::Index(position) => {
                let position = i64::try_from(*position).unwrap_or(i64::MAX);
                index(path, Literal::Number(position.into()), Quote::Double)
            }
        };
        end = root.span.start + path_text(&path).chars().count();
    }
    if let Expr::Member {
        name_span: span, ..
    }
    | Expr::Index { span, .. } = &mut path
    {
        span.end = end;
    }
    path
}

fn index(object: Expr, index: Literal, quote: Quote) -> Expr {
    Expr::Index {
        object: Box::new(object),
        index: Box::new(Expr::Literal(index)),
        span: Span::default(),
        index_span: Span::default(),
        quote,
    }
}
