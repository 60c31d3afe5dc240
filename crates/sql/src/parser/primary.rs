//! Parses operands: literals, names, calls, subqueries, arrays, objects, and access to their parts.

use orrery_json::Number;

use super::{Parser, Result};
use crate::ast::{Call, Expr, Identifier, Literal, Property, Quote, SubqueryKind};
use crate::keyword::Keyword;
use crate::token::{Symbol, TokenKind};
use crate::{SyntaxError, SyntaxErrorKind, number};

impl Parser<'_> {
    /// Parses `.name` and `[index]` behind `object`, whose first token is at the position `first`.
    pub(super) fn postfix(&mut self, mut object: Box<Expr>, first: usize) -> Result<Box<Expr>> {
        loop {
            // The index expression overwrites `height`, so the object's height is kept here.
            let height = self.height;
            if self.eat(Symbol::Dot) {
                let Identifier { name, span } = self.identifier()?;
                self.add_level(0)?;
                object = Box::new(Expr::Member {
                    object,
                    name,
                    name_span: span,
                });
            } else if self.eat(Symbol::BracketOpen) {
                let quote = Quote::of(self.peek().text);
                let index_span = self.peek().span;
                let index = self.expression()?;
                self.expect(Symbol::BracketClose)?;
                self.add_level(height)?;
                object = Box::new(Expr::Index {
                    object,
                    index,
                    span: self.span_from(self.tokens[first].span.start),
                    index_span,
                    quote,
                });
            } else {
                return Ok(object);
            }
        }
    }

    /// Parses one operand without access to its parts.
    pub(super) fn primary(&mut self) -> Result<Box<Expr>> {
        self.height = 1;
        match &self.peek().kind {
            TokenKind::Number => self.number(false),
            TokenKind::Symbol(Symbol::Minus) if self.at_signed_number() => {
                self.advance();
                self.number(true)
            }
            TokenKind::String(_) => {
                let text = self.eat_string().unwrap_or_default();
                Ok(Box::new(Expr::Literal(Literal::String(text))))
            }
            TokenKind::Parameter => Ok(Box::new(Expr::Parameter(self.take_name()))),
            TokenKind::Identifier => self.name(),
            TokenKind::Keyword(keyword) => self.keyword(*keyword),
            TokenKind::Symbol(Symbol::BracketOpen) => self.array(),
            TokenKind::Symbol(Symbol::BraceOpen) => self.object(),
            TokenKind::Symbol(Symbol::ParenOpen) => self.parenthesis(),
            TokenKind::Symbol(_) | TokenKind::Invalid(_) | TokenKind::End => self.refuse(),
        }
    }

    /// Parses a number literal; a number beyond the finite doubles is an error.
    fn number(&mut self, negative: bool) -> Result<Box<Expr>> {
        let token = self.peek();
        let value = number::value(token.text, negative).ok_or_else(|| {
            let kind = SyntaxErrorKind::Number {
                token: token.text.to_owned(),
            };
            Box::new(SyntaxError {
                kind,
                span: token.span,
            })
        })?;
        self.advance();
        Ok(Box::new(Expr::Literal(Literal::Number(value))))
    }

    /// Parses an operand that begins with a reserved word.
    fn keyword(&mut self, keyword: Keyword) -> Result<Box<Expr>> {
        let literal = match keyword {
            Keyword::True => Literal::Bool(true),
            Keyword::False => Literal::Bool(false),
            Keyword::Null => Literal::Null,
            Keyword::Undefined => Literal::Undefined,
            Keyword::Exists => {
                self.advance();
                return self.subquery(SubqueryKind::Exists);
            }
            Keyword::Array => {
                self.advance();
                return self.subquery(SubqueryKind::Array);
            }
            // `LEFT` and `RIGHT` are reserved and also names of functions.
            Keyword::Left | Keyword::Right => {
                if self.at_ahead(1, Symbol::ParenOpen) {
                    return self.call(false);
                }
                self.advance();
                return self.refuse();
            }
            Keyword::Udf => {
                self.advance();
                self.expect(Symbol::Dot)?;
                return self.call(true);
            }
            _ => return self.refuse(),
        };
        self.advance();
        Ok(Box::new(Expr::Literal(literal)))
    }

    /// Parses an operand that begins with an identifier: a name, a number constant, a subquery or a
    /// call.
    fn name(&mut self) -> Result<Box<Expr>> {
        if !self.at_ahead(1, Symbol::ParenOpen) {
            // `NaN` and `Infinity` are numbers only in this spelling.
            let literal = match self.peek().text {
                "NaN" => Some(f64::NAN),
                "Infinity" => Some(f64::INFINITY),
                _ => None,
            };
            let name = self.take_name();
            return Ok(Box::new(literal.map_or(Expr::Identifier(name), |value| {
                Expr::Literal(Literal::Number(Number::from(value)))
            })));
        }
        if self.at_keyword_ahead(2, Keyword::Select) {
            let operators = [
                ("ALL", SubqueryKind::All),
                ("FIRST", SubqueryKind::First),
                ("LAST", SubqueryKind::Last),
            ];
            if let Some((_, kind)) = operators.into_iter().find(|(word, _)| self.at_word(word)) {
                self.advance();
                return self.subquery(kind);
            }
        }
        self.call(false)
    }

    /// Parses `name(argument, ...)` with the present token as the name, whatever its kind.
    ///
    /// A query as the argument needs parentheses of its own: it is read, and what follows refused.
    pub(super) fn call(&mut self, udf: bool) -> Result<Box<Expr>> {
        let name = if udf {
            self.identifier()?
        } else {
            self.take_name()
        };
        self.expect(Symbol::ParenOpen)?;
        if self.at_keyword(Keyword::Select) {
            self.query()?;
            return self.refuse();
        }
        let mut argument_spans = Vec::new();
        let arguments = self.list_until(Symbol::ParenClose, |parser| {
            let (argument, span) = parser.spanned(Self::element)?;
            argument_spans.push(span);
            Ok(argument)
        })?;
        self.add_level(0)?;
        let span = self.span_from(name.span.start);
        Ok(Box::new(Expr::Call(Call {
            udf,
            name,
            arguments,
            argument_spans: argument_spans.into(),
            span,
        })))
    }

    /// `(SELECT ...)`.
    fn subquery(&mut self, kind: SubqueryKind) -> Result<Box<Expr>> {
        self.expect(Symbol::ParenOpen)?;
        let query = self.query()?;
        self.expect(Symbol::ParenClose)?;
        self.add_level(0)?;
        Ok(Box::new(Expr::Subquery {
            kind,
            query: Box::new(query),
        }))
    }

    /// Parses a parenthesis inside of an expression: a subquery, a `LET`, or a plain expression.
    fn parenthesis(&mut self) -> Result<Box<Expr>> {
        if self.at_keyword_ahead(1, Keyword::Select) {
            return self.subquery(SubqueryKind::Scalar);
        }
        if self.at_let() {
            return self.let_in();
        }
        self.advance();
        let expr = self.expression()?;
        self.expect(Symbol::ParenClose)?;
        Ok(expr)
    }

    /// Whether `(LET name` follows. `LET` alone is an ordinary name.
    pub(super) fn at_let(&self) -> bool {
        let word = self.peek_at(1);
        self.at(Symbol::ParenOpen)
            && word.kind == TokenKind::Identifier
            && word.text.eq_ignore_ascii_case("LET")
            && self.peek_at(2).kind == TokenKind::Identifier
    }

    /// Parses `(LET name = value IN body)`. Its parts are comparisons and not whole expressions, so
    /// this function counts the nesting itself.
    fn let_in(&mut self) -> Result<Box<Expr>> {
        self.nested(|parser| {
            parser.position += 2;
            let name = parser.identifier()?;
            parser.expect(Symbol::Equal)?;
            let value = parser.comparison()?;
            let height = parser.height;
            parser.expect_keyword(Keyword::In)?;
            let body = parser.comparison()?;
            parser.expect(Symbol::ParenClose)?;
            parser.add_level(height)?;
            Ok(Box::new(Expr::Let { name, value, body }))
        })
    }

    fn array(&mut self) -> Result<Box<Expr>> {
        self.advance();
        let elements = self.list_until(Symbol::BracketClose, Self::element)?;
        self.add_level(0)?;
        Ok(Box::new(Expr::Array(elements)))
    }

    fn object(&mut self) -> Result<Box<Expr>> {
        self.advance();
        let properties = self.list_until(Symbol::BraceClose, Self::property)?;
        self.add_level(0)?;
        Ok(Box::new(Expr::Object(properties)))
    }

    /// Parses a property of an object; its name may be a string or an identifier.
    fn property(&mut self) -> Result<Property> {
        let name_span = self.peek().span;
        let name = match self.eat_string() {
            Some(name) => name,
            None => self.identifier()?.name,
        };
        self.expect(Symbol::Colon)?;
        Ok(Property {
            name,
            name_span,
            value: self.element()?,
        })
    }
}
