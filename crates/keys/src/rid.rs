//! Resource ids: the `_rid` of a resource, which identifies the resource and all its ancestors.
//!
//! | resource | bytes |
//! |---|---|
//! | database | `database[4]` |
//! | container | `database[4] container[4]`, highest bit of byte 4 set |
//! | user | `database[4] user[4]`, highest bit of byte 4 clear |
//! | child of a container | `database[4] container[4] counter[8]`, kind in the highest four bits |
//! | permission | `database[4] user[4] counter[8]` |
//! | offer | `offer[3]` |
//!
//! The text is base64 with padding and with `-` in place of `/`. Counters of children are
//! little-endian, and clients compare them as integers. A catalogue assigns all other numbers,
//! counting from one. A multiplication scatters these numbers, so that the ids of neighbours differ
//! visibly in a log or a URL.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, PAD};

/// The reason why a text is not a resource id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a resource id of kind {expected}")]
pub struct RidError {
    pub text: String,
    pub expected: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseRid(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerRid {
    database: DatabaseRid,
    container: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserRid {
    database: DatabaseRid,
    user: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermissionRid {
    user: UserRid,
    counter: u64,
}

/// The kind of a container's child. The discriminant is the kind's code in the resource id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChildKind {
    Item = 0,
    Conflict = 4,
    PartitionKeyRange = 5,
    UserDefinedFunction = 6,
    Trigger = 7,
    StoredProcedure = 8,
}

/// Any child of a container. Items and partition key ranges also have types of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildRid {
    container: ContainerRid,
    kind: ChildKind,
    counter: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemRid {
    container: ContainerRid,
    counter: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionKeyRangeRid {
    container: ContainerRid,
    counter: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferRid(u32);

/// Whether the segment after `dbs` in a URL is a resource id: eight characters that encode four
/// bytes. If so, all segments of that URL are resource ids.
pub fn is_database_rid(segment: &str) -> bool {
    let mut bytes = [0; 6];
    segment.len() == 8
        && matches!(LENIENT.decode_slice(segment, &mut bytes), Ok(length) if length == 4)
}

/// Appends the 24 characters of the resource id. Every stored item contains this text.
pub fn write_item_rid(rid: &ItemRid, out: &mut Vec<u8>) {
    let mut text = [0; 24];
    let length = TEXT
        .encode_slice(rid.to_bytes(), &mut text)
        .expect("16 bytes are 24 characters");
    out.extend_from_slice(&text[..length]);
}

impl DatabaseRid {
    /// On zero, which clients interpret as a missing database.
    pub fn new(id: u32) -> DatabaseRid {
        assert!(id != 0, "database ids count from one");
        DatabaseRid(id)
    }

    pub fn id(self) -> u32 {
        self.0
    }

    pub fn to_bytes(self) -> [u8; 4] {
        scatter(self.0, 32).to_be_bytes()
    }

    fn from_bytes(bytes: [u8; 4]) -> Option<DatabaseRid> {
        let id = gather(u32::from_be_bytes(bytes), 32);
        (id != 0).then_some(DatabaseRid(id))
    }
}

/// Set in the encoded number of a container, clear in the encoded number of a user.
const CONTAINER_BIT: u32 = 1 << 31;

impl ContainerRid {
    /// # Panics
    /// On zero and from 2^31 on.
    pub fn new(database: DatabaseRid, id: u32) -> ContainerRid {
        assert!(
            id != 0 && id < CONTAINER_BIT,
            "container ids count from one and have 31 bits"
        );
        ContainerRid {
            database,
            container: id,
        }
    }

    pub fn database(self) -> DatabaseRid {
        self.database
    }

    pub fn id(self) -> u32 {
        self.container
    }

    pub fn to_bytes(self) -> [u8; 8] {
        let container = scatter(self.container, 31) | CONTAINER_BIT;
        join(self.database.to_bytes(), container.to_be_bytes())
    }

    fn from_bytes(bytes: [u8; 8]) -> Option<ContainerRid> {
        let (database, container) = halves(bytes);
        let database = DatabaseRid::from_bytes(database)?;
        let wire = u32::from_be_bytes(container);
        let id = gather(wire, 31);
        (wire & CONTAINER_BIT != 0 && id != 0).then_some(ContainerRid {
            database,
            container: id,
        })
    }
}

impl UserRid {
    /// # Panics
    /// On zero and from 2^31 on.
    pub fn new(database: DatabaseRid, id: u32) -> UserRid {
        assert!(
            id != 0 && id < CONTAINER_BIT,
            "user ids count from one and have 31 bits"
        );
        UserRid { database, user: id }
    }

    pub fn database(self) -> DatabaseRid {
        self.database
    }

    pub fn id(self) -> u32 {
        self.user
    }

    pub fn to_bytes(self) -> [u8; 8] {
        let user = scatter(self.user, 31);
        join(self.database.to_bytes(), user.to_be_bytes())
    }

    fn from_bytes(bytes: [u8; 8]) -> Option<UserRid> {
        let (database, user) = halves(bytes);
        let database = DatabaseRid::from_bytes(database)?;
        let wire = u32::from_be_bytes(user);
        let id = gather(wire, 31);
        (wire & CONTAINER_BIT == 0 && id != 0).then_some(UserRid { database, user: id })
    }
}

/// Bits of a counter. The four bits above the counter encode the kind.
const COUNTER_BITS: u32 = 60;

impl ChildRid {
    /// # Panics
    /// When the counter is zero or has more than 60 bits.
    pub fn new(container: ContainerRid, kind: ChildKind, counter: u64) -> ChildRid {
        check_counter(counter);
        ChildRid {
            container,
            kind,
            counter,
        }
    }

    pub fn container(self) -> ContainerRid {
        self.container
    }

    pub fn kind(self) -> ChildKind {
        self.kind
    }

    pub fn counter(self) -> u64 {
        self.counter
    }

    pub fn to_bytes(self) -> [u8; 16] {
        let child = (self.kind as u64) << COUNTER_BITS | self.counter;
        join(self.container.to_bytes(), child.to_le_bytes())
    }

    fn from_bytes(bytes: [u8; 16]) -> Option<ChildRid> {
        let (container, child) = halves(bytes);
        let container = ContainerRid::from_bytes(container)?;
        let (kind, counter) = split_child(u64::from_le_bytes(child))?;
        Some(ChildRid {
            container,
            kind: ChildKind::from_mark(kind)?,
            counter,
        })
    }

    fn of_kind(bytes: [u8; 16], kind: ChildKind) -> Option<ChildRid> {
        ChildRid::from_bytes(bytes).filter(|child| child.kind == kind)
    }
}

impl ChildKind {
    fn from_mark(mark: u64) -> Option<ChildKind> {
        [
            ChildKind::Item,
            ChildKind::Conflict,
            ChildKind::PartitionKeyRange,
            ChildKind::UserDefinedFunction,
            ChildKind::Trigger,
            ChildKind::StoredProcedure,
        ]
        .into_iter()
        .find(|kind| *kind as u64 == mark)
    }
}

impl ItemRid {
    /// Counters must grow with the creation of items inside a partition: clients use the counter to
    /// order items with equal sort keys.
    ///
    /// # Panics
    /// When the counter is zero or has more than 60 bits.
    pub fn new(container: ContainerRid, counter: u64) -> ItemRid {
        check_counter(counter);
        ItemRid { container, counter }
    }

    pub fn container(self) -> ContainerRid {
        self.container
    }

    pub fn counter(self) -> u64 {
        self.counter
    }

    pub fn to_bytes(self) -> [u8; 16] {
        ChildRid::new(self.container, ChildKind::Item, self.counter).to_bytes()
    }

    fn from_bytes(bytes: [u8; 16]) -> Option<ItemRid> {
        let child = ChildRid::of_kind(bytes, ChildKind::Item)?;
        Some(ItemRid::new(child.container, child.counter))
    }
}

impl PartitionKeyRangeRid {
    /// # Panics
    /// When the counter is zero or has more than 60 bits.
    pub fn new(container: ContainerRid, counter: u64) -> PartitionKeyRangeRid {
        check_counter(counter);
        PartitionKeyRangeRid { container, counter }
    }

    pub fn container(self) -> ContainerRid {
        self.container
    }

    pub fn counter(self) -> u64 {
        self.counter
    }

    pub fn to_bytes(self) -> [u8; 16] {
        ChildRid::new(self.container, ChildKind::PartitionKeyRange, self.counter).to_bytes()
    }

    fn from_bytes(bytes: [u8; 16]) -> Option<PartitionKeyRangeRid> {
        let child = ChildRid::of_kind(bytes, ChildKind::PartitionKeyRange)?;
        Some(PartitionKeyRangeRid::new(child.container, child.counter))
    }
}

impl PermissionRid {
    /// # Panics
    /// When the counter is zero or has more than 60 bits.
    pub fn new(user: UserRid, counter: u64) -> PermissionRid {
        check_counter(counter);
        PermissionRid { user, counter }
    }

    pub fn user(self) -> UserRid {
        self.user
    }

    pub fn counter(self) -> u64 {
        self.counter
    }

    pub fn to_bytes(self) -> [u8; 16] {
        join(self.user.to_bytes(), self.counter.to_le_bytes())
    }

    fn from_bytes(bytes: [u8; 16]) -> Option<PermissionRid> {
        let (user, counter) = halves(bytes);
        let user = UserRid::from_bytes(user)?;
        match split_child(u64::from_le_bytes(counter))? {
            (0, counter) => Some(PermissionRid { user, counter }),
            _ => None,
        }
    }
}

impl OfferRid {
    /// # Panics
    /// On zero and from 2^24 on.
    pub fn new(id: u32) -> OfferRid {
        assert!(
            id != 0 && id < 1 << 24,
            "offer ids count from one and have 24 bits"
        );
        OfferRid(id)
    }

    pub fn id(self) -> u32 {
        self.0
    }

    pub fn to_bytes(self) -> [u8; 3] {
        let [_, bytes @ ..] = scatter(self.0, 24).to_be_bytes();
        bytes
    }

    fn from_bytes([a, b, c]: [u8; 3]) -> Option<OfferRid> {
        let id = gather(u32::from_be_bytes([0, a, b, c]), 24);
        (id != 0).then_some(OfferRid(id))
    }
}

/// All resource ids share one text form and differ only in their bytes.
macro_rules! text_form {
    ($($rid:ident: $expected:literal),+ $(,)?) => {$(
        impl $rid {
            /// Reads exactly what [`Display`](fmt::Display) writes.
            pub fn parse(text: &str) -> Result<$rid, RidError> {
                decode(text).and_then($rid::from_bytes).ok_or_else(|| RidError {
                    text: text.to_owned(),
                    expected: $expected,
                })
            }
        }

        impl fmt::Display for $rid {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                base64::display::Base64Display::new(&self.to_bytes(), &TEXT).fmt(f)
            }
        }
    )+};
}

text_form! {
    DatabaseRid: "database",
    ContainerRid: "container",
    UserRid: "user",
    PermissionRid: "permission",
    ChildRid: "child of a container",
    ItemRid: "item",
    PartitionKeyRangeRid: "partition key range",
    OfferRid: "offer",
}

const TEXT: GeneralPurpose = GeneralPurpose::new(&ALPHABET, PAD);

/// Accepts non-zero trailing bits: clients check only the length when they distinguish names from
/// resource ids.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

const ALPHABET: Alphabet =
    match Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-") {
        Ok(alphabet) => alphabet,
        Err(_) => panic!("64 different characters"),
    };

fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    // The longest resource id has 16 bytes. Base64 decodes in groups of three bytes, so 18 bytes of
    // room suffice, and a longer text fails here.
    let mut bytes = [0; 18];
    let length = TEXT.decode_slice(text, &mut bytes).ok()?;
    bytes[..length].try_into().ok()
}

const MULTIPLIER: u32 = 0x9E37_79B1;
const INVERSE: u32 = inverse(MULTIPLIER);

/// A bijection on the numbers of `bits` bits that maps zero to zero.
fn scatter(id: u32, bits: u32) -> u32 {
    id.wrapping_mul(MULTIPLIER) & mask(bits)
}

/// Undoes [`scatter`]; bits above `bits` are ignored.
fn gather(wire: u32, bits: u32) -> u32 {
    wire.wrapping_mul(INVERSE) & mask(bits)
}

fn mask(bits: u32) -> u32 {
    u32::MAX >> (u32::BITS - bits)
}

/// Newton's method: each step doubles the number of correct low bits. An odd number is its own
/// inverse in the lowest three bits.
const fn inverse(odd: u32) -> u32 {
    let mut inverse = odd;
    let mut right_bits = 3;
    while right_bits < u32::BITS {
        inverse = inverse.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(inverse)));
        right_bits *= 2;
    }
    inverse
}

fn check_counter(counter: u64) {
    assert!(
        counter != 0 && counter >> COUNTER_BITS == 0,
        "counters begin at one and have 60 bits"
    );
}

/// Splits the code of the kind from the counter. `None` if the counter is zero.
fn split_child(child: u64) -> Option<(u64, u64)> {
    let counter = child & ((1 << COUNTER_BITS) - 1);
    (counter != 0).then_some((child >> COUNTER_BITS, counter))
}

fn join<const N: usize, const M: usize>(first: [u8; N], second: [u8; N]) -> [u8; M] {
    const { assert!(M == 2 * N) };
    let mut joined = [0; M];
    joined[..N].copy_from_slice(&first);
    joined[N..].copy_from_slice(&second);
    joined
}

fn halves<const N: usize, const M: usize>(joined: [u8; M]) -> ([u8; N], [u8; N]) {
    const { assert!(M == 2 * N) };
    let (mut first, mut second) = ([0; N], [0; N]);
    first.copy_from_slice(&joined[..N]);
    second.copy_from_slice(&joined[N..]);
    (first, second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn resource_ids_of_one_database_round_trip() {
        fn check<R: fmt::Display>(text: &str, parse: fn(&str) -> Result<R, RidError>) -> R {
            let rid = parse(text).unwrap();
            assert_eq!(rid.to_string(), text);
            rid
        }
        let database = check("kRNGAA==", DatabaseRid::parse);
        let container = check("kRNGAOrVWJo=", ContainerRid::parse);
        assert_eq!(container.database(), database);
        let item = check("kRNGAOrVWJoBAAAAAAAAAA==", ItemRid::parse);
        assert_eq!((item.container(), item.counter()), (container, 1));
        let range = check("kRNGAOrVWJoCAAAAAAAAUA==", PartitionKeyRangeRid::parse);
        assert_eq!((range.container(), range.counter()), (container, 2));
        for (text, kind) in [
            ("kRNGAOrVWJoBAAAAAAAAAA==", ChildKind::Item),
            ("kRNGAOrVWJoBAAAAAAAAQA==", ChildKind::Conflict),
            ("kRNGAOrVWJoBAAAAAAAAUA==", ChildKind::PartitionKeyRange),
            ("kRNGAOrVWJoBAAAAAAAAYA==", ChildKind::UserDefinedFunction),
            ("kRNGAOrVWJoBAAAAAAAAcA==", ChildKind::Trigger),
            ("kRNGAOrVWJoBAAAAAAAAgA==", ChildKind::StoredProcedure),
        ] {
            assert_eq!(
                check(text, ChildRid::parse),
                ChildRid::new(container, kind, 1)
            );
        }
        let user = check("kRNGACoAAQA=", UserRid::parse);
        assert_eq!(user.database(), database);
        let permission = check("kRNGACoAAQABAAAAAAAAAA==", PermissionRid::parse);
        assert_eq!(permission, PermissionRid::new(user, 1));
        check("E+p7", OfferRid::parse);
    }

    #[test]
    fn resource_ids_of_other_kinds_are_refused() {
        for text in [
            "",
            "kRNGAA",
            "kRNGAA=",
            "kRNGAB==",
            "AAAAAA==",
            "E+p7",
            "kRNGAOrVWJo=",
            "kR/GAA==",
        ] {
            assert!(DatabaseRid::parse(text).is_err(), "{text}");
        }
        for text in ["kRNGACoAAQA=", "kRNGAA==", "AAAAAOrVWJo=", "kRNGAIAAAAA="] {
            assert!(ContainerRid::parse(text).is_err(), "{text}");
        }
        for text in ["kRNGAOrVWJo=", "kRNGAAAAAAA="] {
            assert!(UserRid::parse(text).is_err(), "{text}");
        }
        for text in [
            "kRNGAOrVWJoAAAAAAAAAAA==",
            "kRNGAOrVWJoBAAAAAAAAUA==",
            "kRNGACoAAQABAAAAAAAAAA==",
            "kRNGAOrVWJoBAAAAAAAAAAAAAAA=",
        ] {
            assert!(ItemRid::parse(text).is_err(), "{text}");
        }
        assert!(ChildRid::parse("kRNGAOrVWJoBAAAAAAAAEA==").is_err());
        assert!(PermissionRid::parse("kRNGACoAAQABAAAAAAAAUA==").is_err());
        assert!(OfferRid::parse("AAAA").is_err());
        let long = "A".repeat(1000);
        assert!(ItemRid::parse(&long).is_err());
        assert_eq!(
            OfferRid::parse("x").unwrap_err().to_string(),
            "'x' is not a resource id of kind offer"
        );
    }

    #[test]
    fn urls_tell_names_from_resource_ids() {
        for (segment, expected) in [
            ("kRNGAA==", true),
            ("kR-GAA==", true),
            ("kRNGAB==", true),
            ("database", false),
            ("kRNGAAA=", false),
            ("kRNGAA", false),
            ("a b c ==", false),
            ("ééGA==", false),
            ("kRNGAOrVWJo=", false),
            ("", false),
        ] {
            assert_eq!(is_database_rid(segment), expected, "{segment}");
        }
    }

    #[test]
    fn small_ids_look_different() {
        assert_eq!(DatabaseRid::new(1).to_string(), "njd5sQ==");
        assert_eq!(DatabaseRid::new(2).to_string(), "PG7zYg==");
        assert_eq!(OfferRid::new(1).to_string(), "N3mx");
    }

    proptest! {
        #[test]
        fn print_then_parse_is_identity(
            database in 1_u32..,
            second in 1_u32..1 << 31,
            counter in 1_u64..1 << 60,
            offer in 1_u32..1 << 24,
        ) {
            let database = DatabaseRid::new(database);
            let container = ContainerRid::new(database, second);
            let user = UserRid::new(database, second);
            let item = ItemRid::new(container, counter);
            let range = PartitionKeyRangeRid::new(container, counter);
            let permission = PermissionRid::new(user, counter);
            let offer = OfferRid::new(offer);
            prop_assert!(is_database_rid(&database.to_string()));
            prop_assert_eq!(DatabaseRid::parse(&database.to_string()), Ok(database));
            prop_assert_eq!(ContainerRid::parse(&container.to_string()), Ok(container));
            prop_assert_eq!(UserRid::parse(&user.to_string()), Ok(user));
            prop_assert_eq!(ItemRid::parse(&item.to_string()), Ok(item));
            prop_assert_eq!(PartitionKeyRangeRid::parse(&range.to_string()), Ok(range));
            prop_assert_eq!(PermissionRid::parse(&permission.to_string()), Ok(permission));
            prop_assert_eq!(OfferRid::parse(&offer.to_string()), Ok(offer));
            prop_assert!(ContainerRid::parse(&user.to_string()).is_err());
            let mut text = Vec::new();
            write_item_rid(&item, &mut text);
            prop_assert_eq!(text, item.to_string().into_bytes());
        }
    }
}
