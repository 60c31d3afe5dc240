//! Operators, from the loosest to the tightest.
//!
//! ```text
//! ? :                                     branches are whole expressions
//! ??                                      to the right
//! BETWEEN                                 beside the whole OR level
//! OR
//! AND
//! IN LIKE                                 once
//! = != <> < > <= >= << >> >>>             one level, to the left
//! ||
//! + - & ^ |                               one level, to the left
//! * / %
//! NOT - + ~                               to the right
//! . [ ]                                   (primary.rs)
//! ```

use super::{Parser, Result};
use crate::ast::{BinaryOp, Expr, LogicalOp, UnaryOp};
use crate::keyword::Keyword;
use crate::token::{Symbol, TokenKind};

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Box<Expr>> {
        self.nested(Self::expression_here)
    }

    /// An expression as the part of a list.
    pub(super) fn element(&mut self) -> Result<Expr> {
        self.expression().map(|expr| *expr)
    }

    /// Each parenthesis that opens the expression closes around all that was read so far, and
    /// what follows it goes on with that as its left operand.
    fn expression_here(&mut self) -> Result<Box<Expr>> {
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
            expr = self.postfix(expr)?;
        }
    }

    /// Whether a parenthesis opens here that is neither a subquery nor a `LET`.
    fn at_parenthesis(&self) -> bool {
        self.at(Symbol::ParenOpen) && !self.at_keyword_ahead(1, Keyword::Select) && !self.at_let()
    }

    /// Everything that may follow the operand `left` in an expression.
    fn operators(&mut self, left: Box<Expr>) -> Result<Box<Expr>> {
        let left = self.alternative(left)?;
        let left = self.coalesce(left)?;
        if !self.eat(Symbol::Question) {
            return Ok(left);
        }
        let mut height = self.height;
        let then = self.expression()?;
        height = height.max(self.height);
        self.expect(Symbol::Colon)?;
        let otherwise = self.expression()?;
        self.raise(height)?;
        Ok(Box::new(Expr::Conditional {
            condition: left,
            then,
            otherwise,
        }))
    }

    fn coalesce(&mut self, first: Box<Expr>) -> Result<Box<Expr>> {
        if !self.at(Symbol::Coalesce) {
            return Ok(first);
        }
        let mut operands = vec![(first, self.height)];
        while self.eat(Symbol::Coalesce) {
            let operand = self.unary()?;
            let operand = self.alternative(operand)?;
            operands.push((operand, self.height));
            self.nested_chain(operands.len())?;
        }
        let (mut expr, height) = operands.pop().ok_or_else(|| self.unexpected())?;
        self.height = height;
        for (left, height) in operands.into_iter().rev() {
            self.raise(height)?;
            expr = Box::new(Expr::Coalesce { left, right: expr });
        }
        Ok(expr)
    }

    /// `BETWEEN`, or `OR` and all that binds tighter.
    fn alternative(&mut self, left: Box<Expr>) -> Result<Box<Expr>> {
        let left = self.binary(left, Level::Comparison)?;
        if self.at_keyword(Keyword::Between)
            || self.at_keyword(Keyword::Not) && self.at_keyword_ahead(1, Keyword::Between)
        {
            return self.between(left);
        }
        let left = self.membership(left)?;
        let left = self.chain(left, Keyword::And, LogicalOp::And, Self::and_operand)?;
        self.chain(left, Keyword::Or, LogicalOp::Or, Self::or_operand)
    }

    fn between(&mut self, value: Box<Expr>) -> Result<Box<Expr>> {
        let mut height = self.height;
        let negated = self.eat_keyword(Keyword::Not);
        self.expect_keyword(Keyword::Between)?;
        let low = self.comparison()?;
        height = height.max(self.height);
        self.expect_keyword(Keyword::And)?;
        let high = self.comparison()?;
        self.raise(height)?;
        Ok(Box::new(Expr::Between {
            value,
            low,
            high,
            negated,
        }))
    }

    fn or_operand(&mut self) -> Result<Box<Expr>> {
        let left = self.and_operand()?;
        self.chain(left, Keyword::And, LogicalOp::And, Self::and_operand)
    }

    fn and_operand(&mut self) -> Result<Box<Expr>> {
        let left = self.comparison()?;
        self.membership(left)
    }

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
            Expr::Logical { op: same, terms } if same == op => (terms, self.height - 1),
            left => (vec![left], self.height),
        };
        while self.eat_keyword(keyword) {
            terms.push(*operand(self)?);
            height = height.max(self.height);
        }
        self.height = height;
        self.raise(0)?;
        Ok(Box::new(Expr::Logical { op, terms }))
    }

    /// `IN` or `LIKE` after `left`, if one is here.
    fn membership(&mut self, left: Box<Expr>) -> Result<Box<Expr>> {
        let ahead = usize::from(self.at_keyword(Keyword::Not));
        let negated = ahead == 1;
        if self.at_keyword_ahead(ahead, Keyword::In) {
            self.position += ahead + 1;
            let height = self.height;
            self.expect(Symbol::ParenOpen)?;
            let list = self.list(Self::element)?;
            self.expect(Symbol::ParenClose)?;
            self.raise(height)?;
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
            self.raise(height)?;
            let escape = self.escape()?;
            return Ok(Box::new(Expr::Like {
                value: left,
                pattern,
                escape,
                negated,
            }));
        }
        Ok(left)
    }

    /// `ESCAPE 'x'`: one character, and not the backslash.
    fn escape(&mut self) -> Result<Option<char>> {
        if !self.eat_keyword(Keyword::Escape) {
            return Ok(None);
        }
        let refusal = self.unexpected();
        let text = self.eat_string().unwrap_or_default();
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(escape), None) if escape != '\\' => Ok(Some(escape)),
            _ => Err(Box::new(refusal)),
        }
    }

    /// Comparison and what binds tighter, from its first operand.
    pub(super) fn comparison(&mut self) -> Result<Box<Expr>> {
        let left = self.unary()?;
        self.binary(left, Level::Comparison)
    }

    /// Operators of `loosest` level and tighter after `left`.
    fn binary(&mut self, mut left: Box<Expr>, loosest: Level) -> Result<Box<Expr>> {
        while let Some((op, level)) = self
            .binary_operator()
            .filter(|(_, level)| *level <= loosest)
        {
            self.advance();
            let left_height = self.height;
            let mut right = self.unary()?;
            if let Some(tighter) = level.tighter() {
                right = self.binary(right, tighter)?;
            }
            self.raise(left_height)?;
            left = Box::new(Expr::Binary { op, left, right });
        }
        Ok(left)
    }

    fn binary_operator(&self) -> Option<(BinaryOp, Level)> {
        let TokenKind::Symbol(symbol) = self.peek().kind else {
            return None;
        };
        Some(match symbol {
            Symbol::Star => (BinaryOp::Multiply, Level::Multiplicative),
            Symbol::Slash => (BinaryOp::Divide, Level::Multiplicative),
            Symbol::Percent => (BinaryOp::Modulo, Level::Multiplicative),
            Symbol::Plus => (BinaryOp::Add, Level::Additive),
            Symbol::Minus => (BinaryOp::Subtract, Level::Additive),
            Symbol::BitAnd => (BinaryOp::BitAnd, Level::Additive),
            Symbol::BitXor => (BinaryOp::BitXor, Level::Additive),
            Symbol::BitOr => (BinaryOp::BitOr, Level::Additive),
            Symbol::Concat => (BinaryOp::Concat, Level::Concat),
            Symbol::Equal => (BinaryOp::Equal, Level::Comparison),
            Symbol::NotEqual | Symbol::LessOrGreater => (BinaryOp::NotEqual, Level::Comparison),
            Symbol::Less => (BinaryOp::Less, Level::Comparison),
            Symbol::Greater => (BinaryOp::Greater, Level::Comparison),
            Symbol::LessOrEqual => (BinaryOp::LessOrEqual, Level::Comparison),
            Symbol::GreaterOrEqual => (BinaryOp::GreaterOrEqual, Level::Comparison),
            Symbol::ShiftLeft => (BinaryOp::ShiftLeft, Level::Comparison),
            Symbol::ShiftRight => (BinaryOp::ShiftRight, Level::Comparison),
            Symbol::ShiftRightUnsigned => (BinaryOp::ShiftRightUnsigned, Level::Comparison),
            _ => return None,
        })
    }

    /// Signs are collected before they are applied: `- - - 1` costs no recursion.
    fn unary(&mut self) -> Result<Box<Expr>> {
        let mut ops = Vec::new();
        while let Some(op) = self.unary_operator() {
            if op == UnaryOp::Minus && self.at_signed_number() {
                break;
            }
            self.advance();
            ops.push(op);
            self.nested_chain(ops.len())?;
        }
        let operand = self.primary()?;
        let mut expr = self.postfix(operand)?;
        for op in ops.into_iter().rev() {
            self.raise(0)?;
            expr = Box::new(Expr::Unary { op, operand: expr });
        }
        Ok(expr)
    }

    fn unary_operator(&self) -> Option<UnaryOp> {
        match self.peek().kind {
            TokenKind::Keyword(Keyword::Not) => Some(UnaryOp::Not),
            TokenKind::Symbol(Symbol::Minus) => Some(UnaryOp::Minus),
            TokenKind::Symbol(Symbol::Plus) => Some(UnaryOp::Plus),
            TokenKind::Symbol(Symbol::Tilde) => Some(UnaryOp::BitNot),
            _ => None,
        }
    }

    /// Whether a minus and a number stand here without a gap: then the sign is the number's.
    pub(super) fn at_signed_number(&self) -> bool {
        self.at(Symbol::Minus)
            && self.peek_at(1).kind == TokenKind::Number
            && self.peek().span.end == self.peek_at(1).span.start
    }
}

/// How tightly a binary operator binds, tightest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Multiplicative,
    Additive,
    Concat,
    Comparison,
}

impl Level {
    fn tighter(self) -> Option<Level> {
        match self {
            Level::Multiplicative => None,
            Level::Additive => Some(Level::Multiplicative),
            Level::Concat => Some(Level::Additive),
            Level::Comparison => Some(Level::Concat),
        }
    }
}
