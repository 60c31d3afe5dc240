//! Decides from a history whether keys had one owner, nothing was lost, and everything came to rest.
//!
//! Owners are found here by reading the account stream anew for each key, not by what the regions made of it.

use std::collections::BTreeMap;

use orrery_regions::{RegionId, Sequence, StreamId};

use super::history::{Broken, Fault, Given, History, Stance, Write};
use super::plan::{KEYS, Key, SETTINGS, STEADY_MS, has};

pub(super) type Verdict = Result<(), String>;

/// How long a returned region waits at most for the moves that it missed.
const RETURN_MS: u64 = 3_000;
/// A region counts as silent only if something was broken for at least this part of the silence
/// time: messages are late, and messages from before the fault still arrive.
const BROKEN_MS_MIN: u64 = 1_800;
/// The limit for the time that a key which is up lacks an owner, in a world without faults.
const GAP_MS_MAX: u64 = 5_000;
/// The same after a repair: the regions may first have to elect a write region.
const MENDED_GAP_MS_MAX: u64 = 10_000;

/// After the last fault, the time within which short repairs are complete.
const SETTLES_MS: u64 = 1_000;

/// The owner of a key after a record of the account stream, the record that made it the owner, and
/// whether an automatic move made it so.
struct Owner {
    region: RegionId,
    since: Sequence,
    is_away: bool,
}

fn owner(history: &History, key: Key, upto: Sequence) -> Option<Owner> {
    let mut default = None;
    let mut moved = None;
    for (sequence, given) in history.account.range(..=upto) {
        match given {
            Given::Everything(region) => default = Some((*region, *sequence)),
            Given::Range(range) if has(&range.keys, key) => moved = Some((range, *sequence)),
            Given::Range(_) | Given::Nothing => {}
        }
    }
    let (default, begun) = default?;
    let (region, since, is_automatic) = match moved {
        None => (default, begun, false),
        Some((range, since)) => match range.owner {
            Some(region) => (region, since, range.is_automatic),
            None => (default, since.max(begun), range.is_automatic),
        },
    };
    Some(Owner {
        region,
        since,
        is_away: is_automatic && region != default,
    })
}

/// Whether a region may skip the wait for another one, because a fault kept the other's messages
/// away for long enough before a moment. Faults of the waiting region itself do not count.
fn is_excused(history: &History, silent: RegionId, by: RegionId, at: u64) -> bool {
    let (region, link) = (Broken::Region(silent), Broken::Link(silent, by));
    let from = at.saturating_sub(SETTINGS.silence_ms + 600);
    let faults = history.faults.iter();
    let faults = faults.filter(|fault| fault.what == region || fault.what == link);
    let mut times: Vec<(u64, u64)> = faults
        .map(|fault| (fault.begins.max(from), fault.ends.unwrap_or(at).min(at)))
        .filter(|(begins, ends)| begins < ends)
        .collect();
    times.sort_unstable();
    let (mut broken, mut upto) = (0, from);
    for (begins, ends) in times {
        broken += ends.saturating_sub(begins.max(upto));
        upto = upto.max(ends);
    }
    broken >= BROKEN_MS_MIN
}

/// The open owners of each key, and since when each is open.
#[derive(Default)]
struct Opened {
    open: BTreeMap<(RegionId, Key), Sequence>,
    tenures: BTreeMap<(RegionId, Key), Tenure>,
}

/// A region that has opened keys continues with them after they were down or after its own absence,
/// as long as it has not restarted: it does not wait again for earlier owners.
struct Tenure {
    since: Sequence,
    life: u64,
    at: u64,
}

impl Opened {
    /// Applies a stance; returns the keys that opened.
    fn note(&mut self, history: &History, stance: &Stance) -> Vec<Key> {
        let mut opened = Vec::new();
        for key in 0..KEYS {
            let entry = (stance.region, key);
            if !stance.open[key] {
                self.open.remove(&entry);
                continue;
            }
            if self.open.insert(entry, stance.follows).is_none() {
                opened.push(key);
            }
            let since = owner(history, key, stance.follows).map(|owner| owner.since);
            let (since, life) = (since.unwrap_or_default(), stance.life);
            let known = self.tenures.get(&entry);
            if known.is_none_or(|known| (known.since, known.life) != (since, life)) {
                let at = stance.at;
                self.tenures.insert(entry, Tenure { since, life, at });
            }
        }
        opened
    }

    /// The open owners of a key, each with its opening time and the last record that it follows.
    fn of(&self, key: Key) -> impl Iterator<Item = (RegionId, u64, Sequence)> {
        let open = self.open.iter();
        let open = open.filter(move |((_, other), _)| *other == key);
        open.map(move |((region, _), follows)| (*region, self.since(*region, key), *follows))
    }

    fn since(&self, region: RegionId, key: Key) -> u64 {
        self.tenures[&(region, key)].at
    }
}

/// Each key has one open owner: two only if the newer owner could not receive messages of the older
/// one.
pub(super) fn one_owner(history: &History) -> Verdict {
    let mut opened = Opened::default();
    for stance in &history.stances {
        opened.note(history, stance);
        for key in (0..KEYS).filter(|key| stance.open[*key]) {
            let owner = owner(history, key, stance.follows);
            if owner.map(|owner| owner.region) != Some(stance.region) {
                return Err(format!(
                    "OneOwner: {} takes key {key} at {} and does not own it as of record {}",
                    stance.region, stance.at, stance.follows
                ));
            }
            let mut all: Vec<_> = opened.of(key).collect();
            all.sort_by_key(|(_, _, follows)| *follows);
            for pair in all.windows(2) {
                let ((older, _, _), (newer, since, follows)) = (pair[0], pair[1]);
                if !is_excused(history, older, newer, since) {
                    return Err(format!(
                        "OneOwner: at {} key {key} is taken by {older}, and by {newer} since {since} (record {follows})",
                        stance.at
                    ));
                }
            }
        }
    }
    Ok(())
}

/// A region that takes a write has all earlier writes of the key, except those of regions whose
/// messages a fault kept away.
pub(super) fn in_order(history: &History) -> Verdict {
    let mut opened = Opened::default();
    let mut noted = 0;
    let mut before: Vec<(&Write, u64)> = Vec::new();
    for write in &history.writes {
        for stance in &history.stances[noted..write.stances] {
            opened.note(history, stance);
        }
        noted = write.stances;
        let since = opened.since(write.region, write.key);
        for (earlier, earlier_since) in &before {
            let stream = StreamId::Region(earlier.region);
            let has = write.deps.includes(stream, earlier.sequence);
            if earlier.key == write.key
                && !has
                && !is_excused(history, earlier.region, write.region, since)
                && !is_excused(history, write.region, earlier.region, *earlier_since)
            {
                return Err(format!(
                    "InOrder: {} takes write {} of key {} at {}, open since {since}, without write {} of {} at {}",
                    write.region,
                    write.number,
                    write.key,
                    write.at,
                    earlier.number,
                    earlier.region,
                    earlier.at
                ));
            }
        }
        before.push((write, since));
    }
    Ok(())
}

/// A returned region that opens before its timeout knows of all moves by which other regions had
/// opened.
pub(super) fn knows_what_it_missed(history: &History) -> Verdict {
    let mut opened = Opened::default();
    let mut returned: BTreeMap<(RegionId, Key), (u64, Sequence)> = BTreeMap::new();
    let mut returns = history.returns.iter().peekable();
    for stance in &history.stances {
        while let Some((at, region)) = returns.next_if(|(at, _)| *at <= stance.at) {
            for key in 0..KEYS {
                let others = opened.of(key).filter(|(other, _, _)| other != region);
                let newest = others.filter_map(|(_, _, follows)| owner(history, key, follows));
                let newest = newest.map(|owner| owner.since).max().unwrap_or_default();
                returned.insert((*region, key), (*at, newest));
            }
        }
        for key in opened.note(history, stance) {
            let (back, newest) = returned[&(stance.region, key)];
            if stance.at < back + RETURN_MS && stance.follows < newest {
                return Err(format!(
                    "Returns: {} is back since {back} and takes key {key} at {}, without record {newest}",
                    stance.region, stance.at
                ));
            }
        }
    }
    Ok(())
}

/// Every region has every acknowledged write.
pub(super) fn kept(history: &History) -> Verdict {
    for (region, end) in &history.ends {
        for write in &history.writes {
            if !end.numbers.contains(&write.number) {
                return Err(format!(
                    "Kept: {region} does not have write {} of {}",
                    write.number, write.region
                ));
            }
        }
    }
    Ok(())
}

/// At rest each key is open in its owner alone, all regions follow the same records, and keys that
/// moved because they were down have moved back.
pub(super) fn at_rest(history: &History) -> Verdict {
    let last = history.account.keys().next_back().copied();
    let last = last.unwrap_or_default();
    for (region, end) in &history.ends {
        if end.follows != last {
            return Err(format!(
                "AtRest: {region} follows record {}, not {last}",
                end.follows
            ));
        }
    }
    for key in 0..KEYS {
        let owner = owner(history, key, last);
        let owner = owner.ok_or_else(|| "AtRest: nobody owns anything".to_owned())?;
        let open = history.ends.iter().filter(|(_, end)| end.open[key]);
        let open: Vec<RegionId> = open.map(|(region, _)| *region).collect();
        if open != [owner.region] {
            return Err(format!(
                "AtRest: key {key} is taken by {open:?}, owned by {}",
                owner.region
            ));
        }
        if owner.is_away {
            return Err(format!(
                "AtRest: key {key} is up and still at {}",
                owner.region
            ));
        }
    }
    Ok(())
}

/// In a world without faults no key is without an open owner for long, and the same holds where a
/// majority has been healthy for long.
pub(super) fn served(history: &History) -> Verdict {
    let mut opened = Opened::default();
    let gap_ms_max = match history.faults[..] {
        [] => GAP_MS_MAX,
        _ => MENDED_GAP_MS_MAX,
    };
    let mut closed: [Option<u64>; KEYS] = [None; KEYS];
    let mut stances = history.stances.iter().peekable();
    while let Some(stance) = stances.next() {
        opened.note(history, stance);
        if stances.peek().is_some_and(|next| next.at == stance.at) {
            continue;
        }
        for (key, closed) in closed.iter_mut().enumerate() {
            let is_open = opened.of(key).next().is_some();
            let since = closed.get_or_insert(stance.at);
            let disturbed = disturbed_until(history, key, *since, stance.at);
            if stance.at.saturating_sub(disturbed) > gap_ms_max {
                return Err(format!(
                    "Served: key {key} was taken by nobody from {since} to {}, undisturbed since {disturbed}",
                    stance.at
                ));
            }
            if is_open {
                *closed = None;
            }
        }
    }
    served_by_a_majority(history)
}

/// The last time between two times at which a fault was active or the key was down.
fn disturbed_until(history: &History, key: Key, since: u64, at: u64) -> u64 {
    let downs = history.downs.iter();
    let downs = downs.filter(|(other, _, _)| *other == key);
    let downs = downs.map(|(_, begins, ends)| (*begins, *ends));
    let faults = history.faults.iter();
    let faults = faults.map(|fault| (fault.begins, fault.ends));
    let times = faults.chain(downs).filter(|(begins, _)| *begins <= at);
    let last = times.map(|(_, ends)| ends.unwrap_or(at).min(at)).max();
    last.unwrap_or(0).max(since)
}

fn served_by_a_majority(history: &History) -> Verdict {
    let Some(steady) = &history.steady else {
        return Ok(());
    };
    let begun = steady.at - STEADY_MS + SETTLES_MS;
    let lasts = |fault: &&Fault| fault.ends.is_none_or(|ends| ends > begun);
    let lasting: Vec<&Fault> = history.faults.iter().filter(lasts).collect();
    let is_mended = |fault: &&Fault| fault.ends.is_some_and(|ends| ends < steady.at);
    if lasting.iter().any(is_mended) {
        return Ok(());
    }
    let lasting: Vec<Broken> = lasting.iter().map(|fault| fault.what).collect();
    let is_gone = |region: RegionId| lasting.contains(&Broken::Region(region));
    let is_whole = |region: &RegionId| {
        let is_cut = |what: &Broken| match what {
            Broken::Link(from, to) => {
                (from == region && !is_gone(*to)) || (to == region && !is_gone(*from))
            }
            Broken::Region(gone) => gone == region,
        };
        !lasting.iter().any(is_cut)
    };
    let whole: Vec<RegionId> = history.regions.iter().copied().filter(is_whole).collect();
    let needed = history.regions.len() / 2 + 1;
    if whole.len() < needed {
        return Ok(());
    }
    let mut opened = Opened::default();
    for stance in history
        .stances
        .iter()
        .take_while(|stance| stance.at < steady.at)
    {
        opened.note(history, stance);
    }
    for key in 0..KEYS {
        let is_down = |region: &RegionId| steady.down.contains(&(*region, key));
        // An owner whose keys are down and that cannot receive the move blocks the new owner as
        // long as its own messages arrive.
        let is_deaf = |region: &RegionId| is_down(region) && !whole.contains(region);
        if whole.iter().all(is_down) || history.regions.iter().any(is_deaf) {
            continue;
        }
        if opened.of(key).next().is_none() {
            return Err(format!(
                "Served: {whole:?} are whole, and nobody takes key {key} at {}",
                steady.at
            ));
        }
    }
    Ok(())
}
