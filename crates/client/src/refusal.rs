//! The body of a failure: the reason, and its location in a query.

use std::fmt;

use serde::Deserialize;

use crate::Answer;

/// An answer with a status of failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub sub_status: u32,
    code: String,
    message: String,
    /// The mistakes in the text of a query, if the server named them.
    pub mistakes: Vec<Mistake>,
}

/// One mistake in the text of a query.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Mistake {
    pub location: Option<Location>,
    pub message: String,
}

/// A range of characters of the query. The end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Location {
    pub start: usize,
    pub end: usize,
}

/// The body of every failure.
#[derive(Deserialize)]
struct Body {
    code: String,
    message: String,
}

/// The list that the message of a query failure contains.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<Mistake>,
}

impl Refusal {
    /// Reads the refusal from the status, the sub-status header and the body.
    pub(crate) fn of(answer: &Answer) -> Refusal {
        let sub_status = answer.text("x-ms-substatus");
        Refusal::read(
            answer.status,
            sub_status.and_then(|text| text.parse().ok()).unwrap_or(0),
            &answer.body,
        )
    }

    fn read(status: u16, sub_status: u32, body: &[u8]) -> Refusal {
        let (code, message) = match serde_json::from_slice::<Body>(body) {
            Ok(Body { code, message }) => {
                // The text after this point is for the support staff of Cosmos DB.
                let message = message.split("\r\nActivityId").next().unwrap_or_default();
                (code, message.trim().to_owned())
            }
            // A proxy may answer with another body; its text is the best message there is.
            Err(_) => (String::new(), String::from_utf8_lossy(body).into_owned()),
        };
        Refusal {
            status,
            sub_status,
            mistakes: mistakes(&message),
            code,
            message,
        }
    }
}

/// The list of errors in a message that has text around it.
fn mistakes(message: &str) -> Vec<Mistake> {
    let Some(start) = message.find("{\"errors\"") else {
        return Vec::new();
    };
    let mut values = serde_json::Deserializer::from_str(&message[start..]).into_iter::<Errors>();
    match values.next() {
        Some(Ok(Errors { errors })) => errors,
        _ => Vec::new(),
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answers {}", self.status)?;
        if self.sub_status != 0 {
            write!(f, "/{}", self.sub_status)?;
        }
        if !self.code.is_empty() {
            write!(f, ": {}", self.code)?;
        }
        if !self.mistakes.is_empty() {
            for mistake in &self.mistakes {
                write!(f, ": {}", mistake.message)?;
            }
        } else if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        match self.status {
            401 => f.write_str(" (is it the key of this account, and is the clock right?)"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_found_in_the_message() {
        let body = r#"{"code":"BadRequest","message":"Message: {\"errors\":[{\"severity\":\"Error\",\"location\":
            {\"start\":7,\"end\":9},\"code\":\"SC1001\",\"message\":\"wrong\"}]}\r\nActivityId: 1, x"}"#;
        let refusal = Refusal::read(400, 0, body.replace('\n', "").as_bytes());
        let location = refusal.mistakes[0].location.unwrap();
        assert_eq!((location.start, location.end), (7, 9));
        assert_eq!(
            refusal.to_string(),
            "the server answers 400: BadRequest: wrong"
        );
    }

    #[test]
    fn whatever_the_body_is_something_is_said() {
        for (status, sub_status, body, expected) in [
            (503, 0, "busy", "the server answers 503: busy"),
            (404, 1003, "", "the server answers 404/1003"),
            (
                400,
                0,
                r#"{"code":"A","message":"b {\"errors\": 1}"}"#,
                r#"the server answers 400: A: b {"errors": 1}"#,
            ),
        ] {
            let refusal = Refusal::read(status, sub_status, body.as_bytes());
            assert_eq!(refusal.to_string(), expected);
        }
    }
}
