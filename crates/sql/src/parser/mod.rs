//! Parses tokens into a syntax tree, by recursive descent without backtracking.
//!
//! Hostile text cannot exhaust the stack. `depth` limits the recursion of the parser, and `height`
//! limits the resulting tree, which a long chain such as `1+1+1+...` raises without recursion. Each
//! parsing function leaves the height of its result in `height`.
//!
//! Clients write chains as `(((a OR b) OR c) OR d)`, with a parenthesis for every term. Parentheses
//! at the start of an expression are therefore counted instead of parsed recursively (see
//! `expression.rs`).

mod expression;
mod primary;
mod query;

use crate::ast::{Identifier, Query};
use crate::keyword::Keyword;
use crate::lexer::tokenize;
use crate::token::{Symbol, Token, TokenKind};
use crate::{Span, SyntaxError, SyntaxErrorKind};

/// Maximal bytes of a query text.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;

/// Maximal levels of an expression tree.
pub const HEIGHT_MAX: usize = 512;

/// Maximal nesting of expressions: the stack of a server thread in a debug build carries this much.
const DEPTH_MAX: usize = 256;

/// Maximal nesting of subqueries. A query needs more parser stack than an expression.
const QUERY_DEPTH_MAX: usize = 64;

/// Parses one query of at most [`TEXT_BYTES_MAX`] bytes.
pub fn parse(text: &str) -> Result<Query, SyntaxError> {
    parse_bounded(text, TEXT_BYTES_MAX)
}

/// Parses one query of at most `bytes_max` bytes.
pub fn parse_bounded(text: &str, bytes_max: usize) -> Result<Query, SyntaxError> {
    whole(text, bytes_max, Parser::query).map_err(|error| *error)
}

/// Parses the condition of a patch operation, `FROM c WHERE c.n = 3`, into a query with `SELECT *`.
pub fn parse_filter(text: &str) -> Result<Query, SyntaxError> {
    whole(text, TEXT_BYTES_MAX, Parser::filter).map_err(|error| *error)
}

/// Parses a whole text: any token behind the query is an error.
fn whole<'a>(
    text: &'a str,
    bytes_max: usize,
    parse: fn(&mut Parser<'a>) -> Result<Query>,
) -> Result<Query> {
    let mut parser = Parser::new(text, bytes_max)?;
    let query = parse(&mut parser)?;
    parser.end()?;
    Ok(query)
}

/// Trees and errors are boxed, so that the stack frames of the recursion stay small.
type Result<T, E = Box<SyntaxError>> = std::result::Result<T, E>;

/// The state of the parser: a position in the tokens, and the limits.
struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    position: usize,
    /// Active calls of `expression`.
    depth: usize,
    /// Active calls of `query`.
    query_depth: usize,
    /// The height of the tree that the last parsing function returned.
    height: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, bytes_max: usize) -> Result<Self> {
        // The length is checked before the text is split into tokens, whose memory it determines.
        if text.len() > bytes_max {
            return Err(Box::new(SyntaxError {
                kind: SyntaxErrorKind::TooLong { bytes_max },
                span: Span {
                    start: 0,
                    end: text.chars().count(),
                },
            }));
        }
        Ok(Parser {
            tokens: tokenize(text),
            position: 0,
            depth: 0,
            query_depth: 0,
            height: 0,
        })
    }

    /// Expects the end of the text.
    fn end(&self) -> Result<()> {
        if self.peek().kind == TokenKind::End {
            Ok(())
        } else {
            self.refuse()
        }
    }

    fn peek(&self) -> &Token<'a> {
        self.peek_at(0)
    }

    /// The token `ahead` positions further on; at the end always the last token.
    fn peek_at(&self, ahead: usize) -> &Token<'a> {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.position + ahead).min(last)]
    }

    /// The span from a position to the end of the last consumed token.
    fn span_from(&self, start: usize) -> Span {
        Span {
            start,
            end: self.tokens[self.position.saturating_sub(1)].span.end,
        }
    }

    /// Runs `parse`, and tells the span of what it has consumed.
    fn spanned<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, Span)> {
        let start = self.peek().span.start;
        let parsed = parse(self)?;
        Ok((parsed, self.span_from(start)))
    }

    /// Moves to the next token. The end token is never passed, so every `peek` finds a token.
    fn advance(&mut self) {
        self.position = (self.position + 1).min(self.tokens.len() - 1);
    }

    fn at(&self, symbol: Symbol) -> bool {
        self.at_ahead(0, symbol)
    }

    fn at_ahead(&self, ahead: usize, symbol: Symbol) -> bool {
        self.peek_at(ahead).kind == TokenKind::Symbol(symbol)
    }

    fn at_keyword(&self, keyword: Keyword) -> bool {
        self.at_keyword_ahead(0, keyword)
    }

    fn at_keyword_ahead(&self, ahead: usize, keyword: Keyword) -> bool {
        self.peek_at(ahead).kind == TokenKind::Keyword(keyword)
    }

    /// Whether the next token is an identifier that spells `word` in any case.
    fn at_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Identifier && token.text.eq_ignore_ascii_case(word)
    }

    /// Consumes a symbol if it is next.
    fn eat(&mut self, symbol: Symbol) -> bool {
        let found = self.at(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn eat_keyword(&mut self, keyword: Keyword) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// Consumes a symbol, or fails at the present token.
    fn expect(&mut self, symbol: Symbol) -> Result<()> {
        if self.eat(symbol) {
            Ok(())
        } else {
            self.refuse()
        }
    }

    fn expect_keyword(&mut self, keyword: Keyword) -> Result<()> {
        if self.eat_keyword(keyword) {
            Ok(())
        } else {
            self.refuse()
        }
    }

    /// Consumes an identifier; a reserved word is not one.
    fn identifier(&mut self) -> Result<Identifier> {
        if self.peek().kind != TokenKind::Identifier {
            return self.refuse();
        }
        Ok(self.take_name())
    }

    /// Consumes the present token as a name, whatever its kind.
    fn take_name(&mut self) -> Identifier {
        let token = self.peek();
        let name = Identifier {
            name: token.text.to_owned(),
            span: token.span,
        };
        self.advance();
        name
    }

    /// Consumes a string literal if it is next.
    fn eat_string(&mut self) -> Option<String> {
        let TokenKind::String(value) = &mut self.tokens[self.position].kind else {
            return None;
        };
        let value = std::mem::take(value);
        self.advance();
        Some(value)
    }

    /// The error at the present token. A token that the lexer could not read carries its own error.
    fn unexpected(&self) -> SyntaxError {
        let token = self.peek();
        let kind = match &token.kind {
            TokenKind::Invalid(kind) => kind.clone(),
            TokenKind::End => SyntaxErrorKind::End,
            _ => SyntaxErrorKind::Unexpected {
                token: token.text.to_owned(),
            },
        };
        SyntaxError {
            kind,
            span: token.span,
        }
    }

    /// Fails at the present token.
    fn refuse<T>(&self) -> Result<T> {
        Err(Box::new(self.unexpected()))
    }

    /// Runs `parse` one nesting level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            return self.too_deep();
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Refuses a chain whose printed text would nest too deeply: printed text must parse again.
    fn check_printed_depth(&self, links: usize) -> Result<()> {
        if self.depth + links > DEPTH_MAX {
            self.too_deep()
        } else {
            Ok(())
        }
    }

    /// Adds one level above the last returned tree and a sibling of the given height.
    fn add_level(&mut self, sibling_height: usize) -> Result<()> {
        self.height = self.height.max(sibling_height) + 1;
        if self.height > HEIGHT_MAX {
            self.too_deep()
        } else {
            Ok(())
        }
    }

    /// Fails because of a nesting or height limit.
    fn too_deep<T>(&self) -> Result<T> {
        Err(Box::new(SyntaxError {
            kind: SyntaxErrorKind::TooDeep,
            span: self.peek().span,
        }))
    }

    /// Parses `item, item, ...` with at least one item. The height becomes that of the highest
    /// item.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        let mut height = self.height;
        while self.eat(Symbol::Comma) {
            items.push(item(self)?);
            height = height.max(self.height);
        }
        self.height = height;
        Ok(items)
    }

    /// Parses a possibly empty list up to and including `close`.
    fn list_until<T>(
        &mut self,
        close: Symbol,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        // An empty list has no height of its own.
        self.height = 0;
        if self.eat(close) {
            return Ok(Vec::new());
        }
        let items = self.list(item)?;
        self.expect(close)?;
        Ok(items)
    }
}
