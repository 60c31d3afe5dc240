//! `/offers` and `/offers/{rid}`: provisioned throughput.

use std::sync::Arc;

use hyper::Method;
use orrery_json::{Value, write_value};
use orrery_keys::OfferRid;
use orrery_model::{Failure, Offer};
use orrery_wire::{FeedKind, FeedPost, parse_body};

use super::feed;
use crate::exchange::Exchange;
use crate::reply::Reply;

/// Lists and queries the offers.
pub(super) fn feed(exchange: &Exchange<'_>) -> Result<Reply, Failure> {
    let offers = || {
        let catalogue = exchange.catalogue();
        let bodies = catalogue.offers.values();
        let mut bodies: Vec<_> = bodies
            .map(|offer| (offer.rid.to_string(), body_of(exchange, offer)))
            .collect();
        // The feed needs the order of names for its continuation.
        bodies.sort();
        bodies
    };
    match *exchange.method {
        Method::GET => feed::read(exchange, "", FeedKind::Offers, offers()),
        Method::POST if exchange.headers.feed_post() == FeedPost::Query => {
            feed::query(exchange, "", FeedKind::Offers, &offers())
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// Reads or replaces one offer. Deletion of its owner is the only way to delete an offer.
pub(super) async fn one(exchange: &Exchange<'_>, rid: OfferRid) -> Result<Reply, Failure> {
    let engine = exchange.engine();
    let offer = match *exchange.method {
        Method::GET => {
            let catalogue = exchange.catalogue();
            Arc::clone(catalogue.offer(rid)?)
        }
        Method::PUT => {
            let body = parse_body(&exchange.body)?;
            let migrate = exchange.headers.offer.migrate;
            let if_match = exchange.headers.if_match();
            engine
                .replace_offer(rid, &body, migrate, if_match.as_ref())
                .await?
        }
        _ => return Err(Failure::MethodNotAllowed),
    };
    let reply = Reply {
        min_throughput: Some(engine.offer_minimum(&offer)),
        is_offer_pending: engine.is_offer_pending(&offer),
        ..Reply::new(200, body_of(exchange, &offer))
    };
    Ok(reply.with_etag(offer.etag.as_str()))
}

/// The body with the present throughput, and with a flag while a change takes effect.
fn body_of(exchange: &Exchange<'_>, offer: &Offer) -> Vec<u8> {
    let mut body = Vec::new();
    let current = exchange.engine().offer_current(offer);
    let mut value = offer.to_value_at(current);
    if exchange.engine().is_offer_pending(offer)
        && let Value::Object(offer) = &mut value
        && let Some(Value::Object(content)) = offer.get_mut("content")
    {
        content.insert("isOfferReplacePending".to_owned(), Value::Bool(true));
    }
    write_value(&value, &mut body);
    body
}
