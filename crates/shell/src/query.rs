//! A query of items, and its pages.
//!
//! The server is asked for the whole container at once. Some endpoints hand that back with 400 and the
//! sub-status 1004: then each physical partition is asked in turn, which gives the same rows as long as
//! nothing has to be merged. What needs a merge is refused here with the clause that does.

use std::collections::VecDeque;

use hyper::Method;
use orrery_json::Value;
use orrery_sql::ast::{Expr, Projection};

use crate::client::{Client, Request};
use crate::error::Error;
use crate::explain::Plan;
use crate::functions::AGGREGATES;
use crate::key_values::KeyValues;

const BAD_REQUEST: u16 = 400;
const CROSS_PARTITION_NOT_SERVABLE: u32 = 1004;

#[derive(Debug, Clone)]
pub struct Query {
    pub database: String,
    pub container: String,
    pub text: String,
    /// Names with their `@`.
    pub parameters: Vec<(String, Value)>,
    /// All partitions without it.
    pub key: Option<KeyValues>,
    pub page_items: Option<i32>,
    pub explain: bool,
}

#[derive(Debug)]
pub struct Page {
    pub rows: Vec<Value>,
    pub charge: f64,
    /// When it was asked for and the server knows what is meant.
    pub plan: Option<Plan>,
}

pub struct Pages {
    query: Query,
    body: String,
    place: Place,
    continuation: Option<String>,
    ended: bool,
}

/// Whom the next page is asked of.
enum Place {
    /// The server, which finds the partitions.
    Anywhere,
    /// Physical partitions by their ids, the first of which is being read.
    Ranges(VecDeque<String>),
}

impl Query {
    pub fn pages(self) -> Pages {
        Pages {
            body: self.body().to_string(),
            query: self,
            place: Place::Anywhere,
            continuation: None,
            ended: false,
        }
    }

    pub(crate) fn body(&self) -> Value {
        let object = |entries: Vec<(&str, Value)>| {
            let entries = entries.into_iter();
            let entries = entries.map(|(name, value)| (name.to_owned(), value));
            Value::Object(entries.collect())
        };
        let parameters = self.parameters.iter().map(|(name, value)| {
            object(vec![
                ("name", Value::from(name.as_str())),
                ("value", value.clone()),
            ])
        });
        object(vec![
            ("query", Value::from(self.text.as_str())),
            ("parameters", Value::Array(parameters.collect())),
        ])
    }

    fn link(&self) -> String {
        format!("dbs/{}/colls/{}", self.database, self.container)
    }
}

impl Pages {
    pub fn has_more(&self) -> bool {
        !self.ended
    }

    pub async fn next(&mut self, client: &mut Client) -> Result<Option<Page>, Error> {
        if self.ended {
            return Ok(None);
        }
        let answer = match client.send(&self.request()).await {
            Err(error) if self.must_fan_out(&error) => {
                self.fan_out(client, error).await?;
                client.send(&self.request()).await?
            }
            answer => answer?,
        };
        self.continuation = answer.text("x-ms-continuation").map(str::to_owned);
        if self.continuation.is_none() {
            match &mut self.place {
                Place::Anywhere => self.ended = true,
                Place::Ranges(ranges) => {
                    ranges.pop_front();
                    self.ended = ranges.is_empty();
                }
            }
        }
        let body = answer.json()?;
        let rows = body.get("Documents").as_array();
        let rows = rows.ok_or_else(|| Error::Answer("there are no rows in it".to_owned()))?;
        let plan = answer.text("x-orrery-query-plan").map(Plan::read);
        Ok(Some(Page {
            rows: rows.to_vec(),
            charge: answer.charge(),
            plan: plan.transpose()?,
        }))
    }

    fn request(&self) -> Request {
        let query = &self.query;
        let mut request =
            Request::feed(Method::POST, "docs", &query.link()).query(self.body.clone());
        if query.explain {
            request = request.header("x-orrery-explain", "true");
        }
        request = match (&query.key, &self.place) {
            (Some(key), _) => request.header("x-ms-documentdb-partitionkey", key.to_string()),
            (None, place) => {
                let request = request.header("x-ms-documentdb-query-enablecrosspartition", "True");
                match place {
                    Place::Ranges(ranges) if !ranges.is_empty() => {
                        request.header("x-ms-documentdb-partitionkeyrangeid", ranges[0].clone())
                    }
                    _ => request,
                }
            }
        };
        if let Some(count) = query.page_items {
            request = request.header("x-ms-max-item-count", count.to_string());
        }
        match &self.continuation {
            Some(token) => request.header("x-ms-continuation", token.clone()),
            None => request,
        }
    }

    fn must_fan_out(&self, error: &Error) -> bool {
        let refusal = error.refusal();
        self.query.key.is_none()
            && matches!(self.place, Place::Anywhere)
            && refusal.is_some_and(|refusal| {
                (refusal.status, refusal.sub_status) == (BAD_REQUEST, CROSS_PARTITION_NOT_SERVABLE)
            })
    }

    async fn fan_out(&mut self, client: &mut Client, refused: Error) -> Result<(), Error> {
        if let Error::Refused(source) = refused
            && let Some(clause) = merging_clause(&self.query.text)
        {
            return Err(Error::NeedsPlan { clause, source });
        }
        let ranges = crate::account::ranges(client, &self.query.link()).await?;
        self.place = Place::Ranges(ranges.into_iter().map(|range| range.id).collect());
        Ok(())
    }
}

/// What of a query has to be merged over partitions. A text we cannot read is left to the server.
fn merging_clause(text: &str) -> Option<&'static str> {
    let query = orrery_sql::parse(text).ok()?;
    let expressions: Vec<&Expr> = match &query.select.projection {
        Projection::Star(_) => Vec::new(),
        Projection::Value(expr) => vec![expr],
        Projection::Items(items) => items.iter().map(|item| &item.expr).collect(),
    };
    if query.order_by.is_some() {
        Some("ORDER BY")
    } else if !query.group_by.is_empty() {
        Some("GROUP BY")
    } else if query.select.distinct {
        Some("DISTINCT")
    } else if query.select.top.is_some() {
        Some("TOP")
    } else if query.offset_limit.is_some() {
        Some("OFFSET")
    } else if expressions.into_iter().any(is_aggregate) {
        Some("an aggregate")
    } else {
        None
    }
}

/// Whether an aggregate stands in the projection, under arithmetic or in an object as well.
fn is_aggregate(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => {
            let name = call.name.name.to_ascii_uppercase();
            !call.udf && AGGREGATES.contains(&name.as_str())
                || call.arguments.iter().any(is_aggregate)
        }
        Expr::Object(properties) => properties
            .iter()
            .any(|property| is_aggregate(&property.value)),
        Expr::Array(elements) => elements.iter().any(is_aggregate),
        Expr::Binary { left, right, .. } => is_aggregate(left) || is_aggregate(right),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_to_be_merged() {
        for (text, expected) in [
            ("SELECT * FROM c WHERE c.a = 1", None),
            ("SELECT VALUE UPPER(c.a) FROM c", None),
            ("SELECT * FROM c ORDER BY c.a", Some("ORDER BY")),
            ("SELECT c.a FROM c GROUP BY c.a", Some("GROUP BY")),
            ("SELECT DISTINCT c.a FROM c", Some("DISTINCT")),
            ("SELECT TOP 1 * FROM c", Some("TOP")),
            ("SELECT * FROM c OFFSET 1 LIMIT 1", Some("OFFSET")),
            ("SELECT VALUE count(1) FROM c", Some("an aggregate")),
            ("SELECT {n: 1 + SUM(c.a)} FROM c", Some("an aggregate")),
            ("SELEKT", None),
        ] {
            assert_eq!(merging_clause(text), expected, "{text}");
        }
    }

    #[test]
    fn the_body_has_text_and_parameters() {
        let query = Query {
            database: "d".to_owned(),
            container: "c".to_owned(),
            text: "SELECT \"a\"".to_owned(),
            parameters: vec![("@a".to_owned(), Value::from(1))],
            key: None,
            page_items: None,
            explain: false,
        };
        assert_eq!(
            query.pages().body,
            r#"{"query":"SELECT \"a\"","parameters":[{"name":"@a","value":1}]}"#
        );
    }
}
