//! Tokens to syntax tree: recursive descent without backtracking.
//!
//! Hostile text cannot exhaust the stack. `depth` bounds how deeply the parser itself recurses,
//! `height` bounds the tree it makes, which a long chain such as `1+1+1+...` raises without any
//! recursion. Each parsing function leaves the height of what it returns in `height`.
//!
//! Clients write chains as `(((a OR b) OR c) OR d)`, a parenthesis for every term. Parentheses
//! that open an expression are therefore counted, not recursed into (see `expression.rs`).

mod expression;
mod primary;
mod query;

use crate::ast::{Identifier, Query};
use crate::keyword::Keyword;
use crate::lexer::tokenize;
use crate::token::{Symbol, Token, TokenKind};
use crate::{Span, SyntaxError, SyntaxErrorKind};

/// Text that [`parse`] accepts.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;

/// Levels of the tree that an expression may have.
pub const HEIGHT_MAX: usize = 512;

/// Levels of nesting in an expression: what the stack of a server thread carries in a debug build.
const DEPTH_MAX: usize = 256;

/// Levels of subqueries. A query costs the parser more stack than an expression does.
const QUERY_DEPTH_MAX: usize = 64;

/// Reads one query of at most [`TEXT_BYTES_MAX`] bytes.
pub fn parse(text: &str) -> Result<Query, SyntaxError> {
    parse_bounded(text, TEXT_BYTES_MAX)
}

/// Reads one query of at most `bytes_max` bytes.
pub fn parse_bounded(text: &str, bytes_max: usize) -> Result<Query, SyntaxError> {
    whole(text, bytes_max, Parser::query).map_err(|error| *error)
}

/// Reads the condition of a patch, `FROM c WHERE c.n = 3`, as the query `SELECT *` with it.
pub fn parse_filter(text: &str) -> Result<Query, SyntaxError> {
    whole(text, TEXT_BYTES_MAX, Parser::filter).map_err(|error| *error)
}

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

/// Trees and errors travel in boxes: the frames of the recursion stay small.
type Result<T, E = Box<SyntaxError>> = std::result::Result<T, E>;

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    position: usize,
    /// Calls of `expression` under way.
    depth: usize,
    /// Calls of `query` under way.
    query_depth: usize,
    /// The height of the tree returned last.
    height: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, bytes_max: usize) -> Result<Self> {
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

    /// The token `ahead` places further on; the last token for ever at the end.
    fn peek_at(&self, ahead: usize) -> &Token<'a> {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.position + ahead).min(last)]
    }

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

    /// Whether an identifier stands here that reads `word` in any case.
    fn at_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Identifier && token.text.eq_ignore_ascii_case(word)
    }

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

    fn identifier(&mut self) -> Result<Identifier> {
        if self.peek().kind != TokenKind::Identifier {
            return self.refuse();
        }
        Ok(self.take_name())
    }

    /// The token here as a name, whatever it is.
    fn take_name(&mut self) -> Identifier {
        let token = self.peek();
        let name = Identifier {
            name: token.text.to_owned(),
            span: token.span,
        };
        self.advance();
        name
    }

    /// The string literal here, if there is one.
    fn eat_string(&mut self) -> Option<String> {
        let TokenKind::String(value) = &mut self.tokens[self.position].kind else {
            return None;
        };
        let value = std::mem::take(value);
        self.advance();
        Some(value)
    }

    fn unexpected(&self) -> SyntaxError {
        let token = self.peek();
        let kind = match &token.kind {
            TokenKind::Invalid(kind) => kind.clone(),
            TokenKind::End => SyntaxErrorKind::Unexpected {
                token: "<EOF>".to_owned(),
            },
            _ => SyntaxErrorKind::Unexpected {
                token: token.text.to_owned(),
            },
        };
        SyntaxError {
            kind,
            span: token.span,
        }
    }

    fn refuse<T>(&self) -> Result<T> {
        Err(Box::new(self.unexpected()))
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            return self.too_deep();
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Refuses a chain whose canonical text nests once for every link.
    fn nested_chain(&self, links: usize) -> Result<()> {
        if self.depth + links > DEPTH_MAX {
            self.too_deep()
        } else {
            Ok(())
        }
    }

    /// Puts one level over the tree returned last and a sibling of the given height.
    fn raise(&mut self, sibling_height: usize) -> Result<()> {
        self.height = self.height.max(sibling_height) + 1;
        if self.height > HEIGHT_MAX {
            self.too_deep()
        } else {
            Ok(())
        }
    }

    fn too_deep<T>(&self) -> Result<T> {
        Err(Box::new(SyntaxError {
            kind: SyntaxErrorKind::TooDeep,
            span: self.peek().span,
        }))
    }

    /// `item, item, ...`, one at least. The height is that of the highest.
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

    /// A list that may be empty, up to and including `close`.
    fn list_until<T>(
        &mut self,
        close: Symbol,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.height = 0;
        if self.eat(close) {
            return Ok(Vec::new());
        }
        let items = self.list(item)?;
        self.expect(close)?;
        Ok(items)
    }
}
