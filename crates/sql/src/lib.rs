//! Parses query text into a syntax tree, and prints a tree as canonical text.
//!
//! This crate knows the grammar of the query language and no semantics: it resolves no names, knows
//! no built-in function and evaluates no expression. It does no I/O and reads no clock.

pub mod ast;
mod children;
mod error;
mod filtered;
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
pub use span::{Span, Spans};
