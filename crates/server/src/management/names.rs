//! Region names as operators write them: `North Europe`, `northeurope` and `north-europe` are one
//! name.

use orrery_account::ControlError;

/// The region that an operator means by `written`.
pub(super) fn resolve<'n>(written: &str, names: &'n [String]) -> Result<&'n str, ControlError> {
    let wanted = plain(written);
    // An exact name wins, so that a region stays reachable if another one has a similar name.
    let exact = names.iter().find(|name| *name == written);
    let found = exact.or_else(|| names.iter().find(|name| plain(name) == wanted));
    found.map(String::as_str).ok_or_else(|| {
        let known: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
        ControlError::UnknownRegion(written.to_owned(), known.join(", "))
    })
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter() {
        let names = ["West US".to_owned(), "West US 2".to_owned()];
        for (written, expected) in [
            ("West US", Some("West US")),
            ("westus", Some("West US")),
            ("west-us-2", Some("West US 2")),
            ("WEST US2", Some("West US 2")),
            ("East US", None),
            ("", None),
        ] {
            assert_eq!(resolve(written, &names).ok(), expected, "{written}");
        }
        let error = resolve("x", &names).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no region 'x'; the account has 'West US', 'West US 2'"
        );
    }
}
