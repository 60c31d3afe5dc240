//! A hint for an error whose message does not say what the user can do.

use std::io::ErrorKind;

use orrery_engine::StoreError;

pub(crate) fn hint(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        if let Some(store) = cause.downcast_ref::<StoreError>() {
            return match store {
                // An error of the operating system below the store is not damage to the data.
                StoreError::Storage(_) | StoreError::Log(_) => match io_of(store) {
                    Some(io) => of_io(io.kind()),
                    None => Some(DAMAGED),
                },
                other => of_store(other),
            };
        }
        cause
            .downcast_ref::<std::io::Error>()
            .and_then(|error| of_io(error.kind()))
    })
}

/// The error of the operating system among the causes of `error`, if there is one.
fn io_of(error: &StoreError) -> Option<&std::io::Error> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Some(io);
        }
        cause = error.source();
    }
    None
}

const DAMAGED: &str = "`orrery check DIR` lists what is damaged. Keep a copy of the directory, and bring a backup back; \
                       if other regions have the data, the directory may be removed and is filled from them";

fn of_store(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Format { .. } => Some(
            "the directory was written by another version of Orrery; use that one, or another directory",
        ),
        StoreError::InUse(_) => Some("stop that process first, or use another directory"),
        StoreError::Unfinished(_) => Some("remove the directory and fill it again"),
        StoreError::NotEmpty(_) => Some("use an empty directory"),
        StoreError::OtherRegion { .. } => Some(
            "start it with the --region and --multi-write or --per-partition-failover that it was made with, or use \
             another directory",
        ),
        StoreError::Damaged(_) => Some(DAMAGED),
        // The message of these errors already says what to do, or their cause decides the hint.
        StoreError::Io { .. }
        | StoreError::LogBehind { .. }
        | StoreError::Storage(_)
        | StoreError::Log(_)
        | StoreError::ReadOnly(_) => None,
    }
}

fn of_io(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::AddrInUse => {
            Some("another program listens there already; --listen 0 takes any free port")
        }
        ErrorKind::AddrNotAvailable => {
            Some("this machine does not have that address; 0.0.0.0 listens on all it has")
        }
        ErrorKind::PermissionDenied => Some(
            "this user may not do that; a port below 1024 or the directory may belong to another",
        ),
        ErrorKind::StorageFull => Some("the disk is full"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn the_cause_decides() {
        let io = |kind| {
            Err::<(), _>(std::io::Error::from(kind))
                .context("outer")
                .unwrap_err()
        };
        assert!(
            hint(&io(ErrorKind::AddrInUse))
                .unwrap()
                .contains("--listen")
        );
        assert_eq!(hint(&io(ErrorKind::UnexpectedEof)), None);
        let damaged = anyhow::Error::new(StoreError::Damaged("x".to_owned())).context("outer");
        assert!(hint(&damaged).unwrap().contains("orrery check"));
        let in_use = anyhow::Error::new(StoreError::InUse("d".into())).context("outer");
        assert!(hint(&in_use).unwrap().contains("stop that process"));
    }
}
