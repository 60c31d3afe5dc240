//! The files of the built explorer, plain and compressed. `build.rs` writes the table.

/// A file in all forms that the build made.
pub(super) struct Asset {
    /// The path relative to the folder of the explorer.
    name: &'static str,
    /// A digest of the content.
    tag: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

/// The form of a file in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Brotli,
    Gzip,
}

/// The table, which is compiled into the program.
static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/explorer_assets.rs"));

/// The file with this path.
pub(super) fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

impl Asset {
    /// The smallest encoding that the client accepts.
    pub(super) fn encoded(&self, accepted: &str) -> (Encoding, &'static [u8]) {
        let forms = [(Encoding::Brotli, self.brotli), (Encoding::Gzip, self.gzip)];
        let packed = forms.into_iter().find_map(|(encoding, bytes)| {
            let name = encoding.header_value()?;
            accepts(accepted, name).then_some((encoding, bytes?))
        });
        packed.unwrap_or((Encoding::Plain, self.plain))
    }

    /// The entity tag of the file in this form.
    pub(super) fn entity_tag(&self, encoding: Encoding) -> String {
        // A compressed file and the plain file differ in bytes, so their tags differ.
        let ending = encoding.header_value().unwrap_or("plain");
        format!("\"{}-{ending}\"", self.tag)
    }

    /// Whether the file name contains a digest of the content, as the names in this folder do.
    pub(super) fn is_named_by_content(&self) -> bool {
        self.name.starts_with("assets/")
    }

    /// The media type for the ending of the file name.
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
    /// The value of `content-encoding`. A plain file has no such header.
    pub(super) fn header_value(self) -> Option<&'static str> {
        match self {
            Encoding::Plain => None,
            Encoding::Brotli => Some("br"),
            Encoding::Gzip => Some("gzip"),
        }
    }
}

/// Whether an `accept-encoding` header names this encoding without forbidding it by `q=0`.
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
