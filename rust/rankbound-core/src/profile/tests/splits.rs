use proptest::prelude::*;

use super::*;
use crate::profile::lists_per_task;
use crate::testing::{PlainSums, rank, rank_uniform};

/// Enough lists for several tasks, and for sums to carry many times.
const CASE: Case = Case {
    seed: 0,
    n_rows: 40,
    n_classes: 300,
    n_lists: 2000,
    n_levels: 6,
    arrangement: Arrangement::Mixed,
    layout: Layout::Rows,
    k: 10,
    num_threads: 1,
    excluded: 30,
    neg_inf: 10,
    exposed: 80,
};

fn discount(n_classes: usize) -> Transform {
    let counts: Vec<u64> = (0..n_classes as u64).map(|class| class % 7).collect();
    Transform::rates(&counts, 1000, &vec![false; n_classes], 1.0, 0.0).unwrap()
}

/// Levels from 0 up, for the discount.
fn data(case: &Case) -> Data<f32> {
    let mut data = Data::<f32>::new(case);
    data.stored.mapv_inplace(|score| score + 0.25);
    data.cells.mapv_inplace(|score| score + 0.25);
    data
}

fn assert_same_scan(left: &Scan, right: &Scan) {
    left.blocks.iter().zip(&right.blocks).for_each(|(left, right)| assert_same(left, right));
    assert_eq!(left.n_candidates, right.n_candidates);
    assert_eq!(left.uniform.exposure(), right.uniform.exposure());
    assert_eq!(left.n_masked_truth, right.n_masked_truth);
}

/// Adds the scan of other lists; placements stay apart.
fn merge(mut left: Scan, right: &Scan) -> Scan {
    for (left, right) in left.blocks.iter_mut().zip(&right.blocks) {
        left.catalogue.merge(&right.catalogue);
        left.n_tied_at_cut += right.n_tied_at_cut;
        left.disparity += right.disparity;
    }
    left.uniform.merge(&right.uniform);
    left.n_masked_truth += right.n_masked_truth;
    left
}

#[test]
fn threads_do_not_matter() {
    for (layout, seed) in [(Layout::Rows, 1), (Layout::Columns, 2)] {
        let case = Case { seed, layout, ..CASE };
        assert!(lists_per_task(case.n_classes) * 2 < case.n_lists, "several tasks");
        let data = data(&case);
        let [one, two, many] = [1, 2, 16].map(|n| data.scan(0..case.n_lists, &discount(case.n_classes), &case, n));
        assert_same_scan(&one, &two);
        assert_same_scan(&one, &many);
    }
}

/// Thousands of rows with a split tie at the cut, against sums of 128-bit integers.
#[test]
fn long_sums_are_those_of_plain_integers() {
    for (n_levels, n_classes) in [(6, 300), (1, 130), (2, 64)] {
        let case = Case { n_classes, n_levels, arrangement: Arrangement::Blocks, exposed: 100, ..CASE };
        let data = data(&case);
        let scan = data.scan(0..case.n_lists, &discount(n_classes), &case, 2);
        let (mut sums, mut uniform) = (PlainSums::new(n_classes), PlainSums::new(n_classes));
        for list in 0..case.n_lists {
            let own = data.cells.row(data.rows[list]).to_vec();
            let candidates = data.candidates(list, &case);
            let scores: Vec<_> = own.into_iter().zip(candidates).map(|(score, is)| is.then_some(score)).collect();
            sums.add(&rank(&scores, None, case.k).1);
            uniform.add(&rank_uniform(&scores, case.k));
        }
        assert_eq!(scan.blocks[0].catalogue.exposure(), sums.exposure());
        assert_eq!(scan.uniform.exposure(), uniform.exposure());
        assert!(scan.blocks[0].n_tied_at_cut > 500, "the sums must carry");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn splits_merge_in_any_order_to_the_same_bits(
        seed in any::<u64>(),
        n_levels in prop_oneof![1..=8_usize, Just(38_usize)],
        n_classes in 2..=150_usize,
        excluded in prop::sample::select(vec![0_usize, 30]),
    ) {
        let n_lists = 800;
        let case = Case { seed, n_classes, n_lists, n_levels, excluded, ..CASE };
        let (data, discount, mut dice) = (data(&case), discount(n_classes), Dice::new(seed));
        let whole = data.scan(0..n_lists, &discount, &case, 2);
        let mut cuts: Vec<usize> = (0..dice.below(8)).map(|_| dice.below(n_lists)).collect();
        cuts.extend([0, n_lists]);
        cuts.sort_unstable();
        let mut parts: Vec<Scan> =
            cuts.windows(2).map(|ends| data.scan(ends[0]..ends[1], &discount, &case, 1)).collect();
        for (ranker, block) in whole.blocks.iter().enumerate() {
            let placements: Vec<_> = parts.iter().flat_map(|part| part.blocks[ranker].placements.clone()).collect();
            prop_assert_eq!(&block.placements, &placements);
        }
        // Merged two at a time at random: every tree over every order.
        while parts.len() > 1 {
            let right = parts.swap_remove(dice.below(parts.len()));
            let left = parts.swap_remove(dice.below(parts.len()));
            parts.push(merge(left, &right));
        }
        for (whole, part) in whole.blocks.iter().zip(&parts[0].blocks) {
            prop_assert_eq!(whole.catalogue.exposure(), part.catalogue.exposure());
            prop_assert_eq!(whole.n_tied_at_cut, part.n_tied_at_cut);
            prop_assert_eq!(whole.disparity, part.disparity);
        }
        prop_assert_eq!(whole.uniform.exposure(), parts[0].uniform.exposure());
        prop_assert_eq!(whole.n_masked_truth, parts[0].n_masked_truth);
    }
}
