//! The change feed of a container, one position for each physical partition.

use hyper::Method;
use orrery_json::Value;

use crate::account::{self, Range};
use crate::client::{Client, Request};
use crate::error::Error;
use crate::session::Session;

const NOT_MODIFIED: u16 = 304;
const GONE: u16 = 410;

pub(crate) struct Changes {
    link: String,
    positions: Vec<Position>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    range: String,
    /// What `if-none-match` says: nothing for the beginning, `*` for now, else where we are.
    after: Option<String>,
}

impl Changes {
    pub(crate) async fn of(session: &mut Session, from_beginning: bool) -> Result<Changes, Error> {
        let link = session.link()?;
        let ranges = account::ranges(&mut session.client, &link).await?;
        let after = (!from_beginning).then(|| "*".to_owned());
        let positions = ranges.into_iter().map(|range| Position {
            range: range.id,
            after: after.clone(),
        });
        let mut changes = Changes {
            link,
            positions: positions.collect(),
        };
        // "Now" is the moment of the command, not that of the first look.
        if !from_beginning {
            changes.poll(&mut session.client).await?;
        }
        Ok(changes)
    }

    /// What changed since the last time.
    pub(crate) async fn poll(&mut self, client: &mut Client) -> Result<Vec<Value>, Error> {
        let mut items = Vec::new();
        let mut index = 0;
        while index < self.positions.len() {
            match self.page(client, index).await {
                Ok(Some(page)) => items.extend(page),
                Ok(None) => index += 1,
                Err(error)
                    if error
                        .refusal()
                        .is_some_and(|refusal| refusal.status == GONE) =>
                {
                    let ranges = account::ranges(client, &self.link).await?;
                    self.positions = heirs(&self.positions, &ranges);
                    index = 0;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(items)
    }

    /// The next changes of one partition; nothing when it has no more for now.
    async fn page(
        &mut self,
        client: &mut Client,
        index: usize,
    ) -> Result<Option<Vec<Value>>, Error> {
        let position = &mut self.positions[index];
        let mut request = Request::feed(Method::GET, "docs", &self.link)
            .header("a-im", "Incremental Feed")
            .header(
                "x-ms-documentdb-partitionkeyrangeid",
                position.range.clone(),
            );
        if let Some(after) = &position.after {
            request = request.header("if-none-match", after.clone());
        }
        let answer = client.send(&request).await?;
        if let Some(etag) = answer.text("etag") {
            position.after = Some(etag.to_owned());
        }
        if answer.status == NOT_MODIFIED {
            return Ok(None);
        }
        let body = answer.json()?;
        let items = body.get("Documents").as_array().unwrap_or_default();
        Ok((!items.is_empty()).then(|| items.to_vec()))
    }
}

/// The partitions of now, each going on where the ancestor whose place it took had come to.
fn heirs(positions: &[Position], ranges: &[Range]) -> Vec<Position> {
    let after = |range: &Range| {
        let ancestors = positions.iter().filter(|position| {
            position.range == range.id || range.parents.contains(&position.range)
        });
        let places = ancestors.map(|position| position.after.clone());
        // Positions are numbers in quotes. Of two merged partitions the one that is behind decides: what
        // comes twice is better than what never comes.
        let behind = places.min_by_key(|after| after.clone().map(|text| (text.len(), text)));
        behind.flatten()
    };
    let heirs = ranges.iter().map(|range| Position {
        range: range.id.clone(),
        after: after(range),
    });
    heirs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heirs_go_on_where_their_parent_was() {
        let position = |range: &str, after: &str| Position {
            range: range.to_owned(),
            after: Some(after.to_owned()),
        };
        let range = |id: &str, parents: &[&str]| Range {
            id: id.to_owned(),
            min: String::new(),
            max: String::new(),
            parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
        };
        let found = heirs(
            &[position("0", "5"), position("1", "9"), position("4", "10")],
            &[
                range("0", &[]),
                range("2", &["1"]),
                range("3", &["1"]),
                range("5", &["4", "1"]),
            ],
        );
        assert_eq!(
            found,
            [
                position("0", "5"),
                position("2", "9"),
                position("3", "9"),
                position("5", "9"),
            ]
        );
    }
}
