//! If a spatial function holds for two geometries, their cells overlap.

use orrery_exec::{SpatialRelation, evaluate_function};
use orrery_json::{Object, Value};
use orrery_model::{BoundingBox, SpatialIndex};
use proptest::prelude::*;

use super::Grid;
use crate::definition_tests::policy;
use crate::value::write_cell;

fn grids() -> [Grid; 2] {
    let policy = policy(r#"{"spatialIndexes":[{"path":"/a/?","types":["Point"]}]}"#);
    let globe = policy.spatial[0].clone();
    let boxed = SpatialIndex {
        bounding_box: Some(BoundingBox {
            x_min: (-30).into(),
            y_min: (-20).into(),
            x_max: 40.into(),
            y_max: 60.into(),
        }),
        ..globe.clone()
    };
    [Grid::of(&globe), Grid::of(&boxed)]
}

fn numbers(position: (f64, f64)) -> Value {
    Value::Array(vec![Value::from(position.0), Value::from(position.1)])
}

fn geometry(kind: &str, coordinates: Value) -> Value {
    let mut object = Object::default();
    object.insert("type".to_owned(), Value::from(kind));
    object.insert("coordinates".to_owned(), coordinates);
    Value::Object(object)
}

fn point(position: (f64, f64)) -> Value {
    geometry("Point", numbers(position))
}

fn ring(corners: &[(f64, f64)]) -> Value {
    let closed = corners.iter().chain(corners.first());
    Value::Array(closed.copied().map(numbers).collect())
}

/// Positions near the equator, the date line, the poles, and elsewhere.
fn position() -> impl Strategy<Value = (f64, f64)> {
    prop_oneof![
        (-180.0..180.0, -90.0..90.0),
        (-30.0..30.0, 30.0..70.0),
        (170.0..180.0, -20.0..20.0),
        (-180.0..-170.0, -20.0..20.0),
        (-180.0..180.0, 80.0..90.0),
        (-180.0..180.0, -90.0..-85.0),
        (
            proptest::sample::select(vec![-180.0, 0.0, 1.0, 90.0, 180.0]),
            proptest::sample::select(vec![-90.0, -1.0, 0.0, 45.0, 90.0])
        ),
    ]
}

/// The position at an offset in longitude and latitude, wrapped to valid coordinates.
fn moved(from: (f64, f64), by: (f64, f64)) -> (f64, f64) {
    let longitude = (from.0 + by.0 + 540.0).rem_euclid(360.0) - 180.0;
    (longitude, (from.1 + by.1).clamp(-90.0, 90.0))
}

fn shape_at(position: (f64, f64)) -> impl Strategy<Value = Value> {
    let step = prop_oneof![
        (-0.01..0.01, -0.01..0.01),
        (-3.0..3.0, -3.0..3.0),
        (-60.0..60.0, -40.0..40.0),
    ];
    let steps = proptest::collection::vec(step, 3..6);
    (steps, 0_usize..6, 0.001_f64..40.0).prop_map(move |(steps, kind, size)| {
        let at: Vec<(f64, f64)> = steps.iter().map(|step| moved(position, *step)).collect();
        let corners = |(west, south): (f64, f64)| {
            [(0.0, 0.0), (size, 0.0), (size, size), (0.0, size)]
                .map(|step| moved((west, south), step))
        };
        match kind {
            0 => point(position),
            1 => geometry(
                "LineString",
                Value::Array(at.iter().copied().map(numbers).collect()),
            ),
            2 => geometry("Polygon", Value::Array(vec![ring(&at)])),
            3 => {
                let mut clockwise = corners(position);
                clockwise.reverse();
                geometry("Polygon", Value::Array(vec![ring(&clockwise)]))
            }
            4 => {
                let polygon = |at| Value::Array(vec![ring(&corners(at))]);
                geometry(
                    "MultiPolygon",
                    Value::Array(vec![polygon(position), polygon(at[0])]),
                )
            }
            _ => geometry("Polygon", Value::Array(vec![ring(&corners(position))])),
        }
    })
}

/// Two shapes, mostly near each other.
fn shapes() -> impl Strategy<Value = (Value, Value)> {
    let near = prop_oneof![
        Just((0.0, 0.0)),
        (-0.01..0.01, -0.01..0.01),
        (-5.0..5.0, -5.0..5.0),
        (-180.0..180.0, -90.0..90.0),
    ];
    (position(), near)
        .prop_flat_map(|(position, step)| (shape_at(position), shape_at(moved(position, step))))
}

fn is_found(grid: &Grid, stored: &Value, asked: &Value, relation: SpatialRelation) -> bool {
    let ranges = grid.cover_query(asked, relation);
    grid.cells(stored).into_iter().any(|cell| {
        let mut key = Vec::new();
        write_cell(cell, &mut key);
        key.extend_from_slice(b"place");
        ranges.iter().any(|(from, to)| *from <= key && key < *to)
    })
}

fn ask(function: &str, a: &Value, b: &Value) -> Option<Value> {
    evaluate_function(function, &[a.clone(), b.clone()])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_matches_is_found((stored, asked) in shapes()) {
        for grid in grids() {
            for (function, relation) in [
                ("ST_WITHIN", SpatialRelation::Within),
                ("ST_INTERSECTS", SpatialRelation::Intersects),
            ] {
                for (a, b) in [(&stored, &asked), (&asked, &stored)] {
                    if ask(function, a, b) == Some(Value::Bool(true)) {
                        prop_assert!(
                            is_found(&grid, &stored, &asked, relation),
                            "{function} {a} {b}"
                        );
                    }
                }
            }
            if let Some(Value::Number(metres)) = ask("ST_DISTANCE", &stored, &asked) {
                let metres_max = metres.as_f64();
                let relation = SpatialRelation::Distance { metres_max };
                prop_assert!(is_found(&grid, &stored, &asked, relation), "{metres_max}");
            }
        }
    }

    #[test]
    fn points_within_a_distance_are_found(
        centre in position(),
        step in prop_oneof![
            (-0.001..0.001, -0.001..0.001),
            (-1.0..1.0, -1.0..1.0),
            (-180.0..180.0, -90.0..90.0)
        ],
    ) {
        let (stored, asked) = (point(moved(centre, step)), point(centre));
        let Some(Value::Number(metres)) = ask("ST_DISTANCE", &stored, &asked) else {
            panic!("points have a distance");
        };
        let relation = SpatialRelation::Distance { metres_max: metres.as_f64() };
        for grid in grids() {
            prop_assert!(is_found(&grid, &stored, &asked, relation));
        }
    }

    #[test]
    fn cells_are_few_and_ranges_are_apart((stored, asked) in shapes()) {
        for grid in grids() {
            let cells = grid.cells(&stored);
            prop_assert!((1..=8).contains(&cells.len()), "{cells:?}");
            let ranges = grid.cover_query(&asked, SpatialRelation::Intersects);
            prop_assert!(ranges.iter().all(|(from, to)| from < to));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}

#[test]
fn what_is_far_away_is_not_found() {
    let [globe, _] = grids();
    let relation = SpatialRelation::Distance { metres_max: 5000.0 };
    let asked = point((2.35, 48.85));
    assert!(is_found(&globe, &point((2.36, 48.86)), &asked, relation));
    assert!(!is_found(&globe, &point((2.95, 48.85)), &asked, relation));
    assert!(!is_found(&globe, &point((-73.9, 40.7)), &asked, relation));
}

#[test]
fn a_ring_that_crosses_itself_is_everywhere() {
    let [globe, _] = grids();
    let crossed = geometry(
        "Polygon",
        Value::Array(vec![ring(&[
            (-37.1, -3.3),
            (-17.6, -0.6),
            (0.0, -2.2),
            (0.0, 0.0),
        ])]),
    );
    assert!(is_found(
        &globe,
        &point((0.0, -23.4)),
        &crossed,
        SpatialRelation::Within
    ));
}

/// Two of the three corners are the south pole, so the ring has no area, and rounding decides what
/// `ST_WITHIN` takes for its inside.
#[test]
fn a_ring_without_area_is_everywhere() {
    let [globe, _] = grids();
    let flat = geometry(
        "Polygon",
        Value::Array(vec![ring(&[
            (-117.578_209_190_467_82, -90.0),
            (-160.396_042_550_764_15, -85.556_687_200_246_8),
            (-160.396_042_550_764_15, -90.0),
        ])]),
    );
    let (far, relation) = (point((115.14, -33.96)), SpatialRelation::Within);
    assert!(is_found(&globe, &flat, &far, relation));
    assert!(is_found(&globe, &far, &flat, relation));
}

#[test]
fn what_is_no_geometry_is_nowhere() {
    let [globe, _] = grids();
    for value in [
        Value::Null,
        geometry("Circle", Value::Null),
        point((181.0, 0.0)),
        geometry("Polygon", Value::Array(Vec::new())),
    ] {
        assert!(globe.cells(&value).is_empty(), "{value}");
        let ranges = globe.cover_query(&value, SpatialRelation::Within);
        assert!(ranges.is_empty(), "{value}");
    }
}
