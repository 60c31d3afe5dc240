//! From a call to orders for the account, with the names that it knows.

use orrery_account::{ControlError, LinkOrder, Order};

use super::call::Failover;
use super::names::resolve;

/// Any region.
pub(super) const ANY: &str = "*";

pub(super) fn failover(call: &Failover, names: &[String]) -> Result<Order, ControlError> {
    let name = |written: &String| resolve(written, names).map(str::to_owned);
    Ok(Order::Failover {
        to: name(&call.to)?,
        forced: call.forced,
        accepts_loss: call.accepts_loss,
        offline: call.offline.iter().map(name).collect::<Result<_, _>>()?,
    })
}

/// One order for each link that is meant; a link has two ends.
pub(super) fn links(
    from: &str,
    to: &str,
    order: LinkOrder,
    names: &[String],
) -> Result<Vec<Order>, ControlError> {
    let (senders, receivers) = (ends(from, names)?, ends(to, names)?);
    let pairs = senders
        .iter()
        .flat_map(|from| receivers.iter().map(move |to| (*from, *to)));
    let orders: Vec<_> = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| Order::Link {
            from: from.to_owned(),
            to: to.to_owned(),
            order,
        })
        .collect();
    if orders.is_empty() {
        return Err(ControlError::Refused(
            "there is no such link: it goes from one region to another".to_owned(),
        ));
    }
    Ok(orders)
}

fn ends<'n>(written: &str, names: &'n [String]) -> Result<Vec<&'n str>, ControlError> {
    match written {
        ANY => Ok(names.iter().map(String::as_str).collect()),
        name => resolve(name, names).map(|name| vec![name]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["West US", "North Europe", "East Asia"]
            .map(str::to_owned)
            .into()
    }

    fn pairs(from: &str, to: &str) -> Result<Vec<(String, String)>, ControlError> {
        let orders = links(from, to, LinkOrder::Cut, &names())?;
        let ends = orders.into_iter().map(|order| match order {
            Order::Link { from, to, order } => {
                assert_eq!(order, LinkOrder::Cut);
                (from, to)
            }
            other => panic!("{other:?}"),
        });
        Ok(ends.collect())
    }

    #[test]
    fn a_star_is_every_region() {
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        for (from, to, expected) in [
            ("westus", "eastasia", vec![pair("West US", "East Asia")]),
            (
                "West US",
                "*",
                vec![
                    pair("West US", "North Europe"),
                    pair("West US", "East Asia"),
                ],
            ),
            (
                "*",
                "West US",
                vec![
                    pair("North Europe", "West US"),
                    pair("East Asia", "West US"),
                ],
            ),
        ] {
            assert_eq!(pairs(from, to), Ok(expected), "{from} {to}");
        }
        assert_eq!(pairs("*", "*").map(|pairs| pairs.len()), Ok(6));
        assert!(matches!(
            pairs("West US", "westus"),
            Err(ControlError::Refused(_))
        ));
        assert!(matches!(
            pairs("x", "*"),
            Err(ControlError::UnknownRegion(..))
        ));
    }

    #[test]
    fn a_failover_names_regions_of_the_account() {
        let mut call = Failover {
            to: "northeurope".to_owned(),
            forced: true,
            accepts_loss: false,
            offline: vec!["west us".to_owned()],
            partition: None,
        };
        let expected = Order::Failover {
            to: "North Europe".to_owned(),
            forced: true,
            accepts_loss: false,
            offline: vec!["West US".to_owned()],
        };
        assert_eq!(failover(&call, &names()), Ok(expected));
        call.offline.push("x".to_owned());
        assert!(failover(&call, &names()).is_err());
    }
}
