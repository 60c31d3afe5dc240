//! Parses operators, from the loosest to the tightest.
//!
//! ```text
//! ? :                                     branches are whole expressions
//! ??                                      associates to the right
//! BETWEEN                                 beside the whole OR level
//! OR
//! AND
//! IN LIKE                                 at most once
//! = != <> < > <= >= << >> >>>             one level, associates to the left
//! ||
//! + - & ^ |                               one level, associates to the left
//! * / %
//! NOT - + ~                               prefix, apply right to left
//! . [ ]                                   (primary.rs)
//! ```

use super::{Parser, Result};
use crate::ast::{BinaryOp, Expr, LogicalOp, UnaryOp};
use crate::keyword::Keyword;
use crate::token::{Symbol, TokenKind};
use crate::{SyntaxError, SyntaxErrorKind};

impl Parser<'_> {
    /// Parses an expression one nesting level deeper.
    pub(super) fn expression(&mut self) -> Result<Box<Expr>> {
        self.nested(Self::expression_here)
    }

    /// Parses an expression as an item of a list.
    pub(super) fn element(&mut self) -> Result<Expr> {
        self.expression().map(|expr| *expr)
    }

    /// Parses an expression with its leading parentheses. A closing parenthesis ends one of them,
    /// and everything read inside becomes the left operand of what follows. So a chain of leading
    /// parentheses costs no recursion.
    fn expression_here(&mut self) -> Result<Box<Expr>> {
        let first = self.position;
        let mut open = 0_usize;
        while self.at_parenthesis() {
            self.advance();
            open += 1;
        }
        let mut expr = self.unary()?;
        loop {
            expr = self.operators(expr)?;
            if open == 0 {
                return Ok(expr);
            }
            self.expect(Symbol::ParenClose)?;
            open -= 1;
            expr = self.postfix(expr, first + open)?;
        }
    }

    /// Whether the next token opens a plain parenthesis, without a subquery or a `LET`.
    fn at_parenthesis(&self) -> bool {
        self.at(Symbol::ParenOpen) && !self.at_keyword_ahead(1, Keyword::Select) && !self.at_let()
    }

    /// Parses everything that may follow the operand `left` in an expression.
    fn operators(&mut self, left: Box<Expr>) -> Result<Box<Expr>> {
        let left = self.alternative(left)?;
        let left = self.coalesce(left)?;
        if !self.eat(Symbol::Question) {
            return Ok(left);
        }
        // The height of every branch counts, because `height` holds only the last one.
        let mut height = self.height;
        let then = self.expression()?;
        height = height.max(self.height);
        self.expect(Symbol::Colon)?;
        let otherwise = self.expression()?;
        self.add_level(height)?;
        Ok(Box::new(Expr::Conditional {
            condition: left,
            then,
            otherwise,
        }))
    }

    /// Parses `??`, which associates to the right. The operands are collected first, so that a long
    /// chain costs no recursion.
    fn coalesce(&mut self, first: Box<Expr>) -> Result<Box<Expr>> {
        if !self.at(Symbol::Coalesce) {
            return Ok(first);
        }
        let mut operands = vec![(first, self.height)];
        while self.eat(Symbol::Coalesce) {
            let operand = self.unary()?;
            let operand = self.alternative(operand)?;
            operands.push((operand, self.height));
            // The printed text nests once per operand, and the parser must accept that text again.
            self.check_printed_depth(operands.len())?;
        }
        let (mut expr, height) = operands.pop().ok_or_else(|| self.unexpected())?;
        self.height = height;
        for (left, height) in operands.into_iter().rev() {
            self.add_level(height)?;
            expr = Box::new(Expr::Coalesce { left, right: expr });
        }
        Ok(expr)
    }

    /// Parses `BETWEEN`, or `OR` and all tighter operators.
    fn alternative(&mut self, left: Box<Expr>) -> Result<Box<Expr>> {
        let left = self.binary(left, Precedence::Comparison)?;
        if self.at_keyword(Keyword::Between)
            || self.at_keyword(Keyword::Not) && self.at_keyword_ahead(1, Keyword::Between)
        {
            return self.between(left);
        }
        let left = self.membership(left)?;
        let left = self.chain(left, Keyword::And, LogicalOp::And, Self::and_operand)?;
        self.chain(left, Keyword::Or, LogicalOp::Or, Self::or_operand)
    }

    /// Parses `BETWEEN low AND high`. The bounds are comparisons, so the `AND` is unambiguous.
    fn between(&mut self, value: Box<Expr>) -> Result<Box<Expr>> {
        let mut height = self.height;
        let negated = self.eat_keyword(Keyword::Not);
        self.expect_keyword(Keyword::Between)?;
        let low = self.comparison()?;
        height = height.max(self.height);
        self.expect_keyword(Keyword::And)?;
        let high = self.comparison()?;
        self.add_level(height)?;
        Ok(Box::new(Expr::Between {
            value,
            low,
            high,
            negated,
        }))
    }

    /// Parses a term of `OR`.
    fn or_operand(&mut self) -> Result<Box<Expr>> {
        let left = self.and_operand()?;
        self.chain(left, Keyword::And, LogicalOp::And, Self::and_operand)
    }

    /// Parses a term of `AND`.
    fn and_operand(&mut self) -> Result<Box<Expr>> {
        let left = self.comparison()?;
        self.membership(left)
    }

    /// Parses a chain of `AND` or `OR` into one node. A parenthesised chain of the same operator at
    /// the left is continued, so that client queries with a parenthesis per term stay flat.
    fn chain(
        &mut self,
        left: Box<Expr>,
        keyword: Keyword,
        op: LogicalOp,
        operand: fn(&mut Self) -> Result<Box<Expr>>,
    ) -> Result<Box<Expr>> {
        if !self.at_keyword(keyword) {
            return Ok(left);
        }
        let (mut terms, mut height) = match *left {
            // The continued chain already counts one level for its node.
            Expr::Logical { op: same, terms } if same == op => (terms, self.height - 1),
            left => (vec![left], self.height),
        };
        while self.eat_keyword(keyword) {
            terms.push(*operand(self)?);
            height = height.max(self.height);
        }
        self.height = height;
        self.add_level(0)?;
        Ok(Box::new(Expr::Logical { op, terms }))
    }

    /// Parses `IN` or `LIKE` behind `left`, if one follows.
    fn membership(&mut self, left: Box<Expr>) -> Result<Box<Expr>> {
        let ahead = usize::from(self.at_keyword(Keyword::Not));
        let negated = ahead == 1;
        if self.at_keyword_ahead(ahead, Keyword::In) {
            self.position += ahead + 1;
            let height = self.height;
            self.expect(Symbol::ParenOpen)?;
            let list = self.list(Self::element)?;
            self.expect(Symbol::ParenClose)?;
            self.add_level(height)?;
            return Ok(Box::new(Expr::In {
                needle: left,
                list,
                negated,
            }));
        }
        if self.at_keyword_ahead(ahead, Keyword::Like) {
            self.position += ahead + 1;
            let height = self.height;
            let pattern = self.comparison()?;
            self.add_level(height)?;
            let escape = self.escape()?;
            return Ok(Box::new(Expr::Like {
                value: left,
                pattern,
                escape,
                negated,
            }));
        }
        // Nothing else follows a `NOT` behind an operand.
        if negated {
            self.advance();
            return self.refuse();
        }
        Ok(left)
    }

    /// Parses `ESCAPE 'x'`: a single character.
    fn escape(&mut self) -> Result<Option<char>> {
        if !self.eat_keyword(Keyword::Escape) {
            return Ok(None);
        }
        let span = self.peek().span;
        let Some(escape) = self.eat_string() else {
            return self.refuse();
        };
        let mut chars = escape.chars();
        match (chars.next(), chars.next()) {
            (Some(escape), None) => Ok(Some(escape)),
            _ => Err(Box::new(SyntaxError {
                kind: SyntaxErrorKind::LikeEscape { escape },
                span,
            })),
        }
    }

    /// Parses a comparison and all tighter operators, from the first operand.
    pub(super) fn comparison(&mut self) -> Result<Box<Expr>> {
        let left = self.unary()?;
        self.binary(left, Precedence::Comparison)
    }

    /// Parses operators of the level `loosest` and tighter behind `left`.
    fn binary(&mut self, mut left: Box<Expr>, loosest: Precedence) -> Result<Box<Expr>> {
        while let Some((op, level)) = self
            .binary_operator()
            .filter(|(_, level)| *level <= loosest)
        {
            self.advance();
            let left_height = self.height;
            let mut right = self.unary()?;
            // Operators of the same level associate to the left, so the right side takes only
            // tighter ones.
            if let Some(tighter) = level.tighter() {
                right = self.binary(right, tighter)?;
            }
            self.add_level(left_height)?;
            left = Box::new(Expr::Binary { op, left, right });
        }
        Ok(left)
    }

    /// The operator at the current token with its level.
    fn binary_operator(&self) -> Option<(BinaryOp, Precedence)> {
        let TokenKind::Symbol(symbol) = self.peek().kind else {
            return None;
        };
        Some(match symbol {
            Symbol::Star => (BinaryOp::Multiply, Precedence::Multiplicative),
            Symbol::Slash => (BinaryOp::Divide, Precedence::Multiplicative),
            Symbol::Percent => (BinaryOp::Modulo, Precedence::Multiplicative),
            Symbol::Plus => (BinaryOp::Add, Precedence::Additive),
            Symbol::Minus => (BinaryOp::Subtract, Precedence::Additive),
            Symbol::BitAnd => (BinaryOp::BitAnd, Precedence::Additive),
            Symbol::BitXor => (BinaryOp::BitXor, Precedence::Additive),
            Symbol::BitOr => (BinaryOp::BitOr, Precedence::Additive),
            Symbol::Concat => (BinaryOp::Concat, Precedence::Concat),
            Symbol::Equal => (BinaryOp::Equal, Precedence::Comparison),
            Symbol::NotEqual | Symbol::LessOrGreater => {
                (BinaryOp::NotEqual, Precedence::Comparison)
            }
            Symbol::Less => (BinaryOp::Less, Precedence::Comparison),
            Symbol::Greater => (BinaryOp::Greater, Precedence::Comparison),
            Symbol::LessOrEqual => (BinaryOp::LessOrEqual, Precedence::Comparison),
            Symbol::GreaterOrEqual => (BinaryOp::GreaterOrEqual, Precedence::Comparison),
            Symbol::ShiftLeft => (BinaryOp::ShiftLeft, Precedence::Comparison),
            Symbol::ShiftRight => (BinaryOp::ShiftRight, Precedence::Comparison),
            Symbol::ShiftRightUnsigned => (BinaryOp::ShiftRightUnsigned, Precedence::Comparison),
            _ => return None,
        })
    }

    /// Parses prefix operators. They are collected before they apply, so that `- - - 1` costs no
    /// recursion.
    fn unary(&mut self) -> Result<Box<Expr>> {
        let mut ops = Vec::new();
        while let Some(op) = self.unary_operator() {
            // The sign belongs to the literal, or the smallest integer could not be written.
            if op == UnaryOp::Minus && self.at_signed_number() {
                break;
            }
            self.advance();
            ops.push(op);
            self.check_printed_depth(ops.len())?;
        }
        let first = self.position;
        let operand = self.primary()?;
        let mut expr = self.postfix(operand, first)?;
        for op in ops.into_iter().rev() {
            self.add_level(0)?;
            expr = Box::new(Expr::Unary { op, operand: expr });
        }
        Ok(expr)
    }

    /// The prefix operator at the current token.
    fn unary_operator(&self) -> Option<UnaryOp> {
        match self.peek().kind {
            TokenKind::Keyword(Keyword::Not) => Some(UnaryOp::Not),
            TokenKind::Symbol(Symbol::Minus) => Some(UnaryOp::Minus),
            TokenKind::Symbol(Symbol::Plus) => Some(UnaryOp::Plus),
            TokenKind::Symbol(Symbol::Tilde) => Some(UnaryOp::BitNot),
            _ => None,
        }
    }

    /// Whether a minus is directly followed by a number: the sign is then part of the number.
    pub(super) fn at_signed_number(&self) -> bool {
        self.at(Symbol::Minus)
            && self.peek_at(1).kind == TokenKind::Number
            && self.peek().span.end == self.peek_at(1).span.start
    }
}

/// Binding strength of binary operators, tightest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Multiplicative,
    Additive,
    Concat,
    Comparison,
}

impl Precedence {
    /// The next tighter level.
    fn tighter(self) -> Option<Precedence> {
        match self {
            Precedence::Multiplicative => None,
            Precedence::Additive => Some(Precedence::Multiplicative),
            Precedence::Concat => Some(Precedence::Additive),
            Precedence::Comparison => Some(Precedence::Concat),
        }
    }
}
