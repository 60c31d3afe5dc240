//! Metrics of the memory and the connections that clients use.

use super::page::Page;
use crate::Governor;
use crate::governor::Reason;

/// Appends the metrics of the governor.
pub(super) fn write(page: &mut Page, governor: &Governor) {
    let pool = governor.pool();
    for (name, kind, help, number) in [
        (
            "orrery_request_memory_bytes",
            "gauge",
            "Memory that requests and answers hold.",
            pool.used() as f64,
        ),
        (
            "orrery_request_memory_peak_bytes",
            "gauge",
            "The most memory that requests and answers held at one time.",
            pool.peak() as f64,
        ),
        (
            "orrery_request_memory_limit_bytes",
            "gauge",
            "Memory that requests and answers may hold.",
            pool.limit() as f64,
        ),
        (
            "orrery_request_memory_refusals_total",
            "counter",
            "How often a request or an answer was refused memory.",
            pool.refusals() as f64,
        ),
    ] {
        page.family(name, kind, help);
        page.line(&[], number);
    }
    let registers = [
        ("clients", governor.clients()),
        ("operators", governor.operators()),
    ];
    page.family("orrery_connections", "gauge", "Open connections.");
    for (listener, register) in registers {
        page.line(&[("listener", listener)], register.len());
    }
    page.family(
        "orrery_connections_opened_total",
        "counter",
        "Connections that were let in.",
    );
    for (listener, register) in registers {
        page.line(&[("listener", listener)], register.counts().let_in());
    }
    page.family(
        "orrery_connections_closed_total",
        "counter",
        "Connections that the server closed or did not let in, by reason.",
    );
    for (listener, register) in registers {
        for reason in Reason::ALL {
            let labels = [("listener", listener), ("reason", reason.name())];
            page.line(&labels, register.counts().of(reason));
        }
    }
}
