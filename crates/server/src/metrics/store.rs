//! Metrics of the store: whether it takes writes, the free disk space, and the findings of the
//! scrub.

use orrery_engine::{Engine, StoreStatus};

use super::page::Page;

/// All states, since the metric has a line for each of them.
const STATES: [&str; 3] = ["writable", "refusing", "failed"];

pub(super) fn write(page: &mut Page, engine: &Engine) {
    let current = match engine.store_status() {
        StoreStatus::Writable => 0,
        StoreStatus::Refusing(_) => 1,
        StoreStatus::Failed(_) => 2,
    };
    page.family(
        "orrery_store_state",
        "gauge",
        "1 for the state of the store: it takes writes, refuses them for now, or has failed.",
    );
    for (number, state) in STATES.iter().enumerate() {
        page.line(&[("state", state)], u8::from(number == current));
    }
    // An engine in memory has no disk, and nothing to scrub.
    let Some((free, reserve)) = engine.disk_space() else {
        return;
    };
    let scrub = engine.scrub();
    for (name, kind, help, number) in [
        (
            "orrery_disk_free_bytes",
            "gauge",
            "Bytes that the disk of the data directory has free.",
            free,
        ),
        (
            "orrery_disk_reserve_bytes",
            "gauge",
            "Bytes that are kept free; with less, writes are refused.",
            reserve,
        ),
        (
            "orrery_scrub_passes_total",
            "counter",
            "Times that all stored data was read to find damage.",
            scrub.passes,
        ),
        (
            "orrery_scrub_bytes_total",
            "counter",
            "Bytes that were read to find damage.",
            scrub.bytes,
        ),
        (
            "orrery_scrub_findings_total",
            "counter",
            "Damage that was found.",
            scrub.findings,
        ),
    ] {
        page.family(name, kind, help);
        page.line(&[], number);
    }
}
