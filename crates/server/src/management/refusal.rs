//! The reason why an operator's request is refused, in the form of the protocol's errors.

use orrery_account::ControlError;
use serde::Serialize;

/// A refused order, which has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    code: &'static str,
    message: String,
}

/// The body of every refusal.
#[derive(Serialize)]
struct Body<'r> {
    code: &'r str,
    message: &'r str,
}

impl Refusal {
    /// Refuses a malformed or contradictory request.
    pub(super) fn wrong(message: impl Into<String>) -> Refusal {
        Refusal::new(400, "BadRequest", message)
    }

    /// A path that this listener does not serve.
    pub(super) fn unknown_path() -> Refusal {
        Refusal::new(
            404,
            "NotFound",
            "there is nothing here; docs/regions.md lists what there is",
        )
    }

    /// A request without the management key.
    pub(super) fn unauthorized() -> Refusal {
        Refusal::new(
            401,
            "Unauthorized",
            "send the management key as `Authorization: Bearer KEY`; the server says at its start where it is",
        )
    }

    /// A known path with the wrong method.
    pub(super) fn other_method(allowed: &str) -> Refusal {
        Refusal::new(405, "MethodNotAllowed", format!("use {allowed} here"))
    }

    /// An order that arrives while the server stops.
    pub(super) fn stopping() -> Refusal {
        Refusal::new(503, "ServiceUnavailable", "the server is stopping")
    }

    pub(super) fn body(&self) -> Vec<u8> {
        let body = Body {
            code: self.code,
            message: &self.message,
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }

    fn new(status: u16, code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal {
            status,
            code,
            message: message.into(),
        }
    }
}

impl From<ControlError> for Refusal {
    fn from(error: ControlError) -> Refusal {
        let (status, code) = match error {
            ControlError::UnknownRegion(..) => (404, "NotFound"),
            ControlError::Elsewhere(..) => (409, "Elsewhere"),
            ControlError::Refused(_) => (409, "Refused"),
            ControlError::Failed(_) => (500, "InternalServerError"),
        };
        Refusal::new(status, code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_the_account_has_its_status() {
        let text = || "a".to_owned();
        for (error, status, message) in [
            (
                ControlError::UnknownRegion(text(), "b".to_owned()),
                404,
                "there is no region 'a'; the account has b",
            ),
            (
                ControlError::Elsewhere(text(), "b".to_owned()),
                409,
                "not in this process",
            ),
            (ControlError::Refused(text()), 409, "a"),
            (ControlError::Failed(text()), 500, "a"),
        ] {
            let refusal = Refusal::from(error);
            assert_eq!(refusal.status, status);
            let body = String::from_utf8(refusal.body()).unwrap();
            assert!(body.contains(message), "{body}");
        }
    }
}
