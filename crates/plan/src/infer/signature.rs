//! The kinds of values that the built-in functions accept and give.

use super::values::Kinds;

/// What a function accepts and gives. An argument of another kind makes the result undefined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signature {
    /// One letter for each argument; the last one stands for all further arguments.
    accepted: &'static str,
    /// The kinds of the result, but for `undefined`.
    pub(super) result: Kinds,
    /// Whether accepted arguments always give a result.
    pub(super) is_total: bool,
    /// Whether no result is below zero.
    pub(super) is_not_negative: bool,
}

/// The functions by their arguments and their result. The letters: `n`umber, `s`tring, `b`oolean,
/// `a`rray, `o`bject, `d`efined, `?` anything. A capital result is given for all accepted arguments.
#[rustfmt::skip]
const SIGNATURES: &[(&str, &str, &[&str])] = &[
    ("n", "N", &["ABS", "CEILING", "COS", "DEGREES", "EXP", "FLOOR", "RADIANS", "SIGN", "SIN", "SQUARE", "TRUNC"]),
    ("n", "n", &["ACOS", "ASIN", "ATAN", "COT", "INTBITNOT", "LOG10", "SQRT", "TAN", "LOG", "NUMBERBIN", "ROUND"]),
    ("n", "n", &[
        "ATN2", "INTADD", "INTBITAND", "INTBITLEFTSHIFT", "INTBITOR", "INTBITRIGHTSHIFT", "INTBITXOR", "INTDIV",
        "INTMOD", "INTMUL", "INTMULTIPLY", "INTSUB", "POWER",
    ]),
    ("", "N", &["GETCURRENTTICKS", "GETCURRENTTICKSSTATIC", "GETCURRENTTIMESTAMP", "GETCURRENTTIMESTAMPSTATIC", "PI", "RAND"]),
    ("", "S", &["GETCURRENTDATETIME", "GETCURRENTDATETIMESTATIC"]),
    ("?", "N", &["HASH"]),
    ("s", "S", &["LOWER", "REVERSE", "UPPER", "LTRIM", "RTRIM", "TRIM"]),
    ("s", "N", &["LENGTH"]),
    ("s", "s", &[
        "CONCAT", "LASTSUBSTRINGAFTER", "LASTSUBSTRINGBEFORE", "SUBSTRINGAFTER", "SUBSTRINGBEFORE", "REPLACE",
        "REGEXEXTRACT",
    ]),
    ("sn", "S", &["LEFT", "RIGHT"]),
    ("sn", "s", &["SUBSTRING", "AGO", "NOW"]),
    ("ssn", "n", &["INDEXOF", "INDEX_OF"]),
    ("ss?", "n", &["LASTINDEXOF"]),
    ("ssb", "B", &["CONTAINS", "ENDSWITH", "STARTSWITH", "STRINGEQUALS", "STRING_EQUALS"]),
    ("sss", "b", &["REGEXMATCH"]),
    ("s?", "b", &[
        "CONTAINSALLCI", "CONTAINSALLCS", "CONTAINSANYCI", "CONTAINSANYCS", "CONTAINS_ALL_CI", "CONTAINS_ALL_CS",
        "CONTAINS_ANY_CI", "CONTAINS_ANY_CS",
    ]),
    ("as", "s", &["STRINGJOIN", "STRING_JOIN"]),
    ("s", "a", &["STRINGSPLIT", "STRING_SPLIT", "STRINGTOARRAY", "STRING_TO_ARRAY", "REGEXEXTRACTALL"]),
    ("s", "b", &["STRINGTOBOOLEAN", "STRING_TO_BOOLEAN"]),
    ("s", "0", &["STRINGTONULL", "STRING_TO_NULL"]),
    ("s", "n", &["STRINGTONUMBER", "STRING_TO_NUMBER"]),
    ("s", "o", &["STRINGTOOBJECT", "STRING_TO_OBJECT"]),
    ("d", "S", &["TOSTRING", "TO_STRING"]),
    ("?", "s", &["REPLICATE"]),
    ("a", "n", &["ARRAY_AVG", "ARRAY_MEDIAN", "ARRAY_SUM"]),
    ("a", "N", &["ARRAY_LENGTH"]),
    ("a", "?", &["ARRAY_MAX", "ARRAY_MIN"]),
    ("a", "A", &["ARRAY_CONCAT", "SETDIFFERENCE", "SETINTERSECT", "SETUNION", "SET_DIFFERENCE", "SET_INTERSECT", "SET_UNION"]),
    ("a", "B", &["SETEQUAL", "SET_EQUAL"]),
    ("an", "a", &["ARRAY_SLICE"]),
    ("adb", "b", &["ARRAY_CONTAINS"]),
    ("ddd", "b", &["_TRY_ARRAY_CONTAINS"]),
    ("a?", "b", &["ARRAY_CONTAINS_ALL", "ARRAY_CONTAINS_ANY"]),
    ("od", "a", &["OBJECTTOARRAY"]),
    ("a?", "o", &["ARRAYTOOBJECT", "ARRAY_TO_OBJECT"]),
    ("o", "n", &["DOCUMENTID"]),
    ("sns", "s", &["DATETIMEADD"]),
    ("ssns", "s", &["DATETIMEBIN"]),
    ("sss", "n", &["DATETIMEDIFF"]),
    ("ss", "s", &["DATETIMEFORMAT"]),
    ("n", "s", &["DATETIMEFROMPARTS"]),
    ("ss", "n", &["DATETIMEPART"]),
    ("s", "n", &["DATETIMETOTICKS", "DATETIMETOTIMESTAMP", "DAY", "MONTH", "YEAR"]),
    ("ns", "s", &["TICKSTODATETIME", "TIMESTAMPTODATETIME"]),
    ("sd", "b", &["FULLTEXTCONTAINS", "FULLTEXT_CONTAINS"]),
    ("d", "b", &[
        "FULLTEXTCONTAINSALL", "FULLTEXTCONTAINSANY", "FULLTEXT_CONTAINS_ALL", "FULLTEXT_CONTAINS_ANY",
    ]),
    ("s", "n", &["_FULLTEXTWORDCOUNT"]),
    ("d", "n", &["ST_AREA", "ST_DISTANCE"]),
    ("d", "b", &["ST_INTERSECTS", "ST_WITHIN"]),
    ("?", "B", &["ST_ISVALID"]),
    ("?", "O", &["ST_ISVALIDDETAILED"]),
];

/// Functions whose results are not below zero.
const NOT_NEGATIVE: &[&str] = &["ABS", "ARRAY_LENGTH", "LENGTH"];

impl Signature {
    /// The signature of a function, whose name has any case. A function without one gives anything.
    pub(super) fn of(name: &str) -> Signature {
        let is = |known: &&&str| known.eq_ignore_ascii_case(name);
        for (accepted, result, names) in SIGNATURES {
            if let Some(name) = names.iter().find(is) {
                let letter = result.chars().next().unwrap_or('?');
                return Signature {
                    accepted,
                    result: kinds(letter.to_ascii_lowercase()).without(Kinds::UNDEFINED),
                    is_total: letter.is_ascii_uppercase(),
                    is_not_negative: NOT_NEGATIVE.contains(name),
                };
            }
        }
        Signature {
            accepted: "?",
            result: Kinds::DEFINED,
            is_total: false,
            is_not_negative: false,
        }
    }

    /// The kinds that the argument at a position may have.
    pub(super) fn accepted(&self, index: usize) -> Kinds {
        let letters = self.accepted.chars();
        let letter = letters.clone().nth(index).or_else(|| letters.last());
        letter.map_or(Kinds::ALL, kinds)
    }
}

fn kinds(letter: char) -> Kinds {
    match letter {
        '0' => Kinds::NULL,
        'b' => Kinds::BOOL,
        'n' => Kinds::NUMBER,
        's' => Kinds::STRING,
        'a' => Kinds::ARRAY,
        'o' => Kinds::OBJECT,
        'd' => Kinds::DEFINED,
        _ => Kinds::ALL,
    }
}

/// The kinds that a type test looks for, if the function is one.
pub(super) fn tested(name: &str) -> Option<Kinds> {
    let upper = name.to_ascii_uppercase();
    Some(match upper.as_str() {
        "IS_ARRAY" => Kinds::ARRAY,
        "IS_BOOL" | "IS_BOOLEAN" => Kinds::BOOL,
        "IS_DEFINED" => Kinds::DEFINED,
        "IS_NULL" | "ISNULL" => Kinds::NULL,
        "IS_NUMBER" => Kinds::NUMBER,
        "IS_OBJECT" => Kinds::OBJECT,
        "IS_STRING" => Kinds::STRING,
        "IS_PRIMITIVE" => Kinds::NULL
            .with(Kinds::BOOL)
            .with(Kinds::NUMBER)
            .with(Kinds::STRING),
        _ => return None,
    })
}

/// The kinds of which some values satisfy a type test, and the values of other kinds do not.
pub(super) fn tested_in_part(name: &str) -> Option<Kinds> {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    if is("IS_INTEGER") || is("IS_FINITE_NUMBER") {
        Some(Kinds::NUMBER)
    } else if is("IS_DATETIME") {
        Some(Kinds::STRING)
    } else {
        None
    }
}
