// The words of the query language: keywords, and functions with their arguments.

export const KEYWORDS = [
  "SELECT", "DISTINCT", "TOP", "VALUE", "AS", "FROM", "JOIN", "IN", "WHERE", "AND", "OR", "NOT", "BETWEEN", "LIKE",
  "ESCAPE", "EXISTS", "ARRAY", "GROUP", "ORDER", "BY", "ASC", "DESC", "OFFSET", "LIMIT", "RANK",
];
export const CONSTANTS = ["true", "false", "null", "undefined"];

/** Name and arguments, as the completion shows them. */
export const FUNCTIONS: readonly (readonly [string, string])[] = [
  ["COUNT", "(value)"], ["SUM", "(number)"], ["AVG", "(number)"], ["MIN", "(value)"], ["MAX", "(value)"],
  ["COUNTIF", "(condition)"], ["MAKELIST", "(value)"], ["MAKESET", "(value)"],
  ["ABS", "(number)"], ["ACOS", "(number)"], ["ASIN", "(number)"], ["ATAN", "(number)"], ["ATN2", "(y, x)"],
  ["CEILING", "(number)"], ["COS", "(number)"], ["COT", "(number)"], ["DEGREES", "(number)"], ["EXP", "(number)"],
  ["FLOOR", "(number)"], ["INTADD", "(a, b)"], ["INTBITAND", "(a, b)"], ["INTBITLEFTSHIFT", "(a, b)"],
  ["INTBITNOT", "(a)"], ["INTBITOR", "(a, b)"], ["INTBITRIGHTSHIFT", "(a, b)"], ["INTBITXOR", "(a, b)"],
  ["INTDIV", "(a, b)"], ["INTMOD", "(a, b)"], ["INTMUL", "(a, b)"], ["INTSUB", "(a, b)"], ["LOG", "(number, base?)"],
  ["LOG10", "(number)"], ["NUMBERBIN", "(number, size?)"], ["PI", "()"], ["POWER", "(number, exponent)"],
  ["RADIANS", "(number)"], ["RAND", "()"], ["ROUND", "(number, digits?)"], ["SIGN", "(number)"], ["SIN", "(number)"],
  ["SQRT", "(number)"], ["SQUARE", "(number)"], ["TAN", "(number)"], ["TRUNC", "(number)"],
  ["CONCAT", "(text, text, …)"], ["CONTAINS", "(text, part, ignoreCase?)"], ["ENDSWITH", "(text, end, ignoreCase?)"],
  ["INDEX_OF", "(text, part, from?)"], ["LEFT", "(text, count)"], ["LENGTH", "(text)"], ["LOWER", "(text)"],
  ["LTRIM", "(text)"], ["REGEXMATCH", "(text, pattern, modifiers?)"], ["REPLACE", "(text, part, by)"],
  ["REPLICATE", "(text, count)"], ["REVERSE", "(text)"], ["RIGHT", "(text, count)"], ["RTRIM", "(text)"],
  ["STARTSWITH", "(text, start, ignoreCase?)"], ["STRINGEQUALS", "(a, b, ignoreCase?)"],
  ["STRINGJOIN", "(array, separator)"], ["STRINGSPLIT", "(text, separator)"], ["STRINGTOARRAY", "(text)"],
  ["STRINGTOBOOLEAN", "(text)"], ["STRINGTONULL", "(text)"], ["STRINGTONUMBER", "(text)"], ["STRINGTOOBJECT", "(text)"],
  ["SUBSTRING", "(text, start, count)"], ["TOSTRING", "(value)"], ["TRIM", "(text)"], ["UPPER", "(text)"],
  ["ARRAY_CONCAT", "(array, array, …)"], ["ARRAY_CONTAINS", "(array, value, partial?)"],
  ["ARRAY_CONTAINS_ALL", "(array, value, …)"], ["ARRAY_CONTAINS_ANY", "(array, value, …)"], ["ARRAY_LENGTH", "(array)"],
  ["ARRAY_SLICE", "(array, start, count?)"], ["CHOOSE", "(index, value, …)"], ["OBJECTTOARRAY", "(object)"],
  ["SETINTERSECT", "(array, array)"], ["SETUNION", "(array, array)"], ["SETDIFFERENCE", "(array, array)"],
  ["SETEQUAL", "(array, array)"], ["IIF", "(condition, then, else)"],
  ["IS_ARRAY", "(value)"], ["IS_BOOL", "(value)"], ["IS_DATETIME", "(value)"], ["IS_DEFINED", "(value)"],
  ["IS_FINITE_NUMBER", "(value)"], ["IS_INTEGER", "(value)"], ["IS_NULL", "(value)"], ["IS_NUMBER", "(value)"],
  ["IS_OBJECT", "(value)"], ["IS_PRIMITIVE", "(value)"], ["IS_STRING", "(value)"],
  ["DATETIMEADD", "(part, number, date)"], ["DATETIMEBIN", "(date, part, size?, origin?)"],
  ["DATETIMEDIFF", "(part, from, to)"], ["DATETIMEFROMPARTS", "(year, month, day, …)"], ["DATETIMEPART", "(part, date)"],
  ["DATETIMETOTICKS", "(date)"], ["DATETIMETOTIMESTAMP", "(date)"], ["GETCURRENTDATETIME", "()"],
  ["GETCURRENTTICKS", "()"], ["GETCURRENTTIMESTAMP", "()"], ["TICKSTODATETIME", "(ticks)"],
  ["TIMESTAMPTODATETIME", "(timestamp)"],
  ["ST_AREA", "(geometry)"], ["ST_DISTANCE", "(geometry, geometry)"], ["ST_INTERSECTS", "(geometry, geometry)"],
  ["ST_ISVALID", "(geometry)"], ["ST_ISVALIDDETAILED", "(geometry)"], ["ST_WITHIN", "(geometry, geometry)"],
  ["DOCUMENTID", "(item)"],
];
