//! The first LSNs of the partitions of a new container.
//!
//! Creating a partition takes an LSN, as in the service, so the first item has the next LSN. A
//! container that is recreated under the name of a deleted one begins above all LSNs of the
//! account: otherwise a session token of the deleted container would be ahead of the new container
//! until enough writes have happened.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};

use crate::counters::counters_key;
use crate::keyspaces::{FIRST_LSN, META};
use crate::overlay::Overlay;
use crate::record::KeyChange;
use crate::{Container, Counters, Error, Position};

/// The first LSN of a partition in a container whose name is new.
pub const FIRST: Lsn = Lsn(1);

/// An LSN that no partition has reached if `last` is the last record: each LSN belongs to a record
/// of its own, and partitions start at most at the record before their creation.
pub fn lsn_beyond(last: Position) -> Lsn {
    Lsn(last.0).max(FIRST)
}

/// The catalogue change that sets the first LSNs of a new container's partitions. The store stores
/// counters instead of this row.
pub fn first_lsn_change(container: &Container) -> KeyChange {
    let number = container.rid.id().to_be_bytes();
    let key = [&[FIRST_LSN][..], &number].concat();
    let rows = container.partitions.iter().flat_map(|partition| {
        let Lsn(lsn) = partition.counters().lsn;
        let range = partition.id.0.to_le_bytes();
        range.into_iter().chain(lsn.to_le_bytes())
    });
    (key.into(), Some(rows.collect()))
}

/// Applies [`first_lsn_change`].
pub(crate) fn put_first_lsn(
    overlay: &mut Overlay<'_>,
    container: u32,
    rows: &[u8],
) -> Result<(), Error> {
    let (rows, []) = rows.as_chunks::<ROW_BYTES>() else {
        return Err(Error::Damaged(format!(
            "the first LSNs of container {container} do not decode"
        )));
    };
    for [r0, r1, r2, r3, lsn @ ..] in rows {
        let range = RangeId(u32::from_le_bytes([*r0, *r1, *r2, *r3]));
        let counters = Counters {
            lsn: Lsn(u64::from_le_bytes(*lsn)),
            ..Counters::default()
        };
        let key = Bytes::copy_from_slice(&counters_key(container, range));
        overlay.put(META, key, counters.encode());
    }
    Ok(())
}

/// Bytes of a partition id and an LSN.
const ROW_BYTES: usize = 12;
