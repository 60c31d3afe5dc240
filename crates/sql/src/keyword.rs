//! Reserved words. In any case they are neither bare identifiers nor names behind a dot.

macro_rules! keywords {
    ($($name:ident $text:literal)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Keyword {
            $($name,)*
        }

        impl Keyword {
            /// The keyword of a word in any case, but for `udf`, which only lower case spells.
            pub(crate) fn of(word: &str) -> Option<Keyword> {
                $(if word.eq_ignore_ascii_case($text) {
                    let keyword = Keyword::$name;
                    return (keyword != Keyword::Udf || word == "udf").then_some(keyword);
                })*
                None
            }
        }

        /// Every reserved word, in capitals.
        pub const KEYWORDS: &[&str] = &[$($text),*];
    };
}

// Some words have no production; they are listed because identifiers may not use them.
keywords! {
    And "AND" Array "ARRAY" As "AS" Asc "ASC" Between "BETWEEN" By "BY" Case "CASE" Cast "CAST"
    Convert "CONVERT" Cross "CROSS" Desc "DESC" Distinct "DISTINCT" Else "ELSE" End "END"
    Escape "ESCAPE" Exists "EXISTS" False "FALSE" For "FOR" From "FROM" Group "GROUP"
    Having "HAVING" In "IN" Inner "INNER" Insert "INSERT" Into "INTO" Is "IS" Join "JOIN"
    Left "LEFT" Like "LIKE" Limit "LIMIT" Not "NOT" Null "NULL" Offset "OFFSET" On "ON" Or "OR"
    Order "ORDER" Outer "OUTER" Over "OVER" Right "RIGHT" Select "SELECT" Set "SET" Then "THEN"
    Top "TOP" True "TRUE" Udf "UDF" Undefined "UNDEFINED" Update "UPDATE" Value "VALUE"
    When "WHEN" Where "WHERE" With "WITH"
}

/// Whether `word` can be an identifier without quotation.
pub(crate) fn is_identifier(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(starts_identifier)
        && chars.all(continues_identifier)
        && Keyword::of(word).is_none()
}

/// Whether an identifier can begin with this character: a letter of any script within 16 bits.
pub(crate) fn starts_identifier(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii() && c <= '\u{FFFF}' && c.is_alphabetic()
}

/// Whether an identifier can continue with this character.
pub(crate) fn continues_identifier(c: char) -> bool {
    starts_identifier(c) || c.is_ascii_digit() || !c.is_ascii() && c <= '\u{FFFF}' && c.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_no_identifiers_in_any_case() {
        for text in KEYWORDS {
            assert!(!is_identifier(text) || *text == "UDF", "{text}");
            assert!(!is_identifier(&text.to_lowercase()), "{text}");
        }
        for word in [
            "a", "_1", "LET", "rank", "All", "FIRST", "last", "values", "UDF", "é日", "a²",
        ] {
            assert!(is_identifier(word), "{word}");
        }
        for word in ["", "1a", "a-b", "²", "😀"] {
            assert!(!is_identifier(word), "{word}");
        }
    }
}
