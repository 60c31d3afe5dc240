//! `GET /_orrery/requests`: the recent requests to the server. This resource is Orrery's own.

use std::time::Duration;

use orrery_model::{Charge, RangeId};

use super::{ObjectWriter, array_of};

/// One answered request. It contains the fields that help a person to identify the request, and
/// neither bodies nor secrets.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    /// The number of the request. Numbers are consecutive, so a reader sees how many requests it
    /// has missed.
    pub number: u64,
    pub seconds_since_epoch: f64,
    pub method: String,
    /// The path without the query string.
    pub path: String,
    pub status: u16,
    pub substatus: Option<u32>,
    pub charge: Charge,
    pub duration: Duration,
    pub activity_id: String,
    pub partition: Option<RangeId>,
    /// The user agent of the client.
    pub client: Option<String>,
}

/// The body. `next` is the value of `after` in the reader's next request.
pub fn request_log_body(next: u64, requests: &[LoggedRequest]) -> Vec<u8> {
    ObjectWriter::new()
        .literal("next", next)
        .raw(
            "requests",
            &array_of(requests.iter().map(LoggedRequest::to_json)),
        )
        .finish()
}

impl LoggedRequest {
    fn to_json(&self) -> Vec<u8> {
        let mut writer = ObjectWriter::new()
            .literal("number", self.number)
            .literal("time", format_args!("{:.3}", self.seconds_since_epoch))
            .text("method", &self.method)
            .text("path", &self.path)
            .literal("status", self.status);
        if let Some(substatus) = self.substatus {
            writer = writer.literal("substatus", substatus);
        }
        writer = writer
            .literal("charge", self.charge)
            .literal(
                "durationMs",
                format_args!("{:.3}", self.duration.as_secs_f64() * 1e3),
            )
            .text("activityId", &self.activity_id);
        if let Some(partition) = self.partition {
            writer = writer.display("partition", partition);
        }
        if let Some(client) = &self.client {
            writer = writer.text("client", client);
        }
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_only_what_is_known() {
        let entry = LoggedRequest {
            number: 7,
            seconds_since_epoch: 1.5,
            method: "GET".to_owned(),
            path: "/dbs/\"d\"".to_owned(),
            status: 404,
            substatus: None,
            charge: Charge::MIN,
            duration: Duration::from_micros(1_250),
            activity_id: "a".to_owned(),
            partition: None,
            client: None,
        };
        let full = LoggedRequest {
            substatus: Some(1003),
            partition: Some(RangeId(2)),
            client: Some("sdk".to_owned()),
            ..entry.clone()
        };
        let body = String::from_utf8(request_log_body(9, &[entry, full])).unwrap();
        let expected = r#"{"next":9,"requests":[{"number":7,"time":1.500,"method":"GET","path":"/dbs/\"d\"","status":404,"charge":1,"durationMs":1.250,"activityId":"a"},{"number":7,"time":1.500,"method":"GET","path":"/dbs/\"d\"","status":404,"substatus":1003,"charge":1,"durationMs":1.250,"activityId":"a","partition":"2","client":"sdk"}]}"#;
        assert_eq!(body, expected);
    }
}
