//! The files of the built explorer, plain and compressed. `build.rs` makes the table.

pub(super) struct Asset {
    /// Relative to the folder of the explorer.
    name: &'static str,
    /// Changes with the content.
    tag: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Brotli,
    Gzip,
}

static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/explorer_assets.rs"));

pub(super) fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

impl Asset {
    /// The smallest form that the client accepts.
    pub(super) fn encoded(&self, accepted: &str) -> (Encoding, &'static [u8]) {
        let forms = [(Encoding::Brotli, self.brotli), (Encoding::Gzip, self.gzip)];
        let packed = forms.into_iter().find_map(|(encoding, bytes)| {
            let name = encoding.header_value()?;
            accepts(accepted, name).then_some((encoding, bytes?))
        });
        packed.unwrap_or((Encoding::Plain, self.plain))
    }

    pub(super) fn entity_tag(&self, encoding: Encoding) -> String {
        let ending = encoding.header_value().unwrap_or("plain");
        format!("\"{}-{ending}\"", self.tag)
    }

    /// The build puts a digest of the content in the names of what is in this folder.
    pub(super) fn is_named_by_content(&self) -> bool {
        self.name.starts_with("assets/")
    }

    pub(super) fn content_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("json") => "application/json",
            Some("txt") => "text/plain; charset=utf-8",
            Some("woff2") => "font/woff2",
            _ => "application/octet-stream",
        }
    }
}

impl Encoding {
    pub(super) fn header_value(self) -> Option<&'static str> {
        match self {
            Encoding::Plain => None,
            Encoding::Brotli => Some("br"),
            Encoding::Gzip => Some("gzip"),
        }
    }
}

/// Whether an `accept-encoding` names this encoding and does not forbid it with `q=0`.
fn accepts(accepted: &str, encoding: &str) -> bool {
    accepted.split(',').any(|choice| {
        let (name, weight) = choice.split_once(';').unwrap_or((choice, ""));
        let forbidden = weight
            .trim()
            .strip_prefix("q=")
            .and_then(|weight| weight.parse::<f32>().ok())
            .is_some_and(|weight| weight <= 0.0);
        name.trim().eq_ignore_ascii_case(encoding) && !forbidden
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSET: Asset = Asset {
        name: "assets/a.js",
        tag: "t",
        plain: b"plain",
        brotli: Some(b"br"),
        gzip: Some(b"gz"),
    };

    #[test]
    fn the_smallest_accepted_form() {
        for (accepted, expected) in [
            ("", Encoding::Plain),
            ("identity", Encoding::Plain),
            ("gzip", Encoding::Gzip),
            ("gzip, deflate, br, zstd", Encoding::Brotli),
            ("GZIP;q=0.5, br;q=0", Encoding::Gzip),
            ("br;q=0.0,gzip;q=0", Encoding::Plain),
        ] {
            assert_eq!(ASSET.encoded(accepted).0, expected, "{accepted}");
        }
        let unpacked = Asset {
            brotli: None,
            ..ASSET
        };
        assert_eq!(unpacked.encoded("br, gzip").0, Encoding::Gzip);
    }

    #[test]
    fn every_file_has_a_type_and_a_tag_of_its_own() {
        assert!(find("index.html").is_some());
        let mut tags: Vec<_> = ASSETS.iter().map(|asset| asset.tag).collect();
        for asset in ASSETS {
            assert_ne!(
                asset.content_type(),
                "application/octet-stream",
                "{}",
                asset.name
            );
        }
        tags.sort_unstable();
        tags.dedup();
        assert_eq!(tags.len(), ASSETS.len());
    }
}
