//! The attacks, one line each; a file for each kind of client.

mod bodies;
mod greedy;
mod http2;
mod lying;
mod queries;
mod scripts;
mod silent;
mod tokens;

use std::sync::Arc;

use crate::attack::{Attack, Outcome, Round};
use crate::target::Target;

/// The attacker has no credential.
const NOBODY: &str = "none";
/// A resource token that allows reads of one partition key.
const READ_TOKEN: &str = "read token";
/// A resource token that allows all operations on one partition key.
const WRITE_TOKEN: &str = "token for all operations";
/// A key of the account, whose owner may register and run scripts.
const KEY: &str = "account key";

/// Makes one row of [`ATTACKS`]. This is a function because a macro would hide which values a row
/// has.
const fn attack(
    name: &'static str,
    credential: &'static str,
    input: &'static str,
    (weight, connections_max): (usize, usize),
    run: fn(Arc<Target>) -> Round,
) -> Attack {
    Attack {
        name,
        credential,
        input,
        weight,
        connections_max,
        run,
    }
}

/// All attacks. The first attack receives the connections that remain after all shares.
pub(crate) static ATTACKS: &[Attack] = &[
    attack(
        "silent sockets",
        NOBODY,
        "a connection that says nothing",
        (30, 3_000),
        |target| Box::pin(silent::silent(target)),
    ),
    attack(
        "slow heads",
        NOBODY,
        "a byte of a header each second",
        (15, 600),
        |target| Box::pin(silent::slow_head(target)),
    ),
    attack(
        "large heads",
        NOBODY,
        "120 KB of headers that never end",
        (10, 400),
        |target| Box::pin(silent::large_head(target)),
    ),
    attack(
        "half prefaces",
        NOBODY,
        "half of the preface of HTTP/2",
        (10, 400),
        |target| Box::pin(silent::half_preface(target)),
    ),
    attack(
        "idle HTTP/2",
        NOBODY,
        "a preface and no request",
        (10, 400),
        |target| Box::pin(silent::idle_http2(target)),
    ),
    attack(
        "half handshakes",
        NOBODY,
        "half of a TLS client hello",
        (5, 200),
        |target| Box::pin(silent::half_handshake(target)),
    ),
    attack(
        "silent peers",
        NOBODY,
        "a connection to the port of regions that says nothing",
        (5, 200),
        |target| Box::pin(silent::silent_peer(target)),
    ),
    attack(
        "half peers",
        NOBODY,
        "half of a TLS client hello to the port of regions",
        (5, 200),
        |target| Box::pin(silent::half_peer_handshake(target)),
    ),
    attack(
        "unsigned bodies",
        NOBODY,
        "2 MB with a wrong signature",
        (15, 600),
        |target| Box::pin(bodies::unsigned(target)),
    ),
    attack(
        "unfinished bodies",
        READ_TOKEN,
        "a query whose body of 1 MB never ends",
        (10, 400),
        |target| Box::pin(bodies::unfinished(target)),
    ),
    attack(
        "lying lengths",
        NOBODY,
        "lengths that contradict each other",
        (3, 60),
        |target| Box::pin(lying::lengths(target)),
    ),
    attack(
        "foreign hosts",
        NOBODY,
        "the name of another host, as after DNS rebinding",
        (1, 8),
        |target| Box::pin(lying::foreign_host(target)),
    ),
    attack(
        "unread answers",
        READ_TOKEN,
        "reads of an item of 2 MB whose answers nobody reads",
        (5, 200),
        |target| Box::pin(greedy::unread_http1(target)),
    ),
    attack(
        "closed windows",
        READ_TOKEN,
        "100 streams a connection with window 0",
        (3, 60),
        |target| Box::pin(greedy::closed_window(target)),
    ),
    attack(
        "dripping windows",
        READ_TOKEN,
        "windows that open by a byte a second",
        (2, 40),
        |target| Box::pin(greedy::dripping_window(target)),
    ),
    attack(
        "repeated reads",
        WRITE_TOKEN,
        "a bulk of 100 reads of one item of 2 MB",
        (1, 8),
        |target| Box::pin(greedy::repeated_reads(target)),
    ),
    attack(
        "reset streams",
        NOBODY,
        "requests that the client resets at once",
        (1, 8),
        |target| Box::pin(http2::reset_streams(target)),
    ),
    attack(
        "endless headers",
        NOBODY,
        "CONTINUATION frames without end",
        (1, 20),
        |target| Box::pin(http2::endless_headers(target)),
    ),
    attack(
        "pings",
        NOBODY,
        "PING frames whose answers nobody reads",
        (1, 8),
        |target| Box::pin(http2::pings(target)),
    ),
    attack(
        "settings",
        NOBODY,
        "SETTINGS frames whose answers nobody reads",
        (1, 8),
        |target| Box::pin(http2::settings(target)),
    ),
    attack(
        "products",
        READ_TOKEN,
        "a query over the product of an array with itself, three times",
        (1, 10),
        |target| Box::pin(queries::product(target)),
    ),
    attack(
        "growing texts",
        READ_TOKEN,
        "a query that repeats texts",
        (1, 10),
        |target| Box::pin(queries::texts(target)),
    ),
    attack(
        "failing queries",
        READ_TOKEN,
        "a query that works long and then fails",
        (1, 10),
        |target| Box::pin(queries::failing(target)),
    ),
    attack(
        "many values",
        READ_TOKEN,
        "a query with 50,000 values",
        (1, 10),
        |target| Box::pin(queries::many_values(target)),
    ),
    attack(
        "shared references",
        KEY,
        "createDocument with 2^60 elements",
        (1, 6),
        |target| Box::pin(scripts::shared_references(target)),
    ),
    attack(
        "shared answers",
        KEY,
        "setBody with 2^60 elements",
        (1, 6),
        |target| Box::pin(scripts::shared_answer(target)),
    ),
    attack(
        "doubled strings",
        KEY,
        "console.log of strings that double",
        (1, 6),
        |target| Box::pin(scripts::doubled_strings(target)),
    ),
    attack(
        "endless loops",
        KEY,
        "a procedure that never ends",
        (1, 6),
        |target| Box::pin(scripts::endless(target)),
    ),
    attack(
        "huge rows",
        KEY,
        "a function of a query that gives 50 MB",
        (1, 6),
        |target| Box::pin(scripts::huge_rows(target)),
    ),
    attack(
        "new properties",
        WRITE_TOKEN,
        "items with 20,000 new names of properties",
        (1, 4),
        |target| Box::pin(scripts::new_properties(target)),
    ),
    attack(
        "foreign scopes",
        READ_TOKEN,
        "ranges, EPKs and bulks of other keys",
        (1, 8),
        |target| Box::pin(tokens::foreign_scopes(target)),
    ),
    attack(
        "foreign writes",
        WRITE_TOKEN,
        "bulks, scripts and catalogue writes beyond the key",
        (1, 8),
        |target| Box::pin(tokens::foreign_writes(target)),
    ),
];

/// The outcome of an attack that only sends requests and reads answers.
fn outcome(answered: anyhow::Result<crate::rest::Answer>) -> Outcome {
    answered.map_or(Outcome::Closed, |answer| Outcome::Status(answer.status))
}
