//! Pages of the change feed, over any part of a container.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use orrery_keys::{Epk, EpkRange};
use orrery_memory::{Exhausted, Loan};
use orrery_model::{Answer, Charge, Failure, Lsn, Stamp, limits};
use orrery_partition::{
    ChangeMode, ChangeReader, Container, ItemChange, Partition, ScanRange, Visit,
};
use orrery_regions::RegionId;
use tokio::task::spawn_blocking;

use crate::engine::stopping;
use crate::feed::scan_range;
use crate::{Engine, Scope, Terms, out_of_memory};

#[derive(Debug, Clone)]
pub struct ChangesRequest {
    pub scope: Scope,
    pub mode: ChangeMode,
    pub start: ChangesStart,
    /// Shows only what is later than this second.
    pub since_seconds: Option<u64>,
    pub items_max: usize,
    pub terms: Terms,
}

/// Where a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangesStart {
    Beginning,
    Now,
    /// Where an earlier page ended.
    After(String),
}

#[derive(Debug)]
pub struct ChangesPage {
    pub changes: Vec<ItemChange>,
    /// Where the next page begins.
    pub position: String,
    /// Every physical partition the page may have come from.
    pub stamps: Vec<Stamp>,
    /// For the changes.
    pub loan: Loan,
}

impl Engine {
    /// One page. It ends at its item count or at 4 MB, but never between changes that were made
    /// together.
    pub async fn changes(
        self: &Arc<Self>,
        container: &Arc<Container>,
        request: ChangesRequest,
    ) -> Answer<ChangesPage> {
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        let page = spawn_blocking(move || engine.changes_page(&container, &request)).await;
        page.unwrap_or_else(|_| Answer::refused(stopping()))
    }

    /// A position of all partitions, as [`ChangesPage::position`] has it.
    pub fn change_position(&self, lsn: Lsn) -> String {
        in_order(self.order().as_deref(), lsn.to_string())
    }

    /// Names the order of changes here: that of the region, and of the state that it was copied from.
    /// None where there is only one.
    fn order(&self) -> Option<String> {
        let RegionId(region) = self.region()?;
        Some(match self.copied_from() {
            None => region.to_string(),
            Some((RegionId(source), position)) => format!("{region}.{source}.{position}"),
        })
    }

    fn changes_page(
        &self,
        container: &Arc<Container>,
        request: &ChangesRequest,
    ) -> Answer<ChangesPage> {
        let Terms {
            level, metering, ..
        } = request.terms;
        self.metered_page(container, &request.scope, metering, |partitions| match self
            .read_changes(container, partitions, request)
        {
            Ok(page) => {
                let bytes = page.changes.iter().map(text_bytes);
                Answer {
                    charge: Charge::feed_page(bytes, level.read_factor()),
                    stamp: page.stamps.first().copied(),
                    result: Ok(page),
                }
            }
            Err(failure) => Answer::refused(failure),
        })
    }

    fn read_changes(
        &self,
        container: &Arc<Container>,
        partitions: &[Arc<Partition>],
        request: &ChangesRequest,
    ) -> Result<ChangesPage, Failure> {
        if request.mode == ChangeMode::All {
            check_all_versions(container, request)?;
        }
        let (_, epk) = scan_range(container, &request.scope)?;
        let known = match &request.start {
            ChangesStart::After(position) => {
                Positions::parse_in(self.order().as_deref(), position)?
            }
            _ => Positions::One(Lsn(0)),
        };
        let reader = self.store.changes(container);
        let mut page = Page {
            request,
            changes: Vec::new(),
            bytes: 0,
            is_full: false,
            loan: request.terms.share.loan(),
            refused: None,
        };
        let mut reached = Vec::with_capacity(partitions.len());
        let mut stamps = Vec::with_capacity(partitions.len());
        for partition in partitions {
            let Some(part) = partition.range.intersect(&epk) else {
                continue;
            };
            for (part, after) in known.within(&part) {
                let start = start_of(&reader, partition, request, after)?;
                let lsn = if page.is_full || request.start == ChangesStart::Now {
                    start
                } else {
                    page.read(&reader, container, partition, &part, start)?
                };
                if let Some(refused) = page.refused {
                    return Err(out_of_memory(refused));
                }
                reached.push((part, lsn));
            }
            stamps.push(Stamp {
                range: partition.id,
                lsn: reader.lsn(partition)?,
            });
        }
        Ok(ChangesPage {
            changes: page.changes,
            position: in_order(self.order().as_deref(), write_positions(reached)),
            stamps,
            loan: page.loan,
        })
    }
}

/// Every change is kept only where that was asked for, and shown only from when somebody looks.
fn check_all_versions(container: &Container, request: &ChangesRequest) -> Result<(), Failure> {
    if !container.keeps_history() {
        return Err(Failure::bad_request(
            "The change feed of all versions and deletes needs a container with a retention: set \
             changeFeedPolicy.retentionDuration (minutes) in its definition.",
        ));
    }
    if request.since_seconds.is_some() || request.start == ChangesStart::Beginning {
        return Err(Failure::bad_request(
            "The change feed of all versions and deletes can be read from now or from a continuation, not from the \
             beginning or from a time.",
        ));
    }
    Ok(())
}

/// Where a partition is read from.
fn start_of(
    reader: &ChangeReader,
    partition: &Partition,
    request: &ChangesRequest,
    after: Lsn,
) -> Result<Lsn, Failure> {
    let now = || reader.lsn(partition);
    let start = match (&request.start, request.since_seconds) {
        (ChangesStart::Now, _) => now()?,
        (ChangesStart::After(_), _) => after.min(now()?),
        (ChangesStart::Beginning, Some(seconds)) => {
            let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
            reader.position_at(partition, seconds)?
        }
        (ChangesStart::Beginning, None) => Lsn(0),
    };
    if request.mode == ChangeMode::All && start < reader.forgotten(partition)? {
        return Err(Failure::bad_request(
            "The continuation is older than what is kept. You must read the change feed from within the retention \
             period.",
        ));
    }
    Ok(start)
}

struct Page<'r> {
    request: &'r ChangesRequest,
    changes: Vec<ItemChange>,
    bytes: usize,
    is_full: bool,
    loan: Loan,
    /// There is no memory for changes that belong to this page.
    refused: Option<Exhausted>,
}

impl Page<'_> {
    /// Takes what fits of the changes of one partition; gives how far it came.
    fn read(
        &mut self,
        reader: &ChangeReader,
        container: &Arc<Container>,
        partition: &Partition,
        part: &EpkRange,
        after: Lsn,
    ) -> Result<Lsn, Failure> {
        let request = self.request;
        let since = request.since_seconds.unwrap_or(0);
        let mut last = None;
        let mut visit = |change: ItemChange| {
            if u64::from(change.seconds) <= since && request.since_seconds.is_some() {
                return Visit::Taken;
            }
            let bytes = text_bytes(&change);
            let is_full = self.changes.len() >= request.items_max
                || (self.bytes + bytes > limits::RESPONSE_PAGE_BYTES_MAX && self.bytes > 0);
            if is_full && last != Some(change.lsn) {
                self.is_full = true;
                return Visit::Full;
            }
            let held = [&change.current, &change.previous].into_iter().flatten();
            if let Err(refused) = self.loan.grow(held.map(Bytes::len).sum()) {
                // A page without memory for more is full, unless it would end among changes that were made together.
                let may_end = !self.changes.is_empty() && last != Some(change.lsn);
                self.is_full = true;
                self.refused = (!may_end).then_some(refused);
                return Visit::Full;
            }
            last = Some(change.lsn);
            self.bytes += bytes;
            self.changes.push(change);
            Visit::Taken
        };
        if let (Scope::Key(key), ChangeMode::Latest) = (&request.scope, request.mode)
            && container.definition.key().check_complete(key).is_ok()
        {
            let logical = container.logical_partition(key);
            return reader.changes_of_key(partition, &logical, after, &mut visit);
        }
        let scope = match &request.scope {
            Scope::Key(key) if container.definition.key().check_complete(key).is_ok() => {
                ScanRange::of_logical_partition(&container.logical_partition(key))
            }
            _ => ScanRange::of_epk_range(container, part),
        };
        reader.changes(request.mode, partition, &scope, after, &mut visit)
    }
}

fn text_bytes(change: &ItemChange) -> usize {
    let text = change.current.as_ref().or(change.previous.as_ref());
    text.map_or(0, Bytes::len)
}

/// Positions in the feed: one for all, or for parts of the key space. Parts stay good whatever
/// becomes of the partitions.
///
/// Where every region writes, each has changes in an order of its own, and a position names it.
/// Another region, or the same one with the state of another, cannot tell which of its changes were
/// seen in that order, so it begins anew: a reader that moves sees changes twice and misses none.
#[derive(Debug, PartialEq, Eq)]
enum Positions {
    One(Lsn),
    /// In order; what is between them was not yet read.
    Parts(Vec<(EpkRange, Lsn)>),
}

impl Positions {
    /// A position as it is here.
    fn parse_in(here: Option<&str>, text: &str) -> Result<Positions, Failure> {
        let Some(here) = here else {
            return Positions::parse(text);
        };
        let (order, position) = text
            .trim_matches('"')
            .split_once(ORDER_END)
            .ok_or_else(not_a_position)?;
        let mut parts = order.split('.');
        if !parts.all(|part| part.parse::<u64>().is_ok()) {
            return Err(not_a_position());
        }
        let positions = Positions::parse(position)?;
        if order == here {
            Ok(positions)
        } else {
            Ok(Positions::One(Lsn(0)))
        }
    }

    fn parse(text: &str) -> Result<Positions, Failure> {
        let read = || -> Option<Positions> {
            let text = text.trim_matches('"');
            if let Ok(one) = text.parse() {
                return Some(Positions::One(Lsn(one)));
            }
            let parts = text.split(',').map(|part| {
                let (range, lsn) = part.split_once(':')?;
                let (min, max) = range.split_once('-')?;
                let range = EpkRange::new(Epk::from_hex(min).ok()?, Epk::from_hex(max).ok()?);
                Some((range, Lsn(lsn.parse().ok()?)))
            });
            let parts: Vec<_> = parts.collect::<Option<_>>()?;
            let in_order = parts.windows(2).all(|two| two[0].0.max <= two[1].0.min);
            in_order.then_some(Positions::Parts(parts))
        };
        read().ok_or_else(not_a_position)
    }

    /// The parts of a range, each with its position.
    fn within(&self, range: &EpkRange) -> Vec<(EpkRange, Lsn)> {
        let parts = match self {
            Positions::One(lsn) => return vec![(range.clone(), *lsn)],
            Positions::Parts(parts) => parts,
        };
        let mut found = Vec::new();
        let mut covered = range.min.clone();
        let mut add = |min: &Epk, max: &Epk, lsn| {
            let part = EpkRange::new(min.clone(), max.clone());
            if !part.is_empty() {
                found.push((part, lsn));
            }
        };
        for (part, lsn) in parts {
            if let Some(both) = part.intersect(range) {
                add(&covered, &both.min, Lsn(0));
                add(&both.min, &both.max, *lsn);
                covered = both.max;
            }
        }
        add(&covered, &range.max, Lsn(0));
        found
    }
}

/// Stands between an order and a position in it: `1@12`.
const ORDER_END: char = '@';

fn in_order(order: Option<&str>, position: String) -> String {
    match order {
        Some(order) => format!("{order}{ORDER_END}{position}"),
        None => position,
    }
}

fn not_a_position() -> Failure {
    Failure::bad_request(
        "The If-None-Match header is not a continuation of the change feed. Send the etag of an earlier \
         answer as it was, or leave it out to begin anew.",
    )
}

/// `12` for one part, `-1F:12,1F-FF:7` for several. Neighbours with one position are one part.
fn write_positions(reached: Vec<(EpkRange, Lsn)>) -> String {
    let mut parts: Vec<(EpkRange, Lsn)> = Vec::new();
    for (range, lsn) in reached {
        match parts.last_mut() {
            Some((before, same)) if *same == lsn && before.max == range.min => {
                before.max = range.max;
            }
            _ => parts.push((range, lsn)),
        }
    }
    if let [(_, lsn)] = &parts[..] {
        return lsn.to_string();
    }
    let mut out = String::new();
    for (range, lsn) in parts {
        let comma = if out.is_empty() { "" } else { "," };
        let EpkRange { min, max } = range;
        write!(out, "{comma}{min}-{max}:{lsn}").expect("a string takes any text");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: &str, max: &str) -> EpkRange {
        EpkRange::new(Epk::from_hex(min).unwrap(), Epk::from_hex(max).unwrap())
    }

    #[test]
    fn a_position_of_another_region_is_the_beginning() {
        let here = Some("1");
        for (region, text, expected) in [
            (None, "12", Some(Positions::One(Lsn(12)))),
            (None, "1@12", None),
            (here, "\"1@12\"", Some(Positions::One(Lsn(12)))),
            (
                here,
                "1@10-20:5",
                Some(Positions::Parts(vec![(range("10", "20"), Lsn(5))])),
            ),
            (here, "0@12", Some(Positions::One(Lsn(0)))),
            (here, "0@10-20:5", Some(Positions::One(Lsn(0)))),
            (here, "0@x", None),
            (here, "12", None),
            (here, "x@12", None),
            (here, "1.0.300@12", Some(Positions::One(Lsn(0)))),
            (Some("1.0.300"), "1@12", Some(Positions::One(Lsn(0)))),
            (Some("1.0.300"), "1.0.300@12", Some(Positions::One(Lsn(12)))),
        ] {
            let found = Positions::parse_in(region, text).ok();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(in_order(here, "12".to_owned()), "1@12");
        assert_eq!(in_order(None, "12".to_owned()), "12");
    }

    #[test]
    fn positions_read_back_and_stay_good_for_other_cuts() {
        let one = Positions::parse("\"12\"").unwrap();
        assert_eq!(one.within(&range("", "10")), [(range("", "10"), Lsn(12))]);
        let text = write_positions(vec![
            (range("", "10"), Lsn(5)),
            (range("10", "20"), Lsn(5)),
            (range("20", "FF"), Lsn(7)),
        ]);
        assert_eq!(text, "-20:5,20-FF:7");
        let several = Positions::parse(&text).unwrap();
        for (min, max, expected) in [
            ("", "10", &[("", "10", 5)][..]),
            ("10", "30", &[("10", "20", 5), ("20", "30", 7)]),
            ("30", "FF", &[("30", "FF", 7)]),
        ] {
            let parts = several.within(&range(min, max));
            let expected: Vec<_> = expected
                .iter()
                .map(|(min, max, lsn)| (range(min, max), Lsn(*lsn)))
                .collect();
            assert_eq!(parts, expected);
        }
        let gaps = Positions::parse("10-20:5").unwrap();
        let expected = [
            (range("", "10"), Lsn(0)),
            (range("10", "20"), Lsn(5)),
            (range("20", "FF"), Lsn(0)),
        ];
        assert_eq!(gaps.within(&EpkRange::full()), expected);
        assert_eq!(write_positions(vec![(range("", "FF"), Lsn(9))]), "9");
        for text in ["", "x", "1:", "10-20", "20-30:1,10-20:2", "0;1"] {
            assert!(Positions::parse(text).is_err(), "{text}");
        }
    }
}
