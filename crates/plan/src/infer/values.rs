//! Sets of values: by kind, by an interval of numbers or of texts, or listed one by one.

use std::cmp::Ordering;

use orrery_json::{Value, compare, equal};

/// A set of kinds of values. Both booleans are kinds of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Kinds = Kinds(0);
    pub(super) const UNDEFINED: Kinds = Kinds(1);
    pub(super) const NULL: Kinds = Kinds(1 << 1);
    pub(super) const FALSE: Kinds = Kinds(1 << 2);
    pub(super) const TRUE: Kinds = Kinds(1 << 3);
    pub(super) const NUMBER: Kinds = Kinds(1 << 4);
    pub(super) const STRING: Kinds = Kinds(1 << 5);
    pub(super) const ARRAY: Kinds = Kinds(1 << 6);
    pub(super) const OBJECT: Kinds = Kinds(1 << 7);
    pub(super) const BOOL: Kinds = Kinds(1 << 2 | 1 << 3);
    pub(super) const ALL: Kinds = Kinds(u8::MAX);
    pub(super) const DEFINED: Kinds = Kinds(u8::MAX - 1);

    pub(super) fn of(value: &Value) -> Kinds {
        match value {
            Value::Undefined => Kinds::UNDEFINED,
            Value::Null => Kinds::NULL,
            Value::Bool(value) => Kinds::of_bool(*value),
            Value::Number(_) => Kinds::NUMBER,
            Value::String(_) => Kinds::STRING,
            Value::Array(_) => Kinds::ARRAY,
            Value::Object(_) => Kinds::OBJECT,
        }
    }

    pub(super) fn of_bool(value: bool) -> Kinds {
        if value { Kinds::TRUE } else { Kinds::FALSE }
    }

    pub(super) const fn with(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// This set if the condition holds, else the empty set.
    pub(super) fn when(self, condition: bool) -> Kinds {
        if condition { self } else { Kinds::NONE }
    }

    pub(super) fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    pub(super) fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether both sets have a kind in common.
    pub(super) fn meets(self, other: Kinds) -> bool {
        !self.and(other).is_empty()
    }
}

/// One end of an interval of numbers or of texts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bound {
    pub(super) value: Value,
    pub(super) is_inclusive: bool,
}

/// The ends of an interval; an absent end is open.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Interval {
    pub(super) low: Option<Bound>,
    pub(super) high: Option<Bound>,
}

/// A list is not made longer than this; it becomes a set of kinds.
const LISTED_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Values {
    kinds: Kinds,
    numbers: Interval,
    texts: Interval,
    /// Values that the set lacks, although their kind and interval has them.
    except: Vec<Value>,
    /// All values of the set; `kinds` are theirs, and the other fields mean nothing.
    listed: Option<Vec<Value>>,
}

impl Values {
    pub(super) fn of_kinds(kinds: Kinds) -> Values {
        Values {
            kinds,
            numbers: Interval::default(),
            texts: Interval::default(),
            except: Vec::new(),
            listed: None,
        }
    }

    pub(super) fn of(value: Value) -> Values {
        let kinds = Kinds::of(&value);
        Values {
            listed: Some(vec![value]),
            ..Values::of_kinds(kinds)
        }
    }

    /// The values of the interval, which has the kind of its ends.
    pub(super) fn within(kind: Kinds, interval: Interval) -> Values {
        let mut values = Values::of_kinds(kind);
        if kind == Kinds::NUMBER {
            values.numbers = interval;
        } else {
            values.texts = interval;
        }
        values.settled()
    }

    /// Every value but this one and `undefined`.
    pub(super) fn other_than(value: Value) -> Values {
        Values {
            except: vec![value],
            ..Values::of_kinds(Kinds::DEFINED)
        }
    }

    pub(super) fn kinds(&self) -> Kinds {
        self.kinds
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The only value of the set.
    pub(super) fn single(&self) -> Option<&Value> {
        match self.listed.as_deref() {
            Some([value]) => Some(value),
            _ => None,
        }
    }

    /// The values of a short set.
    pub(super) fn listed(&self) -> Option<&[Value]> {
        self.listed.as_deref()
    }

    pub(super) fn may_be(&self, kinds: Kinds) -> bool {
        self.kinds.meets(kinds)
    }

    fn contains(&self, value: &Value) -> bool {
        let is_same =
            |known: &Value| equal(known, value) || known.is_undefined() && value.is_undefined();
        if let Some(listed) = &self.listed {
            return listed.iter().any(is_same);
        }
        self.may_be(Kinds::of(value))
            && !self.except.iter().any(is_same)
            && match value {
                Value::Number(_) => self.numbers.contains(value),
                Value::String(_) => self.texts.contains(value),
                _ => true,
            }
    }

    pub(super) fn of_only(&self, kinds: Kinds) -> Values {
        self.intersection(&Values::of_kinds(kinds))
    }

    pub(super) fn intersection(&self, other: &Values) -> Values {
        match (&self.listed, &other.listed) {
            (Some(listed), _) => Values::of_list(listed, |value| other.contains(value)),
            (None, Some(listed)) => Values::of_list(listed, |value| self.contains(value)),
            (None, None) => Values {
                kinds: self.kinds.and(other.kinds),
                numbers: self.numbers.intersection(&other.numbers),
                texts: self.texts.intersection(&other.texts),
                except: [self.except.as_slice(), &other.except].concat(),
                listed: None,
            }
            .settled(),
        }
    }

    fn of_list(listed: &[Value], accept: impl Fn(&Value) -> bool) -> Values {
        let listed: Vec<Value> = listed
            .iter()
            .filter(|value| accept(value))
            .cloned()
            .collect();
        let kinds = listed.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::with);
        Values {
            listed: Some(listed),
            ..Values::of_kinds(kinds)
        }
    }

    pub(super) fn union(&self, other: &Values) -> Values {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        if let (Some(left), Some(right)) = (&self.listed, &other.listed)
            && left.len() + right.len() <= LISTED_MAX
        {
            return Values::of_list(&[left.as_slice(), right].concat(), |_| true);
        }
        Values {
            kinds: self.kinds.with(other.kinds),
            numbers: self.hull(other, Kinds::NUMBER),
            texts: self.hull(other, Kinds::STRING),
            except: Vec::new(),
            listed: None,
        }
    }

    /// An interval with all numbers or texts of both sets.
    fn hull(&self, other: &Values, kind: Kinds) -> Interval {
        match (self.interval(kind), other.interval(kind)) {
            (Some(left), Some(right)) => left.hull(&right),
            (Some(interval), None) | (None, Some(interval)) => interval,
            (None, None) => Interval::default(),
        }
    }

    /// The interval of the numbers or the texts of this set; `None` without one.
    pub(super) fn interval(&self, kind: Kinds) -> Option<Interval> {
        if !self.may_be(kind) {
            return None;
        }
        let Some(listed) = &self.listed else {
            return Some(if kind == Kinds::NUMBER {
                self.numbers.clone()
            } else {
                self.texts.clone()
            });
        };
        listed
            .iter()
            .filter(|value| Kinds::of(value) == kind)
            .map(|value| Interval::point(value.clone()))
            .reduce(|left, right| left.hull(&right))
    }

    /// Drops the kinds whose interval is empty.
    fn settled(mut self) -> Values {
        if self.numbers.is_empty() {
            self.kinds = self.kinds.without(Kinds::NUMBER);
        }
        if self.texts.is_empty() {
            self.kinds = self.kinds.without(Kinds::STRING);
        }
        for value in &self.except {
            // The set lacks the only value of such a kind.
            if matches!(value, Value::Null | Value::Bool(_)) {
                self.kinds = self.kinds.without(Kinds::of(value));
            }
            let is_point = |interval: &Interval| *interval == Interval::point(value.clone());
            if is_point(&self.numbers) {
                self.kinds = self.kinds.without(Kinds::NUMBER);
            }
            if is_point(&self.texts) {
                self.kinds = self.kinds.without(Kinds::STRING);
            }
        }
        self
    }
}

impl Interval {
    fn point(value: Value) -> Interval {
        let bound = Bound {
            value,
            is_inclusive: true,
        };
        Interval {
            low: Some(bound.clone()),
            high: Some(bound),
        }
    }

    fn contains(&self, value: &Value) -> bool {
        let above = self.low.as_ref().is_none_or(|low| {
            let order = compare(value, &low.value);
            order == Ordering::Greater || low.is_inclusive && order == Ordering::Equal
        });
        let below = self.high.as_ref().is_none_or(|high| {
            let order = compare(value, &high.value);
            order == Ordering::Less || high.is_inclusive && order == Ordering::Equal
        });
        above && below
    }

    fn is_empty(&self) -> bool {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => match compare(&low.value, &high.value) {
                Ordering::Less => false,
                Ordering::Equal => !(low.is_inclusive && high.is_inclusive),
                Ordering::Greater => true,
            },
            _ => false,
        }
    }

    fn intersection(&self, other: &Interval) -> Interval {
        let tighter =
            |left: &Option<Bound>, right: &Option<Bound>, wanted: Ordering| match (left, right) {
                (None, bound) | (bound, None) => bound.clone(),
                (Some(left), Some(right)) => Some(match compare(&left.value, &right.value) {
                    Ordering::Equal if left.is_inclusive => right.clone(),
                    order if order == wanted || order == Ordering::Equal => left.clone(),
                    _ => right.clone(),
                }),
            };
        Interval {
            low: tighter(&self.low, &other.low, Ordering::Greater),
            high: tighter(&self.high, &other.high, Ordering::Less),
        }
    }

    fn hull(&self, other: &Interval) -> Interval {
        let looser = |left: &Option<Bound>, right: &Option<Bound>, wanted: Ordering| {
            let (Some(left), Some(right)) = (left, right) else {
                return None;
            };
            Some(match compare(&left.value, &right.value) {
                Ordering::Equal if left.is_inclusive => left.clone(),
                order if order == wanted => left.clone(),
                _ => right.clone(),
            })
        };
        Interval {
            low: looser(&self.low, &other.low, Ordering::Less),
            high: looser(&self.high, &other.high, Ordering::Greater),
        }
    }

    /// Whether this interval has a value that is less than a value of the other interval.
    pub(super) fn may_be_below(&self, other: &Interval) -> bool {
        match (&self.low, &other.high) {
            (Some(low), Some(high)) => compare(&low.value, &high.value) == Ordering::Less,
            _ => true,
        }
    }

    /// Whether the intervals have a value in common.
    pub(super) fn meets(&self, other: &Interval) -> bool {
        !self.intersection(other).is_empty()
    }
}
