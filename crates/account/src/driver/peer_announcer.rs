//! The announcements of a region besides replication: it gives links the names of the members, and
//! sends every member its client URL, its failure if it has one, and, as the write region, the
//! secret that signs resource tokens.

use std::time::{Duration, Instant};

use orrery_regions::Member;

use super::shared_replica::SharedReplica;
use crate::link::Links;
use crate::{LinkFrame, Region};

const SEND_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct PeerAnnouncer {
    named: Vec<Member>,
    last_sent: Option<Instant>,
}

impl PeerAnnouncer {
    pub(super) fn tick(&mut self, shared: &SharedReplica, region: &Region, links: &Links) {
        self.name(shared, links);
        if self
            .last_sent
            .is_some_and(|last_sent| last_sent.elapsed() < SEND_EVERY)
        {
            return;
        }
        self.last_sent = Some(Instant::now());
        let endpoint = region.endpoint().map(LinkFrame::Endpoint);
        let secret = region.token_secret().filter(|_| region.is_write_region());
        let secret = secret.map(LinkFrame::TokenSecret);
        let problem = shared.lock().broken.clone().map(LinkFrame::Problem);
        for member in self.named.iter().filter(|member| member.id != shared.me) {
            for frame in endpoint.iter().chain(&problem).chain(&secret) {
                links.send(member.id, frame.clone());
            }
        }
    }

    fn name(&mut self, shared: &SharedReplica, links: &Links) {
        let core = shared.lock();
        let members = &core.replica.members().regions;
        if *members == self.named {
            return;
        }
        self.named.clone_from(members);
        drop(core);
        links.set_members(self.named.iter().map(|member| &member.name[..]));
        for member in self.named.iter().filter(|member| member.id != shared.me) {
            links.name(member.id, &member.name);
        }
    }
}
