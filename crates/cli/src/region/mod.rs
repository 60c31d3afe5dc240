//! `orrery region`: looks at the regions of a running server and gives it orders.
//!
//! A client of the server's listener for operators and of nothing else. Without further words it finds
//! the server of a data directory by the file that one leaves there.

mod arguments;
mod connection;
mod report;
mod table;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use orrery_account::peer_certificates;
use orrery_shell::Operator;
use serde_json::json;

pub(crate) use arguments::RegionArguments;
use arguments::{DownArguments, FailoverArguments, LinkArguments, RegionCommand};
use report::{Added, Report};

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
        let added: Added = read(&answer)?;
        return print(&format!("{} is at {}\n", added.name, added.endpoint));
    }
    let answer = order(&mut operator, &command).await?;
    if json {
        return print(&text(&answer));
    }
    print(&table::text(&read::<Report>(&answer)?))
}

/// Every order is answered with what the account is then.
async fn order(operator: &mut Operator, command: &RegionCommand) -> Result<Vec<u8>> {
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

/// The only command that asks no server.
fn certify(out: &Path, regions: &[String]) -> Result<()> {
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
    operator: &mut Operator,
    link: &LinkArguments,
    body: serde_json::Value,
) -> Result<Vec<u8>, orrery_shell::Error> {
    let path = ["links", &link.from, &link.to];
    operator.post(&path, Some(body.to_string())).await
}

async fn set(
    operator: &mut Operator,
    down: &DownArguments,
    verb: &str,
) -> Result<Vec<u8>, orrery_shell::Error> {
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
