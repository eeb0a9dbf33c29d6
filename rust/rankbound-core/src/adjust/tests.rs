use ndarray::{Array2, ArrayView2, Axis, Slice, array};
use proptest::prelude::*;

use super::{Knots, Transform, dead_classes, fit_knots, transform_matrix};
use crate::error::{Error, Result};
use crate::input::Element;
use crate::par::Par;

fn apply(transform: &Transform, row: &[f64]) -> Result<Vec<f64>> {
    let mut out = vec![f64::NAN; row.len()];
    transform.apply_row(0, row, &mut out).map(|()| out)
}

fn fit<T: Element>(reference: &ArrayView2<'_, T>, n_knots: usize) -> Knots {
    Par::unwatched(2, |par| fit_knots(par, reference, n_knots, false)).expect("a legal reference")
}

fn column(values: &[f64]) -> Array2<f64> {
    Array2::from_shape_vec((values.len(), 1), values.to_vec()).expect("one column")
}

#[test]
fn shrinkage_matches_the_beta_posterior_mean() {
    // (n s + strength pi) / (n + strength): 3/40, then 83/210; a class never seen gives its rate, 0.
    for (count, n_labelled, strength, score, expected) in
        [(10, 1000, 50.0, 0.4, 3.0 / 40.0), (300, 1000, 15.0, 0.4, 83.0 / 210.0), (0, 7, 50.0, 0.9, 0.0)]
    {
        let transform = Transform::rates(&[count], n_labelled, &[false], 0.0, strength).expect("legal");
        let value = apply(&transform, &[score]).expect("legal")[0];
        assert!((value - expected).abs() < 1e-15, "{value} {expected}");
    }
}

#[test]
fn a_score_at_the_base_rate_is_exactly_one_at_alpha_one() {
    let counts = [3, 1, 2, 7, 11];
    let transform = Transform::rates(&counts, 49, &[false; 5], 1.0, 50.0).expect("legal");
    let rates: Vec<f64> = counts.iter().map(|&count| count as f64 / 49.0).collect();
    assert_eq!(apply(&transform, &rates), Ok(vec![1.0; 5]));
}

#[test]
fn the_discount_changes_the_order_across_classes() {
    let scores = [0.4, 0.1, 0.3];
    for (alpha, expected) in
        [(0.0, scores), (0.5, [0.730_296_743_34, 1.0, 0.670_820_393_25]), (1.0, [4.0 / 3.0, 10.0, 1.5])]
    {
        let transform = Transform::rates(&[30, 1, 20], 100, &[false; 3], alpha, 0.0).expect("legal");
        for (value, expected) in apply(&transform, &scores).expect("legal").iter().zip(expected) {
            assert!((value - expected).abs() < 1e-11, "{value} {expected}");
        }
    }
}

#[test]
fn a_class_never_seen_counts_as_seen_once_and_zero_stays_zero() {
    let transform = Transform::rates(&[0, 1, 9], 10, &[false; 3], 1.0, 0.0).expect("legal");
    assert_eq!(apply(&transform, &[0.2, 0.2, 0.0]), Ok(vec![0.2 / 0.1, 0.2 / 0.1, 0.0]));
}

#[test]
fn dead_classes_and_masks_keep_their_place() {
    let mask = f64::NEG_INFINITY;
    let transform = Transform::rates(&[5, 5, 0], 10, &[true, false, false], 0.5, 50.0).expect("legal");
    let row = apply(&transform, &[0.7, mask, mask]).expect("legal");
    assert_eq!(row, vec![0.0, mask, mask]);
    let knots = fit(&array![[0.0, 0.5, 0.0], [0.0, 0.5, 0.5]].view(), 101);
    assert_eq!(knots.dead, [true, false, false]);
    assert_eq!(apply(&Transform::Percentile(knots), &[0.7, mask, 0.0]), Ok(vec![0.0, mask, 0.25]));
    assert_eq!(apply(&Transform::Identity, &[0.7, mask, -3.0]), Ok(vec![0.7, mask, -3.0]));
}

#[test]
fn nothing_to_do_is_the_identity() {
    assert_eq!(Transform::rates(&[0], 0, &[false], 0.0, 0.0), Ok(Transform::Identity));
}

#[test]
fn refused_scores_name_their_place() {
    let shrunk = Transform::rates(&[5, 5], 10, &[false; 2], 0.0, 1.0).expect("legal");
    let discounted = Transform::rates(&[5, 5], 10, &[false; 2], 1.0, 0.0).expect("legal");
    let percentile = Transform::Percentile(fit(&array![[0.0, 1.0]].view(), 2));
    for transform in [&shrunk, &discounted, &percentile, &Transform::Identity] {
        for value in [f64::NAN, f64::INFINITY] {
            let mut out = [0.0; 2];
            let error = transform.apply_row(7, &[0.5, value], &mut out);
            assert!(matches!(error, Err(Error::NonFiniteScore { row: 7, column: 1, .. })), "{error:?}");
        }
    }
    for (transform, value) in [(&shrunk, 1.5), (&shrunk, -0.1), (&discounted, -0.1), (&discounted, f64::MAX)] {
        let error = apply(transform, &[0.5, value]).expect_err("out of range");
        assert!(matches!(error, Error::ScoreOutOfRange { row: 0, column: 1, .. }), "{error}");
    }
    assert!(apply(&shrunk, &[0.5]).is_err());
}

#[test]
fn refused_parameters() {
    for (alpha, strength) in [(-1.0, 0.0), (f64::NAN, 0.0), (f64::INFINITY, 0.0), (0.0, -1.0), (0.0, f64::NAN)] {
        assert!(matches!(Transform::rates(&[1], 2, &[false], alpha, strength), Err(Error::Parameter(_))));
    }
    assert!(Transform::rates(&[0, 0], 5, &[false; 2], 1.0, 0.0).is_err(), "no base rate");
    assert!(Transform::rates(&[1], 10, &[false], 400.0, 0.0).is_err(), "the divisor underflows");
    assert!(Transform::rates(&[3], 2, &[false], 1.0, 0.0).is_err(), "more positives than rows");
    assert!(Transform::rates(&[3], 5, &[], 1.0, 0.0).is_err(), "lengths differ");
}

#[test]
fn percentiles_of_the_worked_example() {
    let reference = column(&[0.0, 0.5, 0.0, 0.2, 0.0]);
    let queries = [-1.0, 0.0, 0.1, 0.2, 0.3, 0.5, 1.0];
    for (n_knots, expected) in [
        (101, [0.0, 3.0 / 10.0, 3.0 / 5.0, 7.0 / 10.0, 4.0 / 5.0, 9.0 / 10.0, 1.0]),
        (3, [0.0, 3.0 / 10.0, 3.0 / 5.0, 7.0 / 10.0, 4.0 / 5.0, 9.0 / 10.0, 1.0]),
        (2, [0.0, 3.0 / 10.0, 16.0 / 25.0, 17.0 / 25.0, 18.0 / 25.0, 9.0 / 10.0, 1.0]),
    ] {
        let knots = fit(&reference.view(), n_knots);
        for (query, expected) in queries.iter().zip(expected) {
            let value = knots.percentile(0, *query);
            assert!((value - expected).abs() < 1e-15, "{n_knots} {query}: {value} {expected}");
        }
    }
}

#[test]
fn knots_are_evenly_spaced_order_statistics_with_halves_rounded_up() {
    let knots = fit(&column(&[5.0, 4.0, 3.0, 2.0, 1.0, 0.0]).view(), 3);
    assert_eq!((knots.values.as_slice(), knots.less.as_slice()), ([0.0, 3.0, 5.0].as_slice(), [0, 3, 5].as_slice()));
}

#[test]
fn percentiles_of_special_columns() {
    let constant = fit(&column(&[0.3; 4]).view(), 101);
    assert_eq!([0.2, 0.3, 0.4].map(|query| constant.percentile(0, query)), [0.0, 0.5, 1.0]);
    let zeros = fit(&column(&[0.0, -0.0]).view(), 101);
    assert_eq!([-1.0, 0.0, 1.0].map(|query| zeros.percentile(0, query)), [0.0; 3]);
    let signed = fit(&column(&[-0.0, 0.0, 1.0]).view(), 101);
    assert_eq!((signed.values.as_slice(), signed.percentile(0, -0.0)), ([0.0, 1.0].as_slice(), 2.0 / 6.0));
    assert!(signed.values[0].is_sign_positive());
    // 0.5 is as far from -1e20 as 1 is, and 1/9 + (6/9 - 1/9) rounds up.
    let far = fit(&column(&[-1e20, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0]).view(), 2);
    assert_eq!(far.percentile(0, 0.5), 6.0 / 9.0);
    let wide = fit(&column(&[-f64::MAX, 1.0, 2.0, f64::MAX]).view(), 2);
    assert_eq!(wide.percentile(0, 0.0), 0.5);
}

#[test]
fn a_mask_in_the_reference_is_left_out() {
    let mask = f32::NEG_INFINITY;
    let reference = array![[mask, 0.0, mask], [0.5, mask, mask], [0.7, 0.0, mask]];
    let two = reference.slice_axis(Axis(1), Slice::from(..2));
    let knots = Par::unwatched(2, |par| fit_knots(par, &two, 101, true)).expect("legal");
    assert_eq!((knots.percentile(0, 0.5), &knots.dead), (0.25, &vec![false, true]));
    let dead = Par::unwatched(2, |par| dead_classes(par, &reference.view(), true));
    assert_eq!(dead, Ok(vec![false, true, false]));
    let error = Par::unwatched(2, |par| fit_knots(par, &reference.view(), 101, true));
    assert!(matches!(error, Err(Error::Parameter(message)) if message.contains("column 2")));
    for error in [
        Par::unwatched(2, |par| fit_knots(par, &reference.view(), 101, false)).map(|_| ()),
        Par::unwatched(2, |par| dead_classes(par, &reference.view(), false)).map(|_| ()),
    ] {
        assert!(matches!(error, Err(Error::NonFiniteScore { row: 0, column: 0, .. })));
    }
}

#[test]
fn threads_and_strides_do_not_matter() {
    let scores = Array2::from_shape_fn((300, 701), |(row, column)| ((row * 31 + column * 17) % 97) as f32 / 96.0);
    let counts: Vec<u64> = (0..701).collect();
    let columnwise = scores.t().as_standard_layout().reversed_axes().into_owned();
    assert!(columnwise.as_slice().is_none());
    let run = |num_threads, view: &ArrayView2<'_, f32>| {
        Par::unwatched(num_threads, |par| {
            let knots = fit_knots(par, view, 20, false)?;
            let dead = dead_classes(par, view, false)?;
            assert_eq!(dead, knots.dead);
            let rates = Transform::rates(&counts, 245_350, &dead, 0.7, 50.0)?;
            let rates = transform_matrix(par, &rates, view, false)?;
            Ok::<_, Error>((transform_matrix(par, &Transform::Percentile(knots.clone()), view, false)?, rates, knots))
        })
    };
    let one = run(1, &scores.view());
    let (percentiles, rates, knots) = one.clone().expect("legal");
    let row = scores.row(299).mapv(f64::from).to_vec();
    let counted = Transform::rates(&counts, 245_350, &knots.dead, 0.7, 50.0).expect("legal");
    assert_eq!(apply(&counted, &row), Ok(rates.row(299).to_vec()));
    assert_eq!(apply(&Transform::Percentile(knots), &row), Ok(percentiles.row(299).to_vec()));
    assert_eq!(one, run(5, &scores.view()));
    assert_eq!(one, run(2, &columnwise.view()));
}

#[test]
fn stored_knots_are_checked() {
    let good = fit(&column(&[0.1, 0.2, 0.2]).view(), 5);
    let rebuilt =
        Knots::new(good.values.clone(), good.less.clone(), good.equal.clone(), good.offsets.clone(), vec![false]);
    assert_eq!(rebuilt, Ok(good));
    for (values, less, equal, offsets) in [
        (vec![0.2, 0.1], vec![0, 1], vec![1, 2], vec![0, 2]),
        (vec![0.1, f64::NAN], vec![0, 1], vec![1, 2], vec![0, 2]),
        (vec![0.1, 0.2], vec![0, 0], vec![1, 2], vec![0, 2]),
        (vec![0.1, 0.2], vec![1, 2], vec![1, 2], vec![0, 2]),
        (vec![0.1, 0.2], vec![0, 1], vec![1, 0], vec![0, 2]),
        (vec![0.1, 0.2], vec![0, u32::MAX], vec![1, 1], vec![0, 2]),
        (vec![0.1, 0.2], vec![0, 1], vec![1, 2], vec![0, 1]),
        (vec![0.1], vec![0, 1], vec![1, 2], vec![0, 2]),
        (vec![], vec![], vec![], vec![0, 0]),
    ] {
        assert!(Knots::new(values, less, equal, offsets, vec![false]).is_err());
    }
}

/// Twice the mid-rank ECDF times the number of rows: an integer.
fn twice_mid_rank(reference: &[f64], query: f64) -> usize {
    let less = reference.iter().filter(|value| **value < query).count();
    2 * less + reference.iter().filter(|value| **value == query).count()
}

proptest! {
    #[test]
    fn with_every_value_a_knot_the_percentile_is_the_mid_rank_ecdf(
        numerators in prop::collection::vec(0_i32..12, 1..60),
        queries in prop::collection::vec(-1_i32..26, 1..20),
    ) {
        let reference: Vec<f64> = numerators.iter().map(|value| f64::from(*value) / 12.0).collect();
        let knots = fit(&column(&reference).view(), 12);
        for query in queries {
            let query = f64::from(query) / 24.0;
            let all_zero = numerators.iter().all(|value| *value == 0);
            let expected = if all_zero { 0 } else { twice_mid_rank(&reference, query) };
            // One division of integers on both sides: equal to the bit.
            prop_assert_eq!(knots.percentile(0, query), expected as f64 / (2 * reference.len()) as f64);
        }
    }

    #[test]
    fn with_few_knots_the_error_is_bounded_and_the_order_kept(
        numerators in prop::collection::vec(-40_i32..40, 2..120),
        atom in 0_usize..60,
        n_knots in 2_usize..9,
    ) {
        let mut reference: Vec<f64> = numerators.iter().map(|value| f64::from(*value) / 41.0).collect();
        reference.extend(vec![0.0; atom]);
        prop_assume!(reference.iter().any(|value| *value != 0.0));
        let knots = fit(&column(&reference).view(), n_knots);
        let n = reference.len() as f64;
        let bound = 1.0 / (n_knots - 1) as f64 + 1.0 / n + 1e-12;
        let mut before = 0.0;
        for query in -500..=500 {
            let query = f64::from(query) / 410.0;
            let value = knots.percentile(0, query);
            let exact = twice_mid_rank(&reference, query) as f64 / (2.0 * n);
            prop_assert!((value - exact).abs() <= bound, "{} {}", value, exact);
            prop_assert!(before <= value && value <= 1.0);
            before = value;
        }
    }

    #[test]
    fn rates_keep_the_order_within_a_class(
        count in 0_u64..50,
        strength in 0.0_f64..200.0,
        alpha in 0.0_f64..3.0,
        low in 0.0_f64..1.0,
        high in 0.0_f64..1.0,
    ) {
        let transform = Transform::rates(&[count, 50 - count], 50, &[false; 2], alpha, strength)?;
        let (low, high) = (low.min(high), low.max(high));
        let (low, high) = (apply(&transform, &[low, low])?, apply(&transform, &[high, high])?);
        prop_assert!(low[0] <= high[0] && low[1] <= high[1]);
    }
}
