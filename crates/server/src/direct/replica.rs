//! The replica that a client in direct mode asks, and whether it still answers for what the client
//! looks for.

use orrery_keys::ContainerRid;
use orrery_model::{ContainerAddress, Failure, GoneKind};
use orrery_wire::ReplicaPath;

use crate::exchange::Exchange;

pub(crate) struct ReplicaRequest {
    pub(crate) path: ReplicaPath,
    /// The container to which the client has resolved the name in its request.
    pub(super) container: Option<ContainerRid>,
    /// Whether the request names its container, and does not address it by resource id.
    pub(super) is_by_name: bool,
}

impl ReplicaRequest {
    /// Refuses a request for a container or a range that the client knows from earlier. The
    /// refusals make the client read the container or the ranges again.
    pub(crate) fn check(&self, exchange: &Exchange<'_>) -> Result<(), Failure> {
        let ReplicaPath::Range(rid, range) = self.path else {
            return Ok(());
        };
        exchange.authority.check_container(rid)?;
        let stale = Failure::Gone(GoneKind::ContainerOfName);
        if self.container.is_some_and(|container| container != rid) {
            return Err(stale);
        }
        let catalogue = exchange.catalogue();
        match catalogue.container(ContainerAddress::Rid(rid)) {
            // A query of an SDK that would lose rows is answered by the ranges that came after.
            Ok((_, entry))
                if entry.container.partition(range).is_none()
                    && !exchange.answers_former_ranges() =>
            {
                Err(Failure::Gone(GoneKind::ReplicaRange))
            }
            Err(_) if self.is_by_name => Err(stale),
            // Under a resource id that names nothing the route says so.
            _ => Ok(()),
        }
    }
}
