use super::top::{kth_largest, lower_bound};
use super::*;
use crate::adjust::Transform;
use crate::testing::{Cell, Dice};

fn scores<T: Cell>(n: usize, n_levels: usize, dice: &mut Dice) -> Vec<T> {
    (0..n).map(|_| T::level(dice.below(n_levels), dice)).collect()
}

fn sorted<T: Score>(values: &[T]) -> Vec<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.partial_cmp(a).unwrap());
    sorted
}

/// The compiled loops against counting, for all lengths around the block and lane sizes.
fn check_pass<T: Cell<Native = T> + Kernel>() {
    let (mut dice, mut maxima) = (Dice::new(1), vec![]);
    for n in (1..200).chain([640, 700]) {
        for n_levels in [1, 3, 5000] {
            let row = scores::<T>(n, n_levels, &mut dice);
            let truth = row[dice.below(n)];
            let pass = T::block_pass(&row, truth, &mut maxima);
            assert_eq!(pass.better as usize, row.iter().filter(|score| **score > truth).count());
            assert_eq!(pass.tied as usize, row.iter().filter(|score| **score == truth).count());
            assert!(pass.sum.is_finite());
            assert_eq!(maxima.len(), n.div_ceil(BLOCK));
            for (lanes, block) in maxima.iter().zip(row.chunks(BLOCK)) {
                // Each lane is some column of its own, and one is the largest.
                let (lanes, block) = (sorted(lanes), sorted(block));
                assert_eq!(lanes[0], block[0]);
                let candidates = lanes.iter().filter(|lane| **lane != T::MASKED);
                assert!(candidates.zip(&block).all(|(lane, score)| lane <= score));
            }
        }
    }
}

#[test]
fn a_pass_counts_and_keeps_the_maximum_of_each_block() {
    check_pass::<f32>();
    check_pass::<f64>();
    check_pass::<i64>();
}

fn check_thresholds<T: Cell<Native = T> + Kernel>() {
    let (mut dice, mut counts) = (Dice::new(1), vec![]);
    // Lengths around that of a register and of a block, and both ways to count.
    for (n, n_thresholds) in [(1, 1), (7, 3), (70, 0), (70, 101), (2047, 9), (2049, 100), (5000, 2), (5000, 300)] {
        for n_levels in [1, 3, 5000] {
            let row = scores::<T>(n, n_levels, &mut dice);
            let thresholds = scores::<T>(n_thresholds, n_levels, &mut dice);
            T::count_above(&row, &thresholds, &mut counts);
            let count = |keep: &dyn Fn(&T) -> bool| column(row.iter().filter(|score| keep(score)).count());
            let expected = thresholds.iter().map(|threshold| [count(&|s| s > threshold), count(&|s| s == threshold)]);
            assert_eq!(counts, expected.collect::<Vec<_>>());
        }
    }
}

#[test]
fn few_and_many_thresholds_are_counted_alike() {
    check_thresholds::<f32>();
    check_thresholds::<f64>();
    check_thresholds::<i64>();
}

#[test]
fn a_score_that_is_not_finite_shows_in_the_sum_wherever_it_is() {
    let (mut maxima, mut double_maxima) = (vec![], vec![]);
    for n in 1..200 {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut row = vec![-1.0; n];
            row[n - 1] = bad;
            assert!(!f32::block_pass(&row, 0.0, &mut maxima).sum.is_finite());
            let row: Vec<f64> = row.into_iter().map(f64::from).collect();
            assert!(!f64::block_pass(&row, 0.0, &mut double_maxima).sum.is_finite());
        }
    }
    let mut opposed = vec![0.0; 130];
    (opposed[3], opposed[129]) = (f64::INFINITY, f64::NEG_INFINITY);
    assert!(!f64::block_pass(&opposed, 0.0, &mut double_maxima).sum.is_finite());
}

#[test]
fn the_kth_largest_is_that_of_a_sort() {
    let (mut dice, mut scratch) = (Dice::new(2), vec![]);
    for n in (0..150).chain([1000]) {
        let values = scores::<f32>(n, 1 + n / 2, &mut dice);
        let sorted = sorted(&values);
        for k in 1..n + 3 {
            assert_eq!(kth_largest(&values, k, &mut scratch), sorted.get(k - 1).copied());
        }
    }
}

/// At least `k` lanes reach the bound, or there is none; it is exact unless lanes were folded.
#[test]
fn the_bound_is_reached_by_k_lanes() {
    let (mut dice, mut scratch) = (Dice::new(3), vec![]);
    for n in (1..30).chain([500]) {
        let maxima: Vec<Maxima<i64>> =
            (0..n).map(|_| [(); 8].map(|()| i64::level(dice.below(200), &mut dice))).collect();
        let sorted = sorted(maxima.as_flattened());
        for k in 1..40 {
            let bound = lower_bound(&maxima, k, &mut scratch);
            match sorted.get(k - 1) {
                None => assert_eq!(bound, i64::MASKED),
                Some(exact) if k > 16 || n < 8 => assert_eq!(bound, *exact),
                Some(exact) => assert!(bound <= *exact && bound != i64::MASKED),
            }
        }
    }
}

/// Whether the pre-filter ranks a row.
fn settles(transform: &Transform, row: &[f32], masked: bool, k: usize) -> bool {
    let Transform::Rates(rates) = transform else { panic!("rates") };
    Prefilter::new(rates, row.len(), k).is_some_and(|prefilter| prefilter.settles(row, Some(0), masked, k))
}

#[test]
fn the_prefilter_leaves_alone_what_it_cannot_bound() {
    let discount = |alpha| Transform::rates(&[1; 130], 1000, &[false; 130], alpha, 0.0).unwrap();
    let row: Vec<f32> = (0..130_u8).map(|class| f32::from(class) / 256.0).collect();
    assert!(settles(&discount(1.0), &row, false, 2));
    assert!(settles(&discount(1.0), &row, false, 16));
    assert!(!settles(&discount(1.0), &row, false, 17), "fewer whole lanes than places");
    assert!(!settles(&discount(20.0), &row, false, 2), "a coefficient of 1e60");
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.5] {
        let mut row = row.clone();
        row[129] = bad;
        assert!(!settles(&discount(1.0), &row, false, 2));
        assert_eq!(settles(&discount(1.0), &row, true, 2), bad == f32::NEG_INFINITY, "{bad}");
    }
    let shrinkage = |strength| Transform::rates(&[500; 130], 1000, &[false; 130], 0.0, strength).unwrap();
    assert!(settles(&shrinkage(50.0), &row, false, 2));
    let mut above_one = row.clone();
    above_one[3] = 1.5;
    assert!(!settles(&shrinkage(50.0), &above_one, false, 2));
    assert!(settles(&discount(1.0), &above_one, false, 2));
    assert!(!settles(&shrinkage(1e-9), &row, false, 2), "the transform itself cancels");
}
