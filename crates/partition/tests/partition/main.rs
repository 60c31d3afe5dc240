//! The store through its public interface: on failing disks, and with damaged data.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod check;
mod damage;
mod deferred_sync;
mod durability;
mod faults;
mod following;
mod in_flight_groups;
mod index;
mod lost_log;
mod panics;
mod scrub;
mod support;
mod trimming;
