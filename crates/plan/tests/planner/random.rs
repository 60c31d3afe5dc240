//! Random queries and constant expressions, most of them legal.

use orrery_json::{Object, Value};

pub(crate) struct Random {
    state: u64,
}

const PATHS: &[&str] = &[
    "c.a",
    "c.b",
    "c.pk",
    "c['a']",
    "c.a.b",
    "c.list[0]",
    "c.x",
    "c[\"order\"]",
    "c",
];
const CONSTANTS: &[&str] = &[
    "1",
    "0",
    "2.5",
    "-3",
    "1e20",
    "'x'",
    "\"a b\"",
    "''",
    "true",
    "false",
    "null",
    "undefined",
    "[1, 'x']",
    "{k: 1}",
    "@p",
    "@q",
];
const OPERATORS: &[&str] = &[
    "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "||", "??", "AND", "OR",
];
/// Functions with their number of arguments.
const FUNCTIONS: &[(&str, usize)] = &[
    ("ABS", 1),
    ("LENGTH", 1),
    ("LOWER", 1),
    ("UPPER", 1),
    ("CONCAT", 2),
    ("CONTAINS", 2),
    ("STARTSWITH", 2),
    ("IS_DEFINED", 1),
    ("IS_STRING", 1),
    ("IS_NUMBER", 1),
    ("ARRAY_LENGTH", 1),
    ("ARRAY_CONTAINS", 2),
    ("ROUND", 1),
    ("FLOOR", 1),
    ("SUBSTRING", 3),
    ("LEFT", 2),
    ("TOSTRING", 1),
    ("IIF", 3),
    ("ROUND", 3),
    ("NOSUCH", 1),
];
const AGGREGATES: &[&str] = &["COUNT", "SUM", "MIN", "MAX", "AVG"];

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random {
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        }
    }

    /// A query with its parameters and the key paths of its container.
    pub(crate) fn row(&mut self) -> Value {
        let query = if self.one_in(3) {
            format!("SELECT * FROM c WHERE c.pk = {}", self.constant(3))
        } else {
            self.query()
        };
        let parameter =
            |name: &str, value: Value| object([("name", name.into()), ("value", value)]);
        let paths = if self.one_in(3) {
            vec!["/a".into(), "/pk".into()]
        } else {
            vec!["/pk".into()]
        };
        object([
            ("query", query.as_str().into()),
            (
                "parameters",
                Value::Array(vec![parameter("@p", 1.into()), parameter("@q", "t".into())]),
            ),
            ("paths", Value::Array(paths)),
        ])
    }

    fn query(&mut self) -> String {
        let key = self.pick(PATHS);
        let is_grouped = self.one_in(6);
        let distinct = self.sometimes(8, |_| "DISTINCT ".to_owned());
        let top = self.sometimes(8, |_| "TOP 3 ".to_owned());
        let list = match (is_grouped, self.below(5)) {
            (true, 0) => format!("VALUE {key}"),
            (true, _) => {
                let aggregate = self.pick(AGGREGATES);
                format!("{key} AS k, {aggregate}({}) AS n", self.pick(PATHS))
            }
            (_, 0) => "*".to_owned(),
            (_, 1) => format!("VALUE {}", self.expression(2)),
            (_, 2) => format!("VALUE {}({})", self.pick(AGGREGATES), self.pick(PATHS)),
            _ => format!("{}, {} AS e", self.pick(PATHS), self.expression(2)),
        };
        let join = self.sometimes(8, |_| " JOIN u IN c.u".to_owned());
        let filter = self.sometimes(2, |random| format!(" WHERE {}", random.expression(3)));
        let rest = if is_grouped {
            format!(" GROUP BY {key}")
        } else {
            self.sometimes(4, |random| format!(" ORDER BY {}", random.pick(PATHS)))
        };
        let page = self.sometimes(10, |_| " OFFSET 1 LIMIT 2".to_owned());
        format!("SELECT {distinct}{top}{list} FROM c{join}{filter}{rest}{page}")
    }

    /// A text once in a while, else nothing.
    fn sometimes(&mut self, count: usize, text: fn(&mut Random) -> String) -> String {
        if self.one_in(count) {
            text(self)
        } else {
            String::new()
        }
    }

    fn expression(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 4 } else { 10 }) {
            0..=2 => self.pick(PATHS).to_owned(),
            3 => self.pick(CONSTANTS).to_owned(),
            4 | 5 => self.call(depth, Random::expression),
            6 => format!(
                "{} IN ({}, {})",
                self.pick(PATHS),
                self.pick(CONSTANTS),
                self.pick(CONSTANTS)
            ),
            7 => format!(
                "EXISTS(SELECT VALUE t FROM t IN c.t WHERE {})",
                self.expression(depth - 1)
            ),
            _ => self.operation(depth, Random::expression),
        }
    }

    /// An expression without paths.
    fn constant(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 1 } else { 4 }) {
            0 => self.pick(CONSTANTS).to_owned(),
            1 => self.call(depth, Random::constant),
            _ => self.operation(depth, Random::constant),
        }
    }

    fn call(&mut self, depth: usize, argument: fn(&mut Random, usize) -> String) -> String {
        let at = self.below(FUNCTIONS.len());
        let (name, count) = FUNCTIONS[at];
        let arguments: Vec<String> = (0..count).map(|_| argument(self, depth - 1)).collect();
        format!("{name}({})", arguments.join(", "))
    }

    fn operation(&mut self, depth: usize, operand: fn(&mut Random, usize) -> String) -> String {
        let (left, right) = (operand(self, depth - 1), operand(self, depth - 1));
        format!("({left} {} {right})", self.pick(OPERATORS))
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        let at = self.below(list.len());
        list[at]
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn below(&mut self, count: usize) -> usize {
        // The xorshift generator of Marsaglia.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % count as u64).unwrap_or_default()
    }
}

fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let properties = properties.map(|(name, value)| (name.to_owned(), value));
    Value::Object(properties.into_iter().collect::<Object>())
}
