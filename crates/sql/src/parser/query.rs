//! Parses the clauses of a query.

use super::{Parser, QUERY_DEPTH_MAX, Result};
use crate::ast::{
    Collection, Expr, FromSource, OffsetLimit, OrderBy, OrderItem, PathStep, Projection, Query,
    QuerySpans, Quote, RowCount, Select, SelectItem, SortDirection,
};
use crate::keyword::Keyword;
use crate::token::{Symbol, TokenKind};
use crate::{Span, SyntaxError, SyntaxErrorKind, number};

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
        let start = self.peek().span.start;
        let mut height = 0;
        let mut spans = Box::<QuerySpans>::default();
        let select = self.select(&mut spans)?;
        height = height.max(self.height);
        let from = self.clause(Keyword::From, &mut height, Self::sources)?.0;
        let filter = self.clause(Keyword::Where, &mut height, Self::element)?.0;
        let (group_by, group_span) = self.clause(Keyword::Group, &mut height, Self::group_by)?;
        let (order_by, order_span) = self.clause(Keyword::Order, &mut height, Self::order_by)?;
        let (offset_limit, offset_span) =
            self.clause(Keyword::Offset, &mut height, Self::offset_limit)?;
        self.add_level(height)?;
        let (from, sources) = from.unwrap_or_default();
        let (group_by, group_keys) = group_by.unwrap_or_default();
        spans.query = self.span_from(start);
        spans.sources = sources.into();
        spans.group_by = group_span;
        spans.group_keys = Vec::into(group_keys);
        spans.order_by = order_span;
        spans.offset_limit = offset_span;
        Ok(Query {
            select,
            from,
            filter,
            group_by,
            order_by,
            offset_limit,
            spans,
        })
    }

    /// Parses `FROM c WHERE ...` without a `SELECT`.
    pub(super) fn filter(&mut self) -> Result<Query> {
        self.expect_keyword(Keyword::From)?;
        let (from, sources) = self.sources()?;
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
            spans: Box::new(QuerySpans {
                sources: sources.into(),
                ..QuerySpans::default()
            }),
        })
    }

    /// Parses the clause that `keyword` opens, if it follows, and tells its span.
    fn clause<T>(
        &mut self,
        keyword: Keyword,
        height: &mut usize,
        parse: fn(&mut Self) -> Result<T>,
    ) -> Result<(Option<T>, Span)> {
        let start = self.peek().span.start;
        if !self.eat_keyword(keyword) {
            return Ok((None, Span::default()));
        }
        let parsed = parse(self)?;
        *height = (*height).max(self.height);
        Ok((Some(parsed), self.span_from(start)))
    }

    /// Parses `SELECT` with its modifiers and its list.
    fn select(&mut self, spans: &mut QuerySpans) -> Result<Select> {
        let start = self.peek().span.start;
        self.expect_keyword(Keyword::Select)?;
        let distinct = self.eat_keyword(Keyword::Distinct);
        let at_top = self.peek().span.start;
        let top = if self.eat_keyword(Keyword::Top) {
            Some(self.top_count()?)
        } else {
            None
        };
        spans.top = self.span_from(at_top);
        self.height = 0;
        let star = self.peek().span;
        let projection = if self.eat(Symbol::Star) {
            Projection::Star(star)
        } else if self.eat_keyword(Keyword::Value) {
            Projection::Value(self.element()?)
        } else {
            Projection::Items(self.list(Self::select_item)?)
        };
        spans.select = self.span_from(start);
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
        let alias_span = self.peek().span;
        let alias = match self.eat_string() {
            Some(text) => Some(text),
            None if required || self.peek().kind == TokenKind::Identifier => {
                Some(self.identifier()?.name)
            }
            None => None,
        };
        Ok(SelectItem {
            expr,
            alias,
            alias_span,
        })
    }

    /// Parses the source of `FROM` and those of all `JOIN` clauses.
    fn sources(&mut self) -> Result<(Vec<FromSource>, Vec<Span>)> {
        let (mut sources, mut spans) = (Vec::with_capacity(1), Vec::with_capacity(1));
        let mut height = 0;
        loop {
            let (source, span) = self.spanned(Self::source)?;
            sources.push(source);
            spans.push(span);
            height = height.max(self.height);
            if !self.eat_keyword(Keyword::Join) {
                break;
            }
        }
        self.height = height;
        Ok((sources, spans))
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
        let quote = Quote::of(self.peek().text);
        if let Some(key) = self.eat_string() {
            return Ok(PathStep::Key(key, quote));
        }
        let index = match self.peek().kind {
            TokenKind::Number => self.peek().text.parse().map_err(|_| self.unexpected())?,
            _ => return self.refuse(),
        };
        self.advance();
        Ok(PathStep::Index(index))
    }

    /// Parses the keys of `GROUP BY`.
    fn group_by(&mut self) -> Result<(Vec<Expr>, Vec<Span>)> {
        self.expect_keyword(Keyword::By)?;
        let keys = self.list(|parser| parser.spanned(Self::element))?;
        Ok(keys.into_iter().unzip())
    }

    /// Parses the items of `ORDER BY` or of `ORDER BY RANK`.
    fn order_by(&mut self) -> Result<OrderBy> {
        self.expect_keyword(Keyword::By)?;
        // `RANK` can also be a column name. Only the name of a function behind it makes it the
        // ranking clause.
        let rank = self.at_word("RANK")
            && matches!(
                self.peek_at(1).kind,
                TokenKind::Identifier
                    | TokenKind::Keyword(Keyword::Left | Keyword::Right | Keyword::Udf)
            );
        if rank {
            self.advance();
            return Ok(OrderBy::Rank(self.rank_item()?));
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

    /// Parses the only item of `ORDER BY RANK`, which must be a call.
    fn rank_item(&mut self) -> Result<OrderItem> {
        let is_udf = self.eat_keyword(Keyword::Udf);
        if is_udf {
            self.expect(Symbol::Dot)?;
        }
        let expr = *self.call(is_udf)?;
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
        let offset = self.row_count(&SyntaxErrorKind::OffsetCount)?;
        self.expect_keyword(Keyword::Limit)?;
        let limit = self.row_count(&SyntaxErrorKind::LimitCount)?;
        self.height = 0;
        Ok(OffsetLimit { offset, limit })
    }

    /// Parses the count of `TOP`: a parameter, or a number of any form with an integer value.
    fn top_count(&mut self) -> Result<RowCount> {
        self.count(&SyntaxErrorKind::TopCount, |text| {
            number::value(text, false)?.as_i64()
        })
    }

    /// Parses the count of `OFFSET` or `LIMIT`: a parameter, or digits.
    fn row_count(&mut self, refusal: &SyntaxErrorKind) -> Result<RowCount> {
        let token = self.peek();
        if token.kind == TokenKind::Number && !token.text.bytes().all(|byte| byte.is_ascii_digit())
        {
            return self.refuse();
        }
        self.count(refusal, |text| text.parse().ok())
    }

    /// Parses a row count of 32 bits.
    fn count(
        &mut self,
        refusal: &SyntaxErrorKind,
        value: fn(&str) -> Option<i64>,
    ) -> Result<RowCount> {
        let token = self.peek();
        match token.kind {
            TokenKind::Parameter => Ok(RowCount::Parameter(self.take_name())),
            TokenKind::Number => {
                let count = value(token.text)
                    .and_then(|count| u32::try_from(count).ok())
                    .ok_or_else(|| {
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
