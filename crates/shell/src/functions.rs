//! The names that completion offers and that the editor paints as functions.

/// The functions that aggregate rows. An endpoint that merges no rows needs a plan for them.
pub(crate) const AGGREGATES: [&str; 8] = [
    "AVG", "COUNT", "COUNTIF", "MAKELIST", "MAKESET", "MAX", "MIN", "SUM",
];

/// The functions of Orrery, and those that only Cosmos DB has, in capitals and sorted.
#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[&str] = &[
    "ABS", "ACOS", "AGO", "ARRAY_AVG", "ARRAY_CONCAT", "ARRAY_CONTAINS", "ARRAY_CONTAINS_ALL",
    "ARRAY_CONTAINS_ANY", "ARRAY_LENGTH", "ARRAY_MAX", "ARRAY_MEDIAN", "ARRAY_MIN", "ARRAY_SLICE",
    "ARRAY_SUM", "ASIN", "ATAN", "ATN2", "CEILING", "CHOOSE", "CONCAT", "CONTAINS", "CONTAINSALLCI",
    "CONTAINSALLCS", "CONTAINSANYCI", "CONTAINSANYCS", "CONTAINS_ALL_CI", "CONTAINS_ALL_CS",
    "CONTAINS_ANY_CI", "CONTAINS_ANY_CS", "COS", "COT", "DATETIMEADD", "DATETIMEBIN", "DATETIMEDIFF",
    "DATETIMEFORMAT", "DATETIMEFROMPARTS", "DATETIMEPART", "DATETIMETOTICKS", "DATETIMETOTIMESTAMP",
    "DAY", "DEGREES", "DOCUMENTID", "ENDSWITH", "EXP", "FLOOR", "FULLTEXTCONTAINS",
    "FULLTEXTCONTAINSALL", "FULLTEXTCONTAINSANY", "FULLTEXTSCORE", "GETCURRENTDATETIME",
    "GETCURRENTDATETIMESTATIC", "GETCURRENTTICKS", "GETCURRENTTICKSSTATIC", "GETCURRENTTIMESTAMP",
    "GETCURRENTTIMESTAMPSTATIC", "IIF", "INDEXOF", "INDEX_OF", "INTADD", "INTBITAND", "INTBITLEFTSHIFT",
    "INTBITNOT", "INTBITOR", "INTBITRIGHTSHIFT", "INTBITXOR", "INTDIV", "INTMOD", "INTMUL",
    "INTMULTIPLY", "INTSUB", "ISNULL", "IS_ARRAY", "IS_BOOL", "IS_BOOLEAN", "IS_DATETIME", "IS_DEFINED",
    "IS_FINITE_NUMBER", "IS_INTEGER", "IS_NULL", "IS_NUMBER", "IS_OBJECT", "IS_PRIMITIVE", "IS_STRING",
    "LASTINDEXOF", "LASTSUBSTRINGAFTER", "LASTSUBSTRINGBEFORE", "LEFT", "LENGTH", "LOG", "LOG10",
    "LOWER", "LTRIM", "MONTH", "NOW", "NUMBERBIN", "OBJECTTOARRAY", "PI", "POWER", "RADIANS",
    "REGEXEXTRACT", "REGEXEXTRACTALL", "REGEXMATCH", "REPLACE", "REPLICATE", "REVERSE", "RIGHT", "ROUND",
    "RRF", "RTRIM", "SETDIFFERENCE", "SETEQUAL", "SETINTERSECT", "SETUNION", "SET_DIFFERENCE",
    "SET_EQUAL", "SET_INTERSECT", "SET_UNION", "SIGN", "SIN", "SQRT", "SQUARE", "STARTSWITH",
    "STRINGEQUALS", "STRINGJOIN", "STRINGSPLIT", "STRINGTOARRAY", "STRINGTOBOOLEAN", "STRINGTONULL",
    "STRINGTONUMBER", "STRINGTOOBJECT", "STRING_EQUALS", "STRING_JOIN", "STRING_SPLIT",
    "STRING_TO_ARRAY", "STRING_TO_BOOLEAN", "STRING_TO_NULL", "STRING_TO_NUMBER", "STRING_TO_OBJECT",
    "ST_AREA", "ST_DISTANCE", "ST_INTERSECTS", "ST_ISVALID", "ST_ISVALIDDETAILED", "ST_WITHIN",
    "SUBSTRING", "SUBSTRINGAFTER", "SUBSTRINGBEFORE", "TAN", "TICKSTODATETIME", "TIMESTAMPTODATETIME",
    "TOSTRING", "TO_STRING", "TRIM", "TRUNC", "UPPER", "VECTORDISTANCE", "YEAR", "_TRY_ARRAY_CONTAINS",
];

/// Whether a word names a built-in function, in any case.
pub(crate) fn is_function(word: &str) -> bool {
    let mut all = AGGREGATES.iter().chain(FUNCTIONS);
    all.any(|name| word.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_function_of_the_server_is_here_and_in_order() {
        let compat = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../COMPAT.md");
        let compat = fs::read_to_string(compat).unwrap().replace("\r\n", "\n");
        let (_, listed) = compat.split_once("### Functions that run\n").unwrap();
        let (listed, _) = listed.split_once("\n### ").unwrap();
        let rows = listed.lines().filter(|line| line.starts_with("| "));
        let names: Vec<&str> = rows
            .flat_map(|row| row.split('`').skip(1).step_by(2))
            .collect();
        assert!(names.len() > 50);
        for name in names {
            assert!(is_function(name), "{name} is not offered");
        }
        assert!(FUNCTIONS.is_sorted() && AGGREGATES.is_sorted());
        assert!(is_function("count") && !is_function("c"));
    }
}
