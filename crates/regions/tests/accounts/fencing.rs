//! A write region that was replaced without knowing it: the regions that voted for another region
//! keep it from committing and from answering strong reads. Every region that could have voted
//! counts, including the members before a change that few regions have received.

use std::collections::VecDeque;

use orrery_regions::{Force, RegionId, ReplicaMessage};

use crate::account::Account;

/// Whether the replaced write region could acknowledge a write, when the voter restarted and
/// remembers its promise or does not.
fn acknowledges(remembers: bool) -> bool {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    let before = account.regions[2].saved.promised;
    // The second region is cut off from the first, is promoted with the third region's vote, and is
    // then cut off from the third region as well.
    account.cut = vec![(0, 1)];
    let now = account.now;
    account.regions[1]
        .replica
        .promote_by_force(now, &Force::default())
        .unwrap();
    let mut mail = VecDeque::new();
    account.settle(1, &mut mail);
    let (_, _, request) = mail.into_iter().find(|(_, to, _)| *to == 2).unwrap();
    account.regions[2]
        .replica
        .receive(now, RegionId(1), request);
    let mut mail = VecDeque::new();
    account.settle(2, &mut mail);
    let (_, _, vote) = mail.into_iter().find(|(_, to, _)| *to == 1).unwrap();
    account.regions[1].replica.receive(now, RegionId(2), vote);
    assert!(account.regions[1].replica.is_write_region());
    account.cut = vec![(0, 1), (1, 2)];
    let promised = account.regions[2].saved.promised;
    assert!(promised > before);
    account.restart(2, if remembers { promised } else { before });
    let written = account.write(0);
    // Long enough for strong writes not to wait for the second region any more.
    account.pass(2_600);
    account.acknowledges(0, written)
}

#[test]
fn a_vote_outlives_a_restart_or_two_regions_write() {
    assert!(!acknowledges(true));
    assert!(
        acknowledges(false),
        "the test shows nothing if forgetting does no harm"
    );
}

/// A removal that no other region received, then an epoch by force on top of it: both need the
/// members before them. Those members vote, and elect another write region if they do not receive
/// the new epoch.
#[test]
fn an_epoch_does_not_settle_the_change_before_it() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    account.cut_off(0);
    let now = account.now;
    let removal = account.regions[0].replica.remove_region(now, RegionId(2));
    account.keep(0, removal.unwrap());
    account.force(0, &[1]);
    account.talk_once(0);
    assert!(account.writes(0) && account.regions[0].replica.members().majority() == 1);
    let written = account.write(0);
    account.pass(6_000);
    let other = (1..3).find(|region| account.writes(*region)).unwrap();
    let elsewhere = account.write(other);
    account.pass(500);
    assert!(account.acknowledges(other, elsewhere));
    assert!(!account.acknowledges(0, written), "two regions write");
}

/// Regions that were taken offline by force are needed until the removal is committed. If they have
/// promised another epoch meanwhile, they follow only a newer epoch.
#[test]
fn regions_on_their_way_out_are_brought_back_by_a_newer_epoch() {
    let mut account = Account::new(4, 4);
    account.pass(1_000);
    // The third region gets all votes and is cut off before the others receive the start of its
    // epoch.
    account.force(2, &[1, 3]);
    account.talk_once(2);
    account.cut_off(2);
    assert!(account.writes(2));
    let written = account.write(2);
    // Two of the others need the third region or the first one for a quorum, but have promised each
    // other's epochs.
    account.cut.extend([(0, 1), (0, 3)]);
    account.force(1, &[]);
    account.pass(1_000);
    let now = account.now;
    account.regions[1].replica.give_up(now);
    assert!(account.regions[3].saved.promised > account.regions[2].saved.promised);
    account.cut.clear();
    account.pass(10_000);
    assert!(account.writes(2) && account.acknowledges(2, written));
}

/// A strong read must prove that no other region was promoted by any members that could promote it:
/// in an account of two regions by the other one alone, as long as that region may not have
/// received the addition of a third.
#[test]
fn a_new_member_does_not_confirm_what_an_old_one_could_have_ended() {
    let mut account = Account::new(3, 2);
    account.pass(1_000);
    let now = account.now;
    let replica = &mut account.regions[0].replica;
    let added = replica.add_region(now, RegionId(2), "region").unwrap();
    account.keep(0, added);
    account.pass(1_000);
    account.cut_off(1);
    let now = account.now;
    let admitted = account.regions[0].replica.admit_region(now, RegionId(2));
    account.keep(0, admitted.unwrap());
    account.force(1, &[0]);
    account.pass(500);
    let written = account.write(1);
    account.pass(500);
    assert!(account.acknowledges(1, written));
    for region in [0, 2] {
        let now = account.now;
        let read = account.regions[region].replica.read_index(now);
        account.pass(1_000);
        let answered = &account.regions[region].answered;
        assert!(
            !answered.contains(&read),
            "region {region} answers a read that misses a write"
        );
    }
}

/// Records that a region has of an older epoch may not be part of the history, whatever is committed now.
#[test]
fn what_is_committed_in_another_epoch_says_nothing_of_the_own_records() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    // The third region receives a record, and its answer that the record is durable gets lost.
    let written = account.write(0);
    account.cut = vec![(0, 1)];
    let mut mail = VecDeque::new();
    while account.regions[2].replica.last() < written {
        account.now = account.now.plus(50);
        let now = account.now;
        account.regions[2].replica.tick(now);
        account.settle(2, &mut mail);
        for (_, _, question) in mail.drain(..).filter(|(_, to, _)| *to == 0) {
            account.regions[0]
                .replica
                .receive(now, RegionId(2), question);
        }
        account.settle(0, &mut mail);
        for (_, _, answer) in mail.drain(..).filter(|(_, to, _)| *to == 2) {
            account.regions[2].replica.receive(now, RegionId(0), answer);
        }
    }
    account.settle(2, &mut mail);
    let now = account.now;
    let replica = &mut account.regions[2].replica;
    let read = replica.read_index(now);
    let current = replica.epoch();
    for (epoch, is_known) in [(current.next(RegionId(0)), false), (current, true)] {
        let commit = written;
        let confirmed = ReplicaMessage::ReadIndexResponse {
            read,
            epoch,
            commit,
        };
        replica.receive(now, RegionId(0), confirmed);
        assert_eq!(replica.apply_limit() == written, is_known);
    }
}

#[test]
fn a_successor_that_lost_records_pulls_them_before_it_takes_over() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    let written = account.write(0);
    account.pass(1_000);
    let record = account.regions[1].log.last().unwrap().clone();
    assert_eq!(record.sequence, written);

    let now = account.now;
    account.regions[0]
        .replica
        .hand_over(now, RegionId(1))
        .unwrap();
    assert!(!account.writes(0), "it was handed over");
    let mut mail = VecDeque::new();
    account.settle(0, &mut mail);
    let is_order = |message: &ReplicaMessage| matches!(message, ReplicaMessage::TakeOver { .. });
    let mut orders = mail.into_iter().filter(|(_, _, message)| is_order(message));
    let (_, _, order) = orders.next().unwrap();
    account.regions[1].log.pop();
    let promised = account.regions[1].saved.promised;
    account.restart(1, promised);
    account.regions[1].replica.receive(now, RegionId(0), order);
    account.pass(5_000);
    assert!(account.writes(1));
    let present = account.regions[1].log.iter();
    let present: Vec<_> = present
        .filter(|present| present.sequence == written)
        .collect();
    assert_eq!(present, [&record], "what was acknowledged is gone");
}

/// A failed candidate has received as few heartbeats of the write region as the other members.
#[test]
fn a_losing_candidate_votes_for_another() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    account.cut = vec![(0, 1), (0, 2), (1, 2)];
    // The second region has just given up its candidacy, the third region is still a candidate.
    account.pass(5_100);
    account.cut.pop();
    account.pass(100);
    assert!(account.writes(2));
}
