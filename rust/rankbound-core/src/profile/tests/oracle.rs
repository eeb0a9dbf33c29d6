use half::f16;
use proptest::prelude::*;

use super::*;
use crate::profile::Placement;
use crate::testing::{PlainSums, rank, rank_uniform};

fn layout() -> impl Strategy<Value = Layout> {
    prop::sample::select(Layout::ALL.to_vec())
}

fn arrangement() -> impl Strategy<Value = Arrangement> {
    use Arrangement::{Blocks, Falling, Mixed, Rising};
    prop::sample::select(vec![Mixed, Mixed, Mixed, Blocks, Rising, Falling])
}

fn cases(n_classes: impl Strategy<Value = usize>, n_lists: usize) -> impl Strategy<Value = Case> {
    let k = |n_classes: usize| prop_oneof![1..=3_usize, 1..=20_usize, 1..=80_usize, n_classes..=n_classes + 3];
    let sizes = n_classes.prop_flat_map(move |n_classes| (Just(n_classes), k(n_classes)));
    let levels = prop_oneof![1..=4_usize, 3..=38_usize, Just(5000_usize)];
    let percents = || prop::sample::select(vec![0_usize, 0, 1, 40, 97]);
    let masks = (percents(), percents(), prop::sample::select(vec![100_usize, 100, 60]));
    let lists = (any::<u64>(), 1..=4_usize, 1..=n_lists, prop::sample::select(vec![1_usize, 2, 16]));
    (sizes, levels, arrangement(), layout(), masks, lists).prop_map(
        |((n_classes, k), n_levels, arrangement, layout, (excluded, neg_inf, exposed), lists)| {
            let (seed, n_rows, n_lists, num_threads) = lists;
            Case {
                seed,
                n_rows,
                n_classes,
                n_lists,
                n_levels,
                arrangement,
                layout,
                k,
                num_threads,
                excluded,
                neg_inf,
                exposed,
            }
        },
    )
}

/// Sum of the squared mean discounts of the ranks that each candidate may take, by counting.
fn disparity<V: PartialOrd + Copy>(scores: &[Option<V>], k: usize) -> f64 {
    let square = |own: &V| {
        let better = scores.iter().flatten().filter(|other| *other > own).count();
        let tied = scores.iter().flatten().filter(|other| *other == own).count();
        let shown = (better + 1..=(better + tied).min(k)).map(|rank| 1.0 / (1.0 + rank as f64).log2());
        (shown.sum::<f64>() / tied as f64).powi(2)
    };
    scores.iter().flatten().map(square).sum()
}

/// Compares all that a scan finds with what counting finds.
fn check<E: Cell>(case: &Case) {
    let data = Data::<E>::new(case);
    let n_lists = case.n_lists;
    let scan = data.scan(0..n_lists, &Transform::Identity, case, case.num_threads);
    let mut sums = [(); 2].map(|()| (PlainSums::new(case.n_classes), 0, 0.0));
    let mut uniform = PlainSums::new(case.n_classes);
    let (mut n_masked_truth, mut n_shown) = (0, 0);
    for list in 0..n_lists {
        let candidates = data.candidates(list, case);
        let own = data.cells.row(data.rows[list]);
        let scores: Vec<_> =
            own.iter().zip(&candidates).map(|(cell, candidate)| candidate.then_some(cell.value())).collect();
        let table = &data.table[data.segments[list] as usize * case.n_classes..][..case.n_classes];
        let fixed: Vec<_> =
            table.iter().zip(&candidates).map(|(score, candidate)| candidate.then_some(*score)).collect();
        let truth = data.truths[list].filter(|truth| candidates[*truth as usize]);
        n_masked_truth += u64::from(truth != data.truths[list]);
        let n_candidates = candidates.iter().filter(|candidate| **candidate).count();
        assert_eq!(scan.n_candidates[list] as usize, n_candidates);
        let ranked = [rank(&scores, truth, case.k), rank(&fixed, truth, case.k)];
        let disparities = [disparity(&scores, case.k), disparity(&fixed, case.k)];
        let exposed = case.exposed == 100 || data.exposed[list];
        for (((placement, inclusion), disparity), ((sums, n_tied, disparities), block)) in
            ranked.into_iter().zip(disparities).zip(sums.iter_mut().zip([&scan.blocks[0], &scan.blocks[2]]))
        {
            assert_eq!(block.placements[list], placement);
            assert_eq!(placement.is_miss(), truth.is_none());
            *n_tied += u64::from(exposed && sums.add(&inclusion));
            *disparities += if exposed { disparity } else { 0.0 };
        }
        if exposed {
            uniform.add(&rank_uniform(&scores, case.k));
            n_shown += case.k.min(n_candidates);
        }
    }
    assert_eq!(scan.n_masked_truth, n_masked_truth);
    assert_eq!(scan.uniform.exposure(), uniform.exposure());
    for ((sums, n_tied, disparity), block) in sums.iter().zip([&scan.blocks[0], &scan.blocks[2]]) {
        let exposure = block.catalogue.exposure();
        assert_eq!(exposure, sums.exposure());
        assert_eq!(block.n_tied_at_cut, *n_tied);
        assert!((block.disparity.to_f64() - disparity).abs() <= 1e-12 * disparity);
        let total: f64 = exposure.expected.iter().sum();
        assert!((total - n_shown as f64).abs() < 1e-9);
    }
    assert_same(&scan.blocks[0], &scan.blocks[1]);
}

fn check_type(kind: usize, case: &Case) {
    let checks = [check::<f32>, check::<f64>, check::<i64>, check::<f16>, check::<u64>, check::<i8>, check::<u8>];
    let more = [check::<i16>, check::<u16>, check::<i32>, check::<u32>];
    checks.iter().chain(&more).nth(kind).expect("a type")(case);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_scan_counts_what_beats_and_what_ties(
        kind in 0..11_usize,
        case in cases(prop_oneof![1..=8_usize, 1..=70_usize, 60..=200_usize, 500..=700_usize], 8),
    ) {
        check_type(kind, &case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// From 64 blocks on, the bound on the top K comes from folded maxima.
    #[test]
    fn so_does_a_scan_of_many_blocks(kind in 0..4_usize, case in cases(4000..=4300_usize, 2)) {
        check_type(kind, &case);
    }
}

/// Coverage 7/8, exposure 11/6, 2, 4/3, 5/6: enumerated by hand over 36 outcomes.
#[test]
fn worked_example() {
    let cells = ndarray::array![[3_i8, 2, 2, 1], [0, 0, 0, 0], [1, 5, 1, 1]];
    let ranker = Ranker::Model(Transform::Identity);
    let scan = scan_rows(&cells, &[Some(1), Some(0), None], &[ranker], 2, Masks::default(), 2).expect("legal");
    let block = &scan.blocks[0];
    let places = [(1, 2), (0, 4), (0, 0)].map(|(better, tied)| Placement { better, tied });
    assert_eq!(block.placements, places);
    let exposure = block.catalogue.exposure();
    let near = |values: &[f64], expected: [f64; 4]| {
        values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-15)
    };
    assert!(near(&exposure.expected, [11.0 / 6.0, 2.0, 4.0 / 3.0, 5.0 / 6.0]));
    assert!(near(&exposure.seen, [1.0, 1.0, 5.0 / 6.0, 2.0 / 3.0]));
    assert_eq!(block.n_tied_at_cut, 3);
}
