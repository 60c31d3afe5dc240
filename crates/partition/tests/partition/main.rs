//! A store from outside: on disks that fail, and with a state that was damaged.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod check;
mod damage;
#[path = "../../../log/tests/support/mod.rs"]
mod disk;
mod durability;
mod faults;
mod following;
mod index;
mod late_sync;
mod lost_log;
mod panics;
mod scrub;
mod support;
mod trimming;
mod under_way;
