//! Parses the clauses of a query.

use super::{Parser, QUERY_DEPTH_MAX, Result};
use crate::ast::{
    Collection, Expr, FromSource, OffsetLimit, OrderBy, OrderItem, PathStep, Projection, Query,
    RowCount, Select, SelectItem, SortDirection,
};
use crate::keyword::Keyword;
use crate::token::{Symbol, TokenKind};
use crate::{Span, SyntaxError, SyntaxErrorKind};

impl Parser<'_> {
    /// Parses a query or subquery.
    pub(super) fn query(&mut self) -> Result<Query> {
        if self.query_depth == QUERY_DEPTH_MAX {
            return self.too_deep();
        }
        self.query_depth += 1;
        let query = self.query_here();
        self.query_depth -= 1;
        query
    }

    /// Parses the clauses in their fixed order. The height of the query is that of its highest
    /// clause.
    fn query_here(&mut self) -> Result<Query> {
        let mut height = 0;
        let select = self.select()?;
        height = height.max(self.height);
        let from = self
            .clause(Keyword::From, &mut height, Self::sources)?
            .unwrap_or_default();
        let filter = self.clause(Keyword::Where, &mut height, Self::element)?;
        let group_by = self.clause(Keyword::Group, &mut height, Self::group_by)?;
        let order_by = self.clause(Keyword::Order, &mut height, Self::order_by)?;
        let offset_limit = self.clause(Keyword::Offset, &mut height, Self::offset_limit)?;
        self.add_level(height)?;
        Ok(Query {
            select,
            from,
            filter,
            group_by: group_by.unwrap_or_default(),
            order_by,
            offset_limit,
        })
    }

    /// Parses `FROM c WHERE ...` without a `SELECT`.
    pub(super) fn filter(&mut self) -> Result<Query> {
        self.expect_keyword(Keyword::From)?;
        let from = self.sources()?;
        self.expect_keyword(Keyword::Where)?;
        let filter = Some(self.element()?);
        Ok(Query {
            select: Select {
                distinct: false,
                top: None,
                projection: Projection::Star(Span::default()),
            },
            from,
            filter,
            group_by: Vec::new(),
            order_by: None,
            offset_limit: None,
        })
    }

    /// Parses the clause that `keyword` opens, if it follows.
    fn clause<T>(
        &mut self,
        keyword: Keyword,
        height: &mut usize,
        parse: fn(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        if !self.eat_keyword(keyword) {
            return Ok(None);
        }
        let parsed = parse(self)?;
        *height = (*height).max(self.height);
        Ok(Some(parsed))
    }

    /// Parses `SELECT` with its modifiers and its list.
    fn select(&mut self) -> Result<Select> {
        self.expect_keyword(Keyword::Select)?;
        let distinct = self.eat_keyword(Keyword::Distinct);
        let top = if self.eat_keyword(Keyword::Top) {
            Some(self.count(&SyntaxErrorKind::TopCount)?)
        } else {
            None
        };
        self.height = 0;
        let star = self.peek().span;
        let projection = if self.eat(Symbol::Star) {
            Projection::Star(star)
        } else if self.eat_keyword(Keyword::Value) {
            Projection::Value(self.element()?)
        } else {
            Projection::Items(self.list(Self::select_item)?)
        };
        Ok(Select {
            distinct,
            top,
            projection,
        })
    }

    /// Parses an item with its alias. `AS` is optional, and a string may be an alias.
    fn select_item(&mut self) -> Result<SelectItem> {
        let expr = self.element()?;
        let required = self.eat_keyword(Keyword::As);
        let alias = match self.eat_string() {
            Some(text) => Some(text),
            None if required || self.peek().kind == TokenKind::Identifier => {
                Some(self.identifier()?.name)
            }
            None => None,
        };
        Ok(SelectItem { expr, alias })
    }

    /// Parses the source of `FROM` and those of all `JOIN` clauses.
    fn sources(&mut self) -> Result<Vec<FromSource>> {
        let mut sources = vec![self.source()?];
        let mut height = self.height;
        while self.eat_keyword(Keyword::Join) {
            sources.push(self.source()?);
            height = height.max(self.height);
        }
        self.height = height;
        Ok(sources)
    }

    /// Parses one source, with its alias in front of `IN` or behind the collection.
    fn source(&mut self) -> Result<FromSource> {
        let elements =
            self.peek().kind == TokenKind::Identifier && self.at_keyword_ahead(1, Keyword::In);
        if elements {
            let alias = self.identifier()?;
            self.expect_keyword(Keyword::In)?;
            return Ok(FromSource::Elements {
                alias,
                collection: self.collection()?,
            });
        }
        let collection = self.collection()?;
        let required = self.eat_keyword(Keyword::As);
        let alias = if required || self.peek().kind == TokenKind::Identifier {
            Some(self.identifier()?)
        } else {
            None
        };
        Ok(FromSource::Value { collection, alias })
    }

    /// Parses a path or a subquery as a collection.
    fn collection(&mut self) -> Result<Collection> {
        self.height = 0;
        if self.eat(Symbol::ParenOpen) {
            let query = self.query()?;
            self.expect(Symbol::ParenClose)?;
            return Ok(Collection::Subquery(Box::new(query)));
        }
        let root = self.identifier()?;
        let mut steps = Vec::new();
        loop {
            if self.eat(Symbol::Dot) {
                steps.push(PathStep::Name(self.identifier()?.name));
            } else if self.eat(Symbol::BracketOpen) {
                steps.push(self.bracket_step()?);
                self.expect(Symbol::BracketClose)?;
            } else {
                return Ok(Collection::Path { root, steps });
            }
        }
    }

    /// Parses the key or index inside of brackets; a path in a source permits no other expression.
    fn bracket_step(&mut self) -> Result<PathStep> {
        if let Some(key) = self.eat_string() {
            return Ok(PathStep::Key(key));
        }
        let index = match self.peek().kind {
            TokenKind::Number => self.peek().text.parse().map_err(|_| self.unexpected())?,
            _ => return self.refuse(),
        };
        self.advance();
        Ok(PathStep::Index(index))
    }

    fn group_by(&mut self) -> Result<Vec<Expr>> {
        self.expect_keyword(Keyword::By)?;
        self.list(Self::element)
    }

    /// Parses the items of `ORDER BY` or of `ORDER BY RANK`.
    fn order_by(&mut self) -> Result<OrderBy> {
        self.expect_keyword(Keyword::By)?;
        // `RANK` can also be a column name. Only a following identifier makes it the ranking
        // clause.
        let rank = self.at_word("RANK") && self.peek_at(1).kind == TokenKind::Identifier;
        if rank {
            self.advance();
            return Ok(OrderBy::Rank(self.list(Self::rank_item)?));
        }
        Ok(OrderBy::Items(self.list(Self::order_item)?))
    }

    fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.element()?;
        Ok(OrderItem {
            expr,
            direction: self.direction(),
        })
    }

    /// Parses an item of `ORDER BY RANK`, which must be a call.
    fn rank_item(&mut self) -> Result<OrderItem> {
        if self.peek().kind != TokenKind::Identifier || !self.at_ahead(1, Symbol::ParenOpen) {
            return self.refuse();
        }
        let expr = *self.call(false)?;
        Ok(OrderItem {
            expr,
            direction: self.direction(),
        })
    }

    fn direction(&mut self) -> Option<SortDirection> {
        if self.eat_keyword(Keyword::Asc) {
            Some(SortDirection::Ascending)
        } else if self.eat_keyword(Keyword::Desc) {
            Some(SortDirection::Descending)
        } else {
            None
        }
    }

    /// Parses `OFFSET n LIMIT m`. Row counts are no expressions, so they have no height.
    fn offset_limit(&mut self) -> Result<OffsetLimit> {
        let offset = self.count(&SyntaxErrorKind::OffsetCount)?;
        self.expect_keyword(Keyword::Limit)?;
        let limit = self.count(&SyntaxErrorKind::LimitCount)?;
        self.height = 0;
        Ok(OffsetLimit { offset, limit })
    }

    /// Parses a row count: a parameter or an unsigned integer of 32 bits.
    fn count(&mut self, refusal: &SyntaxErrorKind) -> Result<RowCount> {
        let token = self.peek();
        match token.kind {
            TokenKind::Parameter => Ok(RowCount::Parameter(self.take_name())),
            TokenKind::Number => {
                let count = token.text.parse().map_err(|_| {
                    Box::new(SyntaxError {
                        kind: refusal.clone(),
                        span: token.span,
                    })
                })?;
                self.advance();
                Ok(RowCount::Literal(count))
            }
            _ => self.refuse(),
        }
    }
}
