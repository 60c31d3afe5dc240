//! The containers, items, scripts and tokens that the server has before the first attack.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::regions::Regions;
use crate::rest::{Answer, Client, Request};
use crate::target::{
    CONTAINER, DATABASE, GRANTED_KEY, HONEST_CONTAINER, LARGE_ITEM, SCRIPTS_CONTAINER, SECRET,
    Target,
};

/// The well-known key of the emulator, which the server on this machine has by default.
pub(crate) const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// The items that honest clients read.
pub(crate) const HONEST_ITEMS: usize = 200;
/// Nearly the maximum size of an item.
const LARGE_BYTES: usize = 1_900_000;
/// The attempts of one creation, with 50 ms between them.
const ATTEMPTS_MAX: usize = 600;

/// Creates the whole scene, and returns what the attackers may know.
pub(crate) async fn make(address: SocketAddr, regions: &Regions) -> Result<Target> {
    let mut client = Client::signed(address, KEY)?;
    create(&mut client, "/dbs", json!({ "id": DATABASE }), &[]).await?;
    // Each container has separate throughput, so attacks on one container throttle no client of
    // another.
    for (container, throughput) in [
        (CONTAINER, "400"),
        (SCRIPTS_CONTAINER, "10000"),
        (HONEST_CONTAINER, "10000"),
    ] {
        let definition = json!({
            "id": container,
            "partitionKey": { "paths": ["/pk"], "kind": "Hash", "version": 2 },
        });
        let path = format!("/dbs/{DATABASE}/colls");
        let headers = [("x-ms-offer-throughput", throughput)];
        create(&mut client, &path, definition, &headers).await?;
    }
    for number in 0..HONEST_ITEMS {
        let item = json!({ "id": number.to_string(), "pk": "p", "text": "x".repeat(900) });
        put_item(&mut client, HONEST_CONTAINER, "p", item).await?;
    }
    fill_attacked(&mut client).await?;
    register_scripts(&mut client).await?;
    Ok(Target {
        address,
        tls_address: regions.tls_address(),
        peer_address: regions.peer_address(),
        read_token: permission(&mut client, "Read").await?,
        write_token: permission(&mut client, "All").await?,
        key: KEY.to_owned(),
    })
}

/// Creates items under the key of the tokens, and items of other keys with the secret.
async fn fill_attacked(client: &mut Client) -> Result<()> {
    let numbers: Vec<u32> = (0..200).collect();
    let arrays = json!({ "id": "arrays", "pk": GRANTED_KEY, "arr": numbers });
    put_item(client, CONTAINER, GRANTED_KEY, arrays).await?;
    let large = json!({ "id": LARGE_ITEM, "pk": GRANTED_KEY, "text": "x".repeat(LARGE_BYTES) });
    put_item(client, CONTAINER, GRANTED_KEY, large).await?;
    for number in 0..20 {
        let pk = format!("other-{number}");
        let item = json!({ "id": "item", "pk": pk, "text": SECRET });
        put_item(client, CONTAINER, &pk, item).await?;
    }
    Ok(())
}

/// Stored procedures that an attacker with an account key may register.
const PROCEDURES: [(&str, &str); 4] = [
    (
        "doubling",
        "function f() { var x = 1; for (var i = 0; i < 60; i++) x = [x, x]; \
         getContext().getCollection().createDocument(__.getSelfLink(), { id: 'a', pk: 'mine', x: x }); }",
    ),
    (
        "doubling-answer",
        "function f() { var x = 1; for (var i = 0; i < 60; i++) x = [x, x]; getContext().getResponse().setBody(x); }",
    ),
    (
        "strings",
        "function f() { var s = 'x'; for (;;) { s = s + s; console.log(s); } }",
    ),
    ("forever", "function f() { for (;;) {} }"),
];

/// Registers the procedures and the function that attackers run.
async fn register_scripts(client: &mut Client) -> Result<()> {
    let item = json!({ "id": "a row", "pk": GRANTED_KEY });
    put_item(client, SCRIPTS_CONTAINER, GRANTED_KEY, item).await?;
    let container = format!("/dbs/{DATABASE}/colls/{SCRIPTS_CONTAINER}");
    for (id, body) in PROCEDURES {
        let path = format!("{container}/sprocs");
        create(client, &path, json!({ "id": id, "body": body }), &[]).await?;
    }
    let body = "function f() { return 'x'.repeat(50000000); }";
    let path = format!("{container}/udfs");
    create(client, &path, json!({ "id": "huge", "body": body }), &[]).await?;
    Ok(())
}

/// Makes a user with a permission for one partition key, and returns its token.
async fn permission(client: &mut Client, mode: &str) -> Result<String> {
    let users = format!("/dbs/{DATABASE}/users");
    create(client, &users, json!({ "id": mode }), &[]).await?;
    let body = json!({
        "id": mode,
        "permissionMode": mode,
        "resource": format!("dbs/{DATABASE}/colls/{CONTAINER}"),
        "resourcePartitionKey": [GRANTED_KEY],
    });
    let path = format!("{users}/{mode}/permissions");
    let answer = create(
        client,
        &path,
        body,
        // Five hours: no token may expire within a run.
        &[("x-ms-documentdb-expiry-seconds", "18000")],
    )
    .await?;
    let answer: Value = serde_json::from_slice(&answer.body)?;
    let token = answer["_token"].as_str().context("no token")?;
    Ok(token.to_owned())
}

/// Creates an item, or replaces it.
pub(crate) async fn put_item(
    client: &mut Client,
    container: &str,
    key: &str,
    item: Value,
) -> Result<()> {
    let path = format!("/dbs/{DATABASE}/colls/{container}/docs");
    let key = format!("[\"{key}\"]");
    let headers = [
        ("x-ms-documentdb-partitionkey", key.as_str()),
        ("x-ms-documentdb-is-upsert", "true"),
    ];
    create(client, &path, item, &headers).await.map(|_| ())
}

/// Sends a POST until the budget of the container admits it.
async fn create(
    client: &mut Client,
    path: &str,
    body: Value,
    headers: &[(&str, &str)],
) -> Result<Answer> {
    let body = body.to_string();
    let request = Request {
        method: "POST",
        path,
        headers,
        body: body.as_bytes(),
    };
    for _ in 0..ATTEMPTS_MAX {
        let answer = client.request(request).await?;
        match answer.status {
            429 => tokio::time::sleep(Duration::from_millis(50)).await,
            200 | 201 => return Ok(answer),
            status => bail!(
                "POST {path} was answered {status}: {}",
                String::from_utf8_lossy(&answer.body)
            ),
        }
    }
    bail!("POST {path} was answered 429 for too long")
}
