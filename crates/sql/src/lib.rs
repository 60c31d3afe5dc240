//! Query text to syntax tree, and back to canonical text.
//!
//! This crate knows the grammar of the language and nothing of its meaning: it resolves no names,
//! knows no built-in function and evaluates nothing. It does no I/O and holds no clock.

pub mod ast;
mod error;
mod keyword;
mod lexer;
mod number;
mod parser;
mod print;
mod span;
mod token;

pub use ast::Query;
pub use error::{SyntaxError, SyntaxErrorKind};
pub use keyword::KEYWORDS;
pub use parser::{HEIGHT_MAX, TEXT_BYTES_MAX, parse, parse_bounded, parse_filter};
pub use span::Span;
