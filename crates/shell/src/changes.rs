//! The change feed of a container, with one position for each physical partition.

use hyper::Method;
use orrery_client::{Client, Request};
use orrery_json::Value;

use crate::account::{self, PartitionKeyRange};
use crate::error::Error;
use crate::session::ShellSession;

/// The status of a feed page without changes.
const NOT_MODIFIED: u16 = 304;
/// The status of a request to a partition that was split or merged.
const GONE: u16 = 410;

/// The position of one reader in the change feed of a container.
pub(crate) struct ChangeFeed {
    link: String,
    positions: Vec<Position>,
}

/// The position in the feed of one physical partition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    range: String,
    /// The value of `if-none-match`: nothing for the beginning, `*` for now, otherwise the position
    /// reached.
    after: Option<String>,
}

impl ChangeFeed {
    /// Starts at the beginning of the feed, or now.
    pub(crate) async fn of(
        session: &mut ShellSession,
        from_beginning: bool,
    ) -> Result<ChangeFeed, Error> {
        let link = session.link()?;
        let ranges = account::ranges(&mut session.client, &link).await?;
        let after = (!from_beginning).then(|| "*".to_owned());
        // Each physical partition has a feed of its own.
        let positions = ranges.into_iter().map(|range| Position {
            range: range.id,
            after: after.clone(),
        });
        let mut changes = ChangeFeed {
            link,
            positions: positions.collect(),
        };
        // "Now" means the time of the command and not of the first poll, so the first poll runs
        // here.
        if !from_beginning {
            changes.poll(&mut session.client).await?;
        }
        Ok(changes)
    }

    /// The changes since the last poll.
    pub(crate) async fn poll(&mut self, client: &mut Client) -> Result<Vec<Value>, Error> {
        let mut items = Vec::new();
        let mut index = 0;
        while index < self.positions.len() {
            match self.page(client, index).await {
                Ok(Some(page)) => items.extend(page),
                // One partition is read to its end before the next.
                Ok(None) => index += 1,
                Err(error)
                    if error
                        .refusal()
                        .is_some_and(|refusal| refusal.status == GONE) =>
                {
                    // The partition was split or merged; its children continue from its position.
                    let ranges = account::ranges(client, &self.link).await?;
                    self.positions = child_positions(&self.positions, &ranges);
                    // The list of partitions is new. Partitions without changes answer 304 at once.
                    index = 0;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(items)
    }

    /// The next changes of one partition. None if the partition reports no further changes.
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
        // The etag advances even without changes, so that the next request skips what was examined.
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

/// The present partitions. Each continues from the position of its ancestor.
fn child_positions(positions: &[Position], ranges: &[PartitionKeyRange]) -> Vec<Position> {
    let after = |range: &PartitionKeyRange| {
        let ancestors = positions.iter().filter(|position| {
            position.range == range.id || range.parents.contains(&position.range)
        });
        let positions = ancestors.map(|position| position.after.clone());
        // Positions are numbers in quotes. Of two merged partitions the smaller position counts: a
        // change shown twice is better than a change never shown.
        let behind = positions.min_by_key(|after| after.clone().map(|text| (text.len(), text)));
        behind.flatten()
    };
    let children = ranges.iter().map(|range| Position {
        range: range.id.clone(),
        after: after(range),
    });
    children.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_partitions_resume_at_their_parents_position() {
        let position = |range: &str, after: &str| Position {
            range: range.to_owned(),
            after: Some(after.to_owned()),
        };
        let range = |id: &str, parents: &[&str]| PartitionKeyRange {
            id: id.to_owned(),
            min: String::new(),
            max: String::new(),
            parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
        };
        let found = child_positions(
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
