//! Turns requests into orders for the account, with the region names of the account.

use orrery_account::{ControlError, LinkOrder, OperatorOrder};

use super::names::resolve;
use super::request::Failover;

/// Stands for every region.
pub(super) const ANY: &str = "*";

/// Resolves the region names of a failover.
pub(super) fn failover(
    request: &Failover,
    names: &[String],
) -> Result<OperatorOrder, ControlError> {
    let name = |written: &String| resolve(written, names).map(str::to_owned);
    Ok(OperatorOrder::Failover {
        to: name(&request.to)?,
        forced: request.forced,
        accepts_loss: request.accepts_loss,
        offline: request.offline.iter().map(name).collect::<Result<_, _>>()?,
    })
}

/// One order for each link from `from` to `to`. Each order covers one direction.
pub(super) fn links(
    from: &str,
    to: &str,
    order: LinkOrder,
    names: &[String],
) -> Result<Vec<OperatorOrder>, ControlError> {
    let (senders, receivers) = (ends(from, names)?, ends(to, names)?);
    let pairs = senders
        .iter()
        .flat_map(|from| receivers.iter().map(move |to| (*from, *to)));
    let orders: Vec<_> = pairs
        // `*` contains both ends, and a region has no link to itself.
        .filter(|(from, to)| from != to)
        .map(|(from, to)| OperatorOrder::Link {
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

/// The regions at one end of a link: one region, or all regions.
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
            OperatorOrder::Link { from, to, order } => {
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
        let mut request = Failover {
            to: "northeurope".to_owned(),
            forced: true,
            accepts_loss: false,
            offline: vec!["west us".to_owned()],
            partition: None,
        };
        let expected = OperatorOrder::Failover {
            to: "North Europe".to_owned(),
            forced: true,
            accepts_loss: false,
            offline: vec!["West US".to_owned()],
        };
        assert_eq!(failover(&request, &names()), Ok(expected));
        request.offline.push("x".to_owned());
        assert!(failover(&request, &names()).is_err());
    }
}
