//! Functions of the language that are not implemented yet: refused by name, not as unknown.

pub(super) fn contains(name: &str) -> bool {
    NAMES
        .iter()
        .any(|pending| pending.eq_ignore_ascii_case(name))
}

#[rustfmt::skip]
const NAMES: &[&str] = &[
    // aggregates
    "AVG", "COUNT", "COUNTIF", "MAKELIST", "MAKESET", "MAX", "MIN", "SUM",
    // arrays
    "_TRY_ARRAY_CONTAINS",
    // date and time
    "AGO", "DATETIMEADD", "DATETIMEBIN", "DATETIMEDIFF", "DATETIMEFORMAT", "DATETIMEFROMPARTS",
    "DATETIMEPART", "DATETIMETOTICKS", "DATETIMETOTIMESTAMP", "DAY", "GETCURRENTDATETIME",
    "GETCURRENTDATETIMESTATIC", "GETCURRENTTICKS", "GETCURRENTTICKSSTATIC", "GETCURRENTTIMESTAMP",
    "GETCURRENTTIMESTAMPSTATIC", "IS_DATETIME", "MONTH", "NOW", "TICKSTODATETIME",
    "TIMESTAMPTODATETIME", "YEAR",
    // full text
    "FULLTEXTCONTAINS", "FULLTEXTCONTAINSALL", "FULLTEXTCONTAINSANY", "FULLTEXTSCORE",
    "FULLTEXT_CONTAINS", "FULLTEXT_CONTAINS_ALL", "FULLTEXT_CONTAINS_ANY", "RRF", "_FULLTEXTSCORE",
    "_FULLTEXTWORDCOUNT",
    // items
    "DOCUMENTID", "HASH",
    // mathematics
    "RAND",
    // space
    "ST_AREA", "ST_DISTANCE", "ST_INTERSECTS", "ST_ISVALID", "ST_ISVALIDDETAILED", "ST_WITHIN",
    // strings
    "LASTSUBSTRINGAFTER", "LASTSUBSTRINGBEFORE", "REGEXEXTRACT", "REGEXEXTRACTALL", "REGEXMATCH",
    "SUBSTRINGAFTER", "SUBSTRINGBEFORE",
    // vectors
    "VECTORDISTANCE", "_VECTORSCORE",
];
