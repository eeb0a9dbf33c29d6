use ndarray::Array2;

use super::*;
use crate::testing::orders;

/// For each order of the classes by which ties may fall, the rank of every class.
fn all_ranks(scores: &[u8]) -> Vec<Vec<usize>> {
    let rank_by = |order: Vec<usize>| {
        let mut ranked = order;
        ranked.sort_by(|&a, &b| scores[b].cmp(&scores[a])); // stable: the order breaks ties
        let mut ranks = vec![0; scores.len()];
        ranked.iter().enumerate().for_each(|(at, &class)| ranks[class] = at + 1);
        ranks
    };
    orders(scores.len()).into_iter().map(rank_by).collect()
}

/// All rows of `n_classes` scores out of 0, 1, 2.
fn all_rows(n_classes: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..3_usize.pow(n_classes))
        .map(move |code| (0..n_classes).map(|class| [0, 1, 2][code / 3_usize.pow(class) % 3]).collect())
}

/// The discount of a rank within the top `k`.
fn weight(rank: usize, k: usize) -> f64 {
    if rank <= k { 1.0 / (1.0 + rank as f64).log2() } else { 0.0 }
}

/// Ranks are uniform over `b + 1 ..= b + t`, and exposure is the share of orders that show a class.
#[test]
fn placements_and_exposure_are_those_over_all_orders() {
    for n_classes in 1..=5 {
        for scores in all_rows(n_classes) {
            let ranks = all_ranks(&scores);
            let n_orders = ranks.len();
            let cells = Array2::from_shape_fn((scores.len(), scores.len()), |(_, class)| scores[class]);
            let truths: Vec<_> = (0..n_classes).map(Some).collect();
            for k in 1..=scores.len() + 1 {
                let ranker = Ranker::Model(Transform::Identity);
                let scan = scan_rows(&cells, &truths, &[ranker], k, Masks::default(), 1).expect("legal");
                let expected = scan.blocks[0].catalogue.exposure().expected;
                let shown = |class: usize| ranks.iter().map(|ranks| weight(ranks[class], k)).sum::<f64>();
                let squares = (0..scores.len()).map(|class| (shown(class) / n_orders as f64).powi(2));
                let disparity = squares.sum::<f64>() * scores.len() as f64;
                assert!((scan.blocks[0].disparity.to_f64() - disparity).abs() < 1e-14 * disparity);
                for (class, at) in scan.blocks[0].placements.iter().enumerate() {
                    for rank in 1..=scores.len() {
                        let n_here = ranks.iter().filter(|ranks| ranks[class] == rank).count();
                        let possible = (at.better as usize..(at.better + at.tied) as usize).contains(&(rank - 1));
                        assert_eq!(n_here * at.tied as usize, if possible { n_orders } else { 0 });
                    }
                    let n_shown = ranks.iter().filter(|ranks| ranks[class] <= k).count();
                    let per_row = n_shown as f64 / n_orders as f64;
                    assert!((expected[class] - per_row * scores.len() as f64).abs() < 1e-15 * scores.len() as f64);
                }
            }
        }
    }
}

/// Two rows break their ties independently: over all pairs of orders.
#[test]
fn the_probability_of_being_seen_is_that_over_all_pairs_of_orders() {
    for (first, second) in all_rows(3).flat_map(|first| all_rows(3).map(move |second| (first.clone(), second))) {
        let ranks = [all_ranks(&first), all_ranks(&second)];
        let cells = Array2::from_shape_fn((2, 3), |(row, class)| [&first, &second][row][class]);
        for k in 1..=3 {
            let ranker = Ranker::Model(Transform::Identity);
            let scan = scan_rows(&cells, &[None, None], &[ranker], k, Masks::default(), 1).expect("legal");
            let seen = scan.blocks[0].catalogue.exposure().seen;
            for (class, seen) in seen.into_iter().enumerate() {
                let pairs = ranks[0].iter().flat_map(|first| ranks[1].iter().map(move |second| [first, second]));
                let n_seen = pairs.filter(|pair| pair.iter().any(|ranks| ranks[class] <= k)).count();
                assert!((seen - n_seen as f64 / 36.0).abs() < 1e-15);
            }
        }
    }
}
