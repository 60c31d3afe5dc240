//! What a region does for the others beside replication: it keeps the links named as the members are,
//! and tells everybody now and then where clients reach it, whether it is broken, and as the write region what
//! signs resource tokens.

use std::time::{Duration, Instant};

use orrery_regions::Member;

use super::core::Shared;
use crate::link::Links;
use crate::{Frame, Region};

const TELL_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Neighbours {
    named: Vec<Member>,
    told: Option<Instant>,
}

impl Neighbours {
    pub(super) fn tick(&mut self, shared: &Shared, region: &Region, links: &Links) {
        self.name(shared, links);
        if self.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
            return;
        }
        self.told = Some(Instant::now());
        let endpoint = region.endpoint().map(Frame::Endpoint);
        let secret = region.token_secret().filter(|_| region.is_write_region());
        let secret = secret.map(Frame::TokenSecret);
        let problem = shared.lock().broken.clone().map(Frame::Problem);
        for member in self.named.iter().filter(|member| member.id != shared.me) {
            for frame in endpoint.iter().chain(&problem).chain(&secret) {
                links.send(member.id, frame.clone());
            }
        }
    }

    fn name(&mut self, shared: &Shared, links: &Links) {
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
