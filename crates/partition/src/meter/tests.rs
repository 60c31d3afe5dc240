use orrery_keys::KeyComponent;

use super::*;

fn reservation(now_ms: u64) -> Reservation {
    Reservation {
        now_ms,
        priority: PriorityLevel::High,
        bucket: None,
    }
}

fn low(now_ms: u64) -> Reservation {
    Reservation {
        priority: PriorityLevel::Low,
        ..reservation(now_ms)
    }
}

fn in_bucket(number: u8, now_ms: u64) -> Reservation {
    Reservation {
        bucket: Some(number),
        ..reservation(now_ms)
    }
}

fn meter(units: u32) -> Meter {
    let meter = Meter::default();
    let rates = Rates {
        units: Some(units),
        ..Rates::default()
    };
    meter.set(&rates, 0);
    meter
}

/// Runs requests with this charge until one is rejected.
fn flood(meter: &Meter, reservation: Reservation, units: f64) -> f64 {
    let charge = Charge::from_units(units);
    let mut sum = 0.0;
    while meter.admit(reservation, Charge::ZERO).is_ok() {
        meter.charge(reservation, charge, Charge::ZERO, None);
        sum += units;
    }
    sum
}

#[test]
fn a_meter_without_rates_does_nothing() {
    let meter = Meter::default();
    for _ in 0..1_000 {
        assert_eq!(meter.admit(reservation(0), Charge::ZERO), Ok(()));
        meter.charge(
            reservation(0),
            Charge::from_units(100.0),
            Charge::ZERO,
            None,
        );
    }
    assert_eq!(meter.report(0), MeterReport::default());
}

#[test]
fn totals_and_the_last_full_second() {
    let meter = meter(400);
    flood(&meter, reservation(100), 10.0);
    let report = meter.report(200);
    assert_eq!((report.requests, report.throttled), (40, 1));
    assert_eq!(report.charged, Charge::from_units(400.0));
    assert_eq!(report.used, Charge::ZERO);
    assert_eq!(meter.report(1_100).used, Charge::from_units(400.0));
    meter.charge(
        reservation(1_200),
        Charge::from_units(3.0),
        Charge::ZERO,
        None,
    );
    assert_eq!(meter.report(1_300).used, Charge::from_units(400.0));
    assert_eq!(meter.report(2_300).used, Charge::from_units(3.0));
    assert_eq!(meter.report(9_300).used, Charge::ZERO);
}

#[test]
fn a_charge_in_advance_keeps_concurrent_requests_within_the_budget() {
    let meter = meter(400);
    let price = Charge::from_units(5.0);
    let mut admitted = 0;
    while meter.admit(reservation(0), price).is_ok() {
        admitted += 1;
    }
    assert_eq!(admitted, 80);
    for _ in 0..admitted {
        meter.charge(reservation(0), Charge::from_units(7.0), price, None);
    }
    // 560 units are used; 160 of them are a debt of the next second.
    let refused = meter.admit(reservation(500), price);
    assert_eq!(
        refused,
        Err(Failure::TooManyRequests {
            retry_after_ms: 500
        })
    );
    assert!((flood(&meter, reservation(1_000), 1.0) - 240.0).abs() < 1e-9);
}

#[test]
fn low_priority_gets_what_high_priority_leaves() {
    let meter = meter(400);
    // Without high-priority requests, low priority gets the whole budget.
    assert!((flood(&meter, low(0), 1.0) - 400.0).abs() < 1e-9);
    let mut sums = (0.0, 0.0);
    for second in 1..=10 {
        for part in 0..10 {
            let now_ms = second * 1_000 + part * 100;
            sums.1 += flood(&meter, low(now_ms), 1.0);
            for _ in 0..30 {
                let admitted = meter.admit(reservation(now_ms), Charge::ZERO);
                if second > 1 {
                    assert_eq!(admitted, Ok(()), "{now_ms}");
                }
                if admitted.is_ok() {
                    meter.charge(reservation(now_ms), Charge::MIN, Charge::ZERO, None);
                    sums.0 += 1.0;
                }
            }
        }
    }
    assert!((2_700.0..=3_000.0).contains(&sums.0), "{sums:?}");
    assert!((900.0..=1_400.0).contains(&sums.1), "{sums:?}");
}

#[test]
fn a_bucket_is_a_ceiling_and_others_go_on() {
    let meter = Meter::default();
    let rates = Rates {
        units: Some(400),
        buckets: [Some(100), None, None, None, None],
        ..Rates::default()
    };
    meter.set(&rates, 0);
    assert!((flood(&meter, in_bucket(1, 0), 1.0) - 100.0).abs() < 1e-9);
    assert_eq!(
        meter.admit(in_bucket(1, 0), Charge::ZERO),
        Err(Failure::BucketExceeded {
            retry_after_ms: 1_000
        })
    );
    // A request with an unknown bucket uses the budget of the container.
    assert!((flood(&meter, in_bucket(2, 0), 1.0) - 300.0).abs() < 1e-9);
    assert_eq!(
        meter.admit(reservation(0), Charge::ZERO),
        Err(Failure::TooManyRequests {
            retry_after_ms: 1_000
        })
    );
    meter.set(
        &Rates {
            default_bucket: Some(1),
            ..rates
        },
        5_000,
    );
    assert!((flood(&meter, reservation(5_000), 1.0) - 100.0).abs() < 1e-9);
}

#[test]
fn a_pool_is_shared() {
    let pool = Arc::new(ThroughputBudget::new(400, 0));
    let meters = [Meter::default(), Meter::default()];
    for meter in &meters {
        let rates = Rates {
            pool: Some(Arc::clone(&pool)),
            ..Rates::default()
        };
        meter.set(&rates, 0);
    }
    let price = Charge::from_units(150.0);
    meters[0].charge(reservation(0), price, Charge::ZERO, None);
    assert!((flood(&meters[1], reservation(0), 1.0) - 250.0).abs() < 1e-9);
    assert!(meters[0].admit(reservation(0), Charge::ZERO).is_err());
    assert_eq!(meters[1].report(0).units, Some(400));
    assert_eq!(meters[0].report(0).charged, price);
}

#[test]
fn hot_keys_are_sampled_when_there_is_much() {
    let meter = meter(1_000_000);
    let key = |name: &str| PartitionKey::new(vec![KeyComponent::String(name.to_owned())]);
    for round in 0..20_000 {
        let name = if round % 2 == 0 {
            "hot".to_owned()
        } else {
            format!("cold {round}")
        };
        meter.charge(reservation(0), Charge::MIN, Charge::ZERO, Some(&key(&name)));
    }
    let hot = meter.hot_keys(0);
    assert_eq!(hot[0].key, key("hot"));
    assert!((0.4..0.6).contains(&hot[0].share), "{}", hot[0].share);
}

#[test]
fn charges_of_many_threads_are_all_counted() {
    let meter = meter(1_000_000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    meter.charge(reservation(0), Charge::MIN, Charge::ZERO, None);
                }
            });
        }
    });
    let report = meter.report(0);
    assert_eq!(report.requests, 40_000);
    assert_eq!(report.charged, Charge::from_units(40_000.0));
    assert_eq!(report.throttled, 0);
}
