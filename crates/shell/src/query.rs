//! A query of items, and its pages.
//!
//! The shell first sends the query for the whole container. Some endpoints refuse that with status
//! 400 and sub-status 1004. Then the shell queries each physical partition in turn, which gives the
//! same rows as long as nothing needs a merge. A query that needs a merge is refused here, and the
//! error names the clause.

use std::collections::VecDeque;

use hyper::Method;
use orrery_client::{Client, Request};
use orrery_json::Value;
use orrery_sql::ast::{Expr, Projection};

use crate::error::Error;
use crate::explain::Plan;
use crate::functions::AGGREGATES;
use crate::key_values::KeyValues;

const BAD_REQUEST: u16 = 400;
/// The sub-status with which a gateway refuses a query that needs a query plan.
const CROSS_PARTITION_NOT_SERVABLE: u32 = 1004;

/// A query, and how its pages are read.
#[derive(Debug, Clone)]
pub struct Query {
    pub database: String,
    pub container: String,
    pub text: String,
    /// The parameters. Names include the `@`.
    pub parameters: Vec<(String, Value)>,
    /// The partition key. Without it the query covers all partitions.
    pub key: Option<KeyValues>,
    pub page_items: Option<i32>,
    pub explain: bool,
}

/// One page of rows, with its charge.
#[derive(Debug)]
pub struct Page {
    pub rows: Vec<Value>,
    pub charge: f64,
    /// The plan, if the query requested it and the server is Orrery.
    pub plan: Option<Plan>,
}

/// The pages of one query, which are requested one at a time.
pub struct Pages {
    query: Query,
    body: String,
    target: QueryTarget,
    continuation: Option<String>,
    ended: bool,
}

/// The target of the next page.
enum QueryTarget {
    /// The server, which finds the partitions itself.
    Anywhere,
    /// Physical partitions by their ids. The first one is being read.
    Ranges(VecDeque<String>),
}

impl Query {
    /// Begins the query. The first request is sent by `Pages::next`.
    pub fn pages(self) -> Pages {
        Pages {
            body: self.body().to_string(),
            query: self,
            target: QueryTarget::Anywhere,
            continuation: None,
            ended: false,
        }
    }

    /// The body of the request. All pages use the same request body.
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

    /// The link of the container.
    fn link(&self) -> String {
        format!("dbs/{}/colls/{}", self.database, self.container)
    }
}

impl Pages {
    /// Returns whether the server may have more pages.
    pub fn has_more(&self) -> bool {
        !self.ended
    }

    /// The next page, or None after the last one. Pages may be empty.
    pub async fn next(&mut self, client: &mut Client) -> Result<Option<Page>, Error> {
        if self.ended {
            return Ok(None);
        }
        let answer = match client.send(&self.request()).await.map_err(Error::from) {
            Err(error) if self.must_fan_out(&error) => {
                // The refused request had no effect, so it is sent again to the first partition.
                self.fan_out(client, error).await?;
                client.send(&self.request()).await?
            }
            answer => answer?,
        };
        self.continuation = answer.text("x-ms-continuation").map(str::to_owned);
        // The last page of a partition: the next page is of the next partition.
        if self.continuation.is_none() {
            match &mut self.target {
                QueryTarget::Anywhere => self.ended = true,
                QueryTarget::Ranges(ranges) => {
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

    /// The request for the next page.
    fn request(&self) -> Request {
        let query = &self.query;
        let mut request =
            Request::feed(Method::POST, "docs", &query.link()).query(self.body.clone());
        if query.explain {
            request = request.header("x-orrery-explain", "true");
        }
        request = match (&query.key, &self.target) {
            // A query of one key runs on one partition, and the server finds it.
            (Some(key), _) => request.header("x-ms-documentdb-partitionkey", key.to_string()),
            (None, target) => {
                let request = request.header("x-ms-documentdb-query-enablecrosspartition", "True");
                match target {
                    QueryTarget::Ranges(ranges) if !ranges.is_empty() => {
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

    /// Whether the endpoint refused to run the query over all partitions at once.
    fn must_fan_out(&self, error: &Error) -> bool {
        let refusal = error.refusal();
        self.query.key.is_none()
            && matches!(self.target, QueryTarget::Anywhere)
            && refusal.is_some_and(|refusal| {
                (refusal.status, refusal.sub_status) == (BAD_REQUEST, CROSS_PARTITION_NOT_SERVABLE)
            })
    }

    /// Continues partition by partition, unless the rows of the query need a merge.
    async fn fan_out(&mut self, client: &mut Client, refused: Error) -> Result<(), Error> {
        // Without a merge of the partitions such a query would return wrong rows.
        if let Error::Refused(source) = refused
            && let Some(clause) = merging_clause(&self.query.text)
        {
            return Err(Error::NeedsPlan { clause, source });
        }
        let ranges = crate::account::ranges(client, &self.query.link()).await?;
        self.target = QueryTarget::Ranges(ranges.into_iter().map(|range| range.id).collect());
        Ok(())
    }
}

/// The clause of a query that needs a merge over partitions. A text that does not parse is left to
/// the server.
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
    } else if expressions.into_iter().any(has_aggregate) {
        Some("an aggregate")
    } else {
        None
    }
}

/// Whether an expression is or contains an aggregate. An aggregate of a subquery is none: a
/// subquery runs within one document.
fn has_aggregate(expr: &Expr) -> bool {
    is_aggregate(expr) || expr.children().into_iter().any(has_aggregate)
}

fn is_aggregate(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else {
        return false;
    };
    let name = call.name.name.to_ascii_uppercase();
    !call.udf && AGGREGATES.contains(&name.as_str())
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
            ("SELECT VALUE -COUNT(1) FROM c", Some("an aggregate")),
            ("SELECT VALUE COUNT(1) ?? 0 FROM c", Some("an aggregate")),
            ("SELECT COUNT(1) > 0 ? 1 : 2 FROM c", Some("an aggregate")),
            (
                "SELECT VALUE UPPER([MAX(c.a)][0]) FROM c",
                Some("an aggregate"),
            ),
            (
                "SELECT VALUE MIN(c.a) IN (1, 2) FROM c",
                Some("an aggregate"),
            ),
            (
                "SELECT VALUE MIN(c.a) BETWEEN 1 AND 2 FROM c",
                Some("an aggregate"),
            ),
            (
                "SELECT VALUE MAX(c.a) LIKE 'a%' FROM c",
                Some("an aggregate"),
            ),
            (
                "SELECT VALUE COUNT(1) > 1 AND true FROM c",
                Some("an aggregate"),
            ),
            // Such a subquery aggregates within one document.
            (
                "SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.a) FROM c",
                None,
            ),
            ("SELECT VALUE udf.count(c.a) FROM c", None),
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
