//! The tokens of the query language.

use crate::{Span, SyntaxErrorKind, keyword::Keyword};

/// A token with its position.
#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    /// The token as written.
    pub(crate) text: &'a str,
    pub(crate) span: Span,
}

/// The kinds of tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    Identifier,
    Keyword(Keyword),
    Parameter,
    Number,
    /// A string literal with resolved escapes.
    String(String),
    Symbol(Symbol),
    /// Text that the lexer could not read. It is the last token before the end, and becomes an
    /// error only when the parser reaches it, so that an earlier error is reported first.
    Invalid(SyntaxErrorKind),
    End,
}

macro_rules! symbols {
    ($($name:ident $text:literal)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Symbol {
            $($name,)*
        }

        impl Symbol {
            /// The symbol at the beginning of `text`, with its length in bytes.
            pub(crate) fn at_start(text: &str) -> Option<(Symbol, usize)> {
                $(if text.starts_with($text) {
                    return Some((Symbol::$name, $text.len()));
                })*
                None
            }
        }
    };
}

// Longer symbols precede their own beginnings, because the first match wins.
symbols! {
    ShiftRightUnsigned ">>>"
    ShiftRight ">>"
    GreaterOrEqual ">="
    Greater ">"
    ShiftLeft "<<"
    LessOrEqual "<="
    LessOrGreater "<>"
    Less "<"
    NotEqual "!="
    Equal "="
    Concat "||"
    BitOr "|"
    Coalesce "??"
    Question "?"
    Colon ":"
    Plus "+"
    Minus "-"
    Star "*"
    Slash "/"
    Percent "%"
    Tilde "~"
    BitAnd "&"
    BitXor "^"
    Dot "."
    Comma ","
    ParenOpen "("
    ParenClose ")"
    BracketOpen "["
    BracketClose "]"
    BraceOpen "{"
    BraceClose "}"
}
