//! One region as a user names it: `West US`, or `West US=127.0.0.1:8082`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::listen::Listen;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegionSetting {
    pub(crate) name: String,
    /// None takes any free port.
    pub(crate) listen: Option<Listen>,
}

/// The regions in an environment variable, separated by semicolons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegionList(pub(crate) Vec<RegionSetting>);

impl RegionSetting {
    /// The directory name of the region. Two spellings of one region name have the same slug.
    pub(crate) fn slug(&self) -> String {
        slug(&self.name)
    }
}

pub(crate) fn slug(name: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '-',
    };
    name.chars().map(plain).collect()
}

/// Refuses region names with characters that cannot stand in headers, paths and tables.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let valid = |c: char| c.is_ascii_alphanumeric() || " -_.()".contains(c);
    if name.trim() != name || name.is_empty() || !name.chars().all(valid) {
        return Err(format!(
            "'{name}' is no name for a region; use letters, digits, spaces and - _ . ( ), such as West US"
        ));
    }
    Ok(())
}

impl FromStr for RegionSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<RegionSetting, String> {
        let (name, listen) = match text.split_once('=') {
            Some((name, address)) => (name.trim(), Some(address.trim().parse()?)),
            None => (text.trim(), None),
        };
        check_name(name)?;
        Ok(RegionSetting {
            name: name.to_owned(),
            listen,
        })
    }
}

impl FromStr for RegionList {
    type Err = String;

    fn from_str(text: &str) -> Result<RegionList, String> {
        let regions = text.split(';').map(str::trim);
        let regions = regions.filter(|region| !region.is_empty());
        regions
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map(RegionList)
    }
}

impl fmt::Display for RegionSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.listen.map_or(Ok(()), |listen| write!(f, "={listen}"))
    }
}

/// A region in the configuration file is the text of the flag, or a table with a name and an
/// optional address.
impl<'de> Deserialize<'de> for RegionSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RegionSetting, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a name such as \"West US\", or name and listen")]
        enum Form {
            Text(String),
            Table(Table),
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            name: String,
            listen: Option<String>,
        }
        let setting = match Form::deserialize(deserializer)? {
            Form::Text(text) => text.parse(),
            Form::Table(Table { name, listen }) => check_name(&name).and_then(|()| {
                let listen = listen.map(|listen| listen.parse()).transpose()?;
                Ok(RegionSetting { name, listen })
            }),
        };
        setting.map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses() {
        for (text, name, listen, slug) in [
            ("West US", "West US", None, "west-us"),
            (
                "West US 2=8082",
                "West US 2",
                Some("127.0.0.1:8082"),
                "west-us-2",
            ),
            (" a = 0.0.0.0:0 ", "a", Some("0.0.0.0:0"), "a"),
            ("US_(East)", "US_(East)", None, "us--east-"),
        ] {
            let region: RegionSetting = text.parse().unwrap();
            let found = region.listen.map(|listen| listen.to_string());
            assert_eq!((region.name.as_str(), found.as_deref()), (name, listen));
            assert_eq!(region.slug(), slug);
        }
        for text in ["", "=8081", "a=", "a=x", "*", "a/b", "a;b", "é"] {
            assert!(text.parse::<RegionSetting>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_list_has_semicolons() {
        let names = |text: &str| {
            let list = text.parse::<RegionList>()?;
            let texts = list.0.iter().map(ToString::to_string);
            Ok::<_, String>(texts.collect::<Vec<_>>())
        };
        assert_eq!(
            names("West US; North Europe=8082;"),
            Ok(vec![
                "West US".to_owned(),
                "North Europe=127.0.0.1:8082".to_owned()
            ])
        );
        assert!(names("a;*").is_err());
    }

    #[test]
    fn files_have_texts_or_tables() {
        #[derive(Deserialize)]
        struct File {
            regions: Vec<RegionSetting>,
        }
        let read = |text: &str| {
            toml::from_str::<File>(text).map(|file| {
                let regions = file.regions.iter();
                regions.map(ToString::to_string).collect::<Vec<_>>()
            })
        };
        let expected = ["West US", "North Europe=127.0.0.1:8082"];
        for text in [
            "regions = ['West US', 'North Europe=8082']",
            "regions = ['West US', { name = 'North Europe', listen = '8082' }]",
            "[[regions]]\nname = 'West US'\n[[regions]]\nname = 'North Europe'\nlisten = '8082'",
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
        for text in [
            "regions = ['*']",
            "regions = [1]",
            "[[regions]]\nname = 'a'\nport = 1",
            "[[regions]]\nlisten = '1'",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
