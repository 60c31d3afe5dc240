//! The capabilities of an SDK, derived from its user agent.
//!
//! No header of a query other than the user agent shows whether the SDK can carry out a plan, and
//! no header at all shows which session tokens it can parse.

use http::HeaderMap;
use http::header::USER_AGENT;

/// The capabilities of an SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SdkCapabilities {
    /// The SDK requests a plan after 400/1004 and carries it out.
    pub carries_out_plans: bool,
    /// An open query of the SDK requests a range again that a split or a merge has ended. After the
    /// answer that the range is gone, the JavaScript SDK repeats the request forever, the Python SDK
    /// returns the rows of the range from the first one again, and version 2 of the .NET SDK returns
    /// only the rows of the child that ends first.
    pub repeats_former_ranges: bool,
    /// The SDK parses every part of a session token with several ranges. Other SDKs take such a
    /// token for one of the first range: the .NET SDK fails, or stores a position that no range
    /// has.
    pub reads_token_lists: bool,
}

/// The names of SDKs in user agents, in the order in which they are searched. The Go SDK requests
/// no plan unless its program brings a query engine, and then it requests the plan before it sends
/// the query.
const SDKS: [(&str, SdkCapabilities); 9] = [
    ("azsdk-python-cosmos", PYTHON),
    ("azsdk-js-cosmos", JAVASCRIPT),
    ("azure-cosmos-js", JAVASCRIPT),
    ("azsdk-java-cosmos", PLANNING),
    ("cosmos-netstandard-sdk", PLANNING),
    ("documentdb-netcore-sdk", DOTNET_2),
    ("documentdb-dotnet-sdk", DOTNET_2),
    ("azsdk-rust-", PLANNING),
    ("azsdk-go-", NOTHING),
];
const NOTHING: SdkCapabilities = SdkCapabilities {
    carries_out_plans: false,
    repeats_former_ranges: false,
    reads_token_lists: false,
};
const PLANNING: SdkCapabilities = SdkCapabilities {
    carries_out_plans: true,
    ..NOTHING
};
const DOTNET_2: SdkCapabilities = SdkCapabilities {
    repeats_former_ranges: true,
    ..PLANNING
};
const PYTHON: SdkCapabilities = SdkCapabilities {
    repeats_former_ranges: true,
    reads_token_lists: true,
    ..PLANNING
};
const JAVASCRIPT: SdkCapabilities = PYTHON;

impl SdkCapabilities {
    /// The capabilities of the SDK in the user agent. An unknown program counts as an SDK without
    /// capabilities.
    pub fn of(headers: &HeaderMap) -> SdkCapabilities {
        let agent = headers.get(USER_AGENT);
        let agent = agent.and_then(|agent| agent.to_str().ok());
        let agent = agent.unwrap_or_default();
        let mut sdks = SDKS.iter();
        // `contains` and not `starts_with`: applications put their own name before that of the SDK.
        let known = sdks.find(|(name, _)| agent.contains(name));
        known.map_or(NOTHING, |(_, capabilities)| *capabilities)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn sdks_are_known_by_their_user_agents() {
        for (agent, expected) in [
            ("azsdk-python-cosmos/4.17.1 Python/3.11.2 (Linux)", PYTHON),
            ("azsdk-python-cosmos-async/4.17.1 Python/3.11.2", PYTHON),
            (
                "Node.js/22.1.0 (linux; x64) azure-cosmos-js/4.10.1",
                JAVASCRIPT,
            ),
            ("azsdk-java-cosmos/4.81.0 Linux/6.1 JRE/21", PLANNING),
            ("cosmos-netstandard-sdk/3.64.0|1|X64|Linux", PLANNING),
            ("documentdb-netcore-sdk/2.22.0 Linux/6.1", DOTNET_2),
            ("azsdk-go-azcosmos/v1.5.0 (go1.26; linux)", NOTHING),
            ("mine azsdk-rust-azure_data_cosmos/1.0.0", PLANNING),
            ("Mozilla/5.0 (X11; Linux x86_64)", NOTHING),
            ("curl/8.5", NOTHING),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(USER_AGENT, HeaderValue::from_static(agent));
            assert_eq!(SdkCapabilities::of(&headers), expected, "{agent}");
        }
        assert_eq!(SdkCapabilities::of(&HeaderMap::new()), NOTHING);
    }
}
