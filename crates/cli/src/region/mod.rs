//! `orrery region`: looks at the regions of a running server and gives it orders.
//!
//! This command is a client of the server's listener for operators and uses nothing else of the
//! server. Without flags the command finds the server through the file that a running server leaves
//! in its data directory.

mod arguments;
mod connection;
mod report;
mod table;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use orrery_account::peer_certificates;
use orrery_client::ManagementClient;
use serde_json::json;

pub(crate) use arguments::RegionArguments;
use arguments::{DownArguments, FailoverArguments, LinkArguments, RegionCommand};
use report::{AccountReport, AddedRegion};

use crate::regions::check_name;

pub(crate) async fn region(arguments: RegionArguments) -> Result<()> {
    let RegionArguments {
        connection,
        json,
        command,
    } = arguments;
    if let RegionCommand::Certificates { out, regions } = &command {
        return certify(out, regions);
    }
    let mut operator = connection.operator()?;
    if let RegionCommand::Add { name, listen } = &command {
        let body = json!({"name": name, "listen": listen.map(|listen| listen.0)});
        let answer = operator.post(&["regions"], Some(body.to_string())).await?;
        if json {
            return print(&text(&answer));
        }
        let added: AddedRegion = read(&answer)?;
        return print(&format!("{} is at {}\n", added.name, added.endpoint));
    }
    let answer = order(&mut operator, &command).await?;
    if json {
        return print(&text(&answer));
    }
    print(&table::text(&read::<AccountReport>(&answer)?))
}

/// Sends one order. The server answers every order with a report of the account.
async fn order(operator: &mut ManagementClient, command: &RegionCommand) -> Result<Vec<u8>> {
    let answer = match command {
        RegionCommand::List | RegionCommand::Add { .. } | RegionCommand::Certificates { .. } => {
            operator.get(&["account"]).await
        }
        RegionCommand::Remove { region, forced } => {
            let body = forced.then(|| json!({"forced": true}).to_string());
            operator.delete(&["regions", region], body).await
        }
        RegionCommand::Down(down) => set(operator, down, "down").await,
        RegionCommand::Up(down) => set(operator, down, "up").await,
        RegionCommand::Failover(FailoverArguments {
            to,
            forced,
            accept_loss,
            offline,
            partition,
        }) => {
            let body = json!({
                "to": to, "forced": forced, "acceptsLoss": accept_loss, "offline": offline,
                "partition": partition
            });
            let path = ["account", "failover"];
            operator.post(&path, Some(body.to_string())).await
        }
        RegionCommand::Pause(link) => send(operator, link, json!({"order": "pause"})).await,
        RegionCommand::Resume(link) => send(operator, link, json!({"order": "resume"})).await,
        RegionCommand::Cut(link) => send(operator, link, json!({"order": "cut"})).await,
        RegionCommand::Delay { link, millis } => {
            send(operator, link, json!({"order": "delay", "millis": millis})).await
        }
        RegionCommand::Step { link, records } => {
            send(operator, link, json!({"order": "step", "records": records})).await
        }
    };
    Ok(answer?)
}

/// Writes certificates for the regions. This is the only command that needs no server.
fn certify(out: &Path, regions: &[String]) -> Result<()> {
    // All names are checked before the first file is written.
    for region in regions {
        check_name(region).map_err(anyhow::Error::msg)?;
    }
    let written = peer_certificates::write(out, regions)?;
    let lines = regions.iter().zip(written);
    let lines =
        lines.map(|(region, path)| format!("{region}: --peer-identity {}\n", path.display()));
    print(&lines.collect::<String>())?;
    let key = out.join("ca-key.pem");
    print(&format!(
        "{} makes further regions: keep it, and keep it secret\n",
        key.display()
    ))
}

async fn send(
    operator: &mut ManagementClient,
    link: &LinkArguments,
    body: serde_json::Value,
) -> Result<Vec<u8>, orrery_client::Error> {
    let path = ["links", &link.from, &link.to];
    operator.post(&path, Some(body.to_string())).await
}

async fn set(
    operator: &mut ManagementClient,
    down: &DownArguments,
    verb: &str,
) -> Result<Vec<u8>, orrery_client::Error> {
    let body = down.partition.as_ref();
    let body = body.map(|partition| json!({"partition": partition}).to_string());
    operator.post(&["regions", &down.region, verb], body).await
}

fn read<T: serde::de::DeserializeOwned>(answer: &[u8]) -> Result<T> {
    serde_json::from_slice(answer)
        .context("the server answers with something else; is it of another version?")
}

fn text(answer: &[u8]) -> String {
    format!("{}\n", String::from_utf8_lossy(answer))
}

fn print(text: &str) -> Result<()> {
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write the answer")
}
