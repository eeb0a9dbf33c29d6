use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, array};
use proptest::prelude::*;

use super::count::{PairCounter, PairCounts};
use super::*;
use crate::testing::{Dice, Layout};

/// Looks at every pair.
fn plain_counts(y_true: &[f64], y_pred: &[f64]) -> PairCounts {
    let mut counts = PairCounts::default();
    for (first, second) in (0..y_true.len()).flat_map(|second| (0..second).map(move |first| (first, second))) {
        let sides = [y_true, y_pred].map(|positions| positions[first].partial_cmp(&positions[second]).unwrap());
        match sides.map(std::cmp::Ordering::is_eq) {
            [true, true] => counts.tied_in_both += 1,
            [false, false] => counts.discordant += u64::from(sides[0] != sides[1]),
            _ => counts.tied_in_one += 1,
        }
    }
    counts
}

fn counts(y_true: &[f64], y_pred: &[f64]) -> PairCounts {
    let view = |positions| ArrayView2::from_shape((1, y_true.len()), positions).unwrap();
    let mut counter = PairCounter::default();
    // What another row leaves behind must not matter.
    let other = array![[3.0, 1.0, 1.0, 2.5]];
    counter.read(&other.view(), &other.view(), 0, false).unwrap();
    counter.count();
    counter.read(&view(y_true), &view(y_pred), 0, false).unwrap();
    counter.count()
}

/// Positions that are sorted by counting, and others.
fn ranking(n_labels: usize) -> impl Strategy<Value = Vec<f64>> {
    let awkward = vec![0.0, -0.0, 0.5, 1.0_f64.next_up(), -7.0, 1e300, (1_u64 << 63) as f64, 1e19, 5e-324];
    let mixed = prop_oneof![(0..9_i32).prop_map(f64::from), prop::sample::select(awkward)];
    let integers = (-3..200_i32).prop_map(f64::from);
    prop_oneof![prop::collection::vec(mixed, n_labels), prop::collection::vec(integers, n_labels)]
}

proptest! {
    #[test]
    fn counting_equals_looking_at_every_pair(
        (y_true, y_pred) in (2..150_usize).prop_flat_map(|n_labels| (ranking(n_labels), ranking(n_labels))),
    ) {
        prop_assert_eq!(counts(&y_true, &y_pred), plain_counts(&y_true, &y_pred));
    }

    #[test]
    fn any_split_and_type_gives_the_same_sums(
        n_rows in 1..40_usize, n_labels in 2..9_usize, seed in any::<u64>(), num_threads in 1..5_usize,
        layout in prop::sample::select(&Layout::ALL[..]),
    ) {
        let mut dice = Dice::new(seed);
        let mut random = || Array2::from_shape_simple_fn((n_rows, n_labels), || u8::try_from(dice.below(n_labels)).unwrap());
        let (y_true, y_pred) = (random(), random());
        let scales = [1e-300, 5e-324, 0.1, 1.0, 1e290];
        let weights: Vec<f64> = (0..n_rows).map(|_| dice.below(1000) as f64 * scales[dice.below(scales.len())]).collect();
        let mut expected = PairSumsByExponent::default();
        let doubles = |row: ArrayView1<'_, u8>| row.mapv(f64::from).to_vec();
        for ((y_true, y_pred), &weight) in y_true.rows().into_iter().zip(y_pred.rows()).zip(&weights) {
            expected.add(&plain_counts(&doubles(y_true), &doubles(y_pred)), weight);
        }
        let (stored, doubles) = (layout.store(&y_true), y_pred.mapv(|position| f64::from(position) - 0.5));
        let found = Par::unwatched(num_threads, |par| sum_pairs(par, &stored.view(), &doubles.view(), Some(&weights), false));
        prop_assert_eq!(found, Ok(expected));
    }
}

#[test]
fn tasks_of_several_rows_are_all_counted() {
    let n_rows = 3 * LABELS_PER_TASK / 2 + 1;
    let (y_true, y_pred) = (Array2::from_elem((n_rows, 2), 1_i64), array![[1_i64, 2]]);
    let y_pred = y_pred.broadcast((n_rows, 2)).unwrap();
    let sums = Par::unwatched(3, |par| sum_pairs(par, &y_true.view(), &y_pred, None, false)).unwrap();
    let total = n_rows as u128 * (1 << 52);
    let expected = PairSums { weight: total, tied_in_one: total, ..PairSums::default() };
    assert_eq!(sums.iter().collect::<Vec<_>>(), [(-52, expected)]);
}

#[test]
fn two_hundred_thousand_labels_do_not_overflow() {
    let n_labels = 200_000_u32;
    let rising: Array2<u32> = (0..n_labels).collect::<Array1<_>>().insert_axis(Axis(0));
    let falling = rising.mapv(|position| n_labels - position);
    let scattered = rising.mapv(|position| f64::from(position) * 1e9);
    let n_pairs = u64::from(n_labels) * u64::from(n_labels - 1) / 2;
    let mut counter = PairCounter::default();
    for y_true in [&rising.view() as &dyn Rankings, &scattered.view()] {
        counter.read(y_true, &falling.view(), 0, true).unwrap();
        assert_eq!(counter.count(), PairCounts { discordant: n_pairs, ..PairCounts::default() });
    }
}

#[test]
fn the_first_bad_row_is_named_whatever_the_threads() {
    let mut y_true = Array2::from_shape_fn((40_000, 3), |(_, column)| column as f64);
    let y_pred = y_true.clone();
    y_true[(39_000, 1)] = f64::NAN;
    y_true[(30_000, 2)] = -0.0;
    for num_threads in [1, 2, 5] {
        let sum = |refuse_ties| {
            Par::unwatched(num_threads, |par| sum_pairs(par, &y_true.view(), &y_pred.view(), None, refuse_ties))
        };
        assert_eq!(
            sum(true).unwrap_err().to_string(),
            "y_true has 0 twice at row 30000, in columns 0 and 2: this measure takes rankings without ties; \
             tau_x_score and kendall_tau_expected allow them"
        );
        let incomplete = sum(false).unwrap_err().to_string();
        assert!(incomplete.starts_with("y_true has NaN at row 39000, column 1: rankings must be complete"));
    }
}

#[test]
fn contradictions_are_refused() {
    let (two, three, one) = (array![[1_u64, 2]], array![[1.0_f32, 2.0, 3.0]], array![[1_i8]]);
    let refused = |y_true: &dyn Rankings, y_pred: &dyn Rankings, weights| {
        Par::unwatched(1, |par| sum_pairs(par, y_true, y_pred, weights, false)).unwrap_err()
    };
    assert!(matches!(refused(&two.view(), &three.view(), None), Error::Shape(_)));
    assert!(matches!(refused(&one.view(), &one.view(), None), Error::Shape(_)));
    assert!(matches!(refused(&two.view(), &two.view(), Some(&[])), Error::Shape(_)));
    let huge = array![[1, u64::MAX]];
    let message = refused(&two.view(), &huge.view(), None).to_string();
    assert!(message.starts_with("y_pred has 18446744073709551615 at row 0, column 1"));
}
