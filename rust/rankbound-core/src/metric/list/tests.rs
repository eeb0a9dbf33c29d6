//! Every metric against the definition, averaged over all orders that ties allow.

use proptest::prelude::*;

use super::*;
use crate::Par;
use crate::profile::{Profiles, TieGroup};
use crate::testing::{graded, graded_profiles};

const ALL: [fn(Option<usize>) -> ListMetric; 15] = [
    |k| ListMetric::HitRate { k },
    |k| ListMetric::Hits { k: k.or(Some(7)), denominator: HitDenominator::CutOff },
    |k| ListMetric::Hits { k, denominator: HitDenominator::Relevant },
    |k| ListMetric::Hits { k: k.or(Some(7)), denominator: HitDenominator::Smaller },
    |k| ListMetric::Hits { k: k.or(Some(7)), denominator: HitDenominator::Mean },
    |_| ListMetric::RPrecision,
    |k| ListMetric::ReciprocalRank { k },
    |k| ListMetric::AveragePrecision { k, capped: true },
    |k| ListMetric::AveragePrecision { k, capped: false },
    |k| ListMetric::Dcg { k, gain: Gain::Binary, discount: Discount::Log2, normalised: true },
    |k| ListMetric::Dcg { k, gain: Gain::Exp2, discount: Discount::Log2, normalised: true },
    |k| ListMetric::Dcg { k, gain: Gain::Linear, discount: Discount::Jk2002, normalised: false },
    |k| ListMetric::Rbp { k, gain: Gain::Binary, patience: 0.7 },
    |k| ListMetric::LogRbp { k, patience: 0.7 },
    |k| ListMetric::Err { k, max_grade: 3.0 },
];

/// The definition, for grades in ranked order; `others` are grades of items that are not ranked.
fn define(metric: ListMetric, ranked: &[f64], others: &[f64]) -> f64 {
    let cut_off = metric.k().unwrap_or(usize::MAX);
    let k = cut_off.min(ranked.len());
    let every: Vec<f64> = ranked.iter().chain(others).copied().filter(|&grade| grade > 0.0).collect();
    let relevant = every.len() as f64;
    let hit = |place: usize| f64::from(ranked[place] > 0.0);
    let hits = |k: usize| (0..k.min(ranked.len())).map(hit).sum::<f64>();
    let rbp = |gain: Gain, p: f64| {
        (0..k).map(|at| hit(at) * gain.of(ranked[at]) * (1.0 - p) * p.powi(i32::try_from(at).unwrap())).sum::<f64>()
    };
    match metric {
        ListMetric::HitRate { .. } => f64::from(hits(k) > 0.0),
        ListMetric::Hits { denominator, .. } => {
            let cut = cut_off as f64;
            hits(k)
                / match denominator {
                    HitDenominator::CutOff => cut,
                    HitDenominator::Smaller => cut.min(relevant),
                    HitDenominator::Mean => f64::midpoint(cut, relevant),
                    _ => relevant,
                }
        }
        ListMetric::RPrecision => hits(every.len()) / relevant,
        ListMetric::ReciprocalRank { .. } => (0..k).find(|&at| hit(at) > 0.0).map_or(0.0, |at| 1.0 / (at as f64 + 1.0)),
        ListMetric::AveragePrecision { capped, .. } => {
            let sum: f64 = (0..k).map(|at| hit(at) * hits(at + 1) / (at as f64 + 1.0)).sum();
            sum / if capped { relevant.min(cut_off as f64) } else { relevant }
        }
        ListMetric::Dcg { gain, discount, normalised, .. } => {
            let weight = |at: usize| match discount {
                Discount::Log2 => 1.0 / (at as f64 + 2.0).log2(),
                Discount::Jk2002 => 1.0 / (at as f64 + 1.0).log2().max(1.0),
            };
            let gain = |grade: f64| if grade > 0.0 { gain.of(grade) } else { 0.0 };
            let dcg: f64 = (0..k).map(|at| gain(ranked[at]) * weight(at)).sum();
            let mut ideal: Vec<f64> = every.iter().map(|&grade| gain(grade)).collect();
            ideal.sort_by(|a, b| b.total_cmp(a));
            let best: f64 = ideal.iter().take(cut_off).enumerate().map(|(at, gain)| gain * weight(at)).sum();
            if normalised { dcg / best } else { dcg }
        }
        ListMetric::Rbp { gain, patience, .. } => rbp(gain, patience),
        // The logarithm is taken of the expectation.
        ListMetric::LogRbp { patience, .. } => rbp(Gain::Binary, patience),
        ListMetric::Err { max_grade, .. } => {
            let mut reached = 1.0;
            let mut value = 0.0;
            for (at, grade) in ranked.iter().take(k).enumerate() {
                let stops = (grade.exp2() - 1.0) / max_grade.exp2();
                value += reached * stops / (at as f64 + 1.0);
                reached *= 1.0 - stops;
            }
            value
        }
    }
}

/// All orders by falling score, ties in every order.
fn orders(scores: &[u8]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in scores {
        let extended = all.iter().flat_map(|order: &Vec<usize>| {
            let left: Vec<usize> = (0..scores.len()).filter(|at| !order.contains(at)).collect();
            let top = left.iter().map(|&at| scores[at]).max().unwrap();
            left.into_iter().filter(move |&at| scores[at] == top).map(|at| [order.as_slice(), &[at]].concat())
        });
        all = extended.collect();
    }
    all
}

fn profile(scores: &[u8], grades: &[f64], others: &[f64], has_grades: bool) -> Profiles {
    let mut profiles = if has_grades { graded_profiles() } else { Profiles::default() };
    let count =
        |matches: &dyn Fn(&u8) -> bool| u32::try_from(scores.iter().filter(|score| matches(score)).count()).unwrap();
    let mut found: Vec<_> = (0..scores.len())
        .filter(|&at| grades[at] > 0.0)
        .map(|at| {
            let own = scores[at];
            (
                TieGroup { better: count(&|score| *score > own), tied: count(&|score| *score == own), relevant: 1 },
                graded(grades[at]),
            )
        })
        .collect();
    profiles.push(&mut found, &others.iter().copied().map(graded).collect::<Vec<_>>());
    profiles
}

fn of(profiles: &Profiles, metric: ListMetric) -> (f64, crate::aggregate::ListMeans) {
    let found = Par::unwatched(1, |par| evaluate(par, profiles, &[metric])).unwrap();
    (found.values[0][0], found.sums[0].means())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_metric_is_its_mean_over_all_orders(
        items in prop::collection::vec((0_u8..3, 0_u8..4), 1..6), others in prop::collection::vec(1_u8..4, 0..3),
        k in prop::option::of(1_usize..8), has_grades: bool,
    ) {
        let scores: Vec<u8> = items.iter().map(|&(score, _)| score).collect();
        let as_grade = |&grade: &u8| if has_grades { f64::from(grade) } else { f64::from(grade.min(1)) };
        let grades: Vec<f64> = items.iter().map(|(_, grade)| as_grade(grade)).collect();
        let others: Vec<f64> = others.iter().map(as_grade).collect();
        prop_assume!(!others.is_empty() || grades.iter().any(|&grade| grade > 0.0));
        let profiles = profile(&scores, &grades, &others, has_grades);
        let orders = orders(&scores);
        for metric in ALL.map(|metric| metric(k)) {
            let values: Vec<f64> = orders
                .iter()
                .map(|order| define(metric, &order.iter().map(|&at| grades[at]).collect::<Vec<_>>(), &others))
                .collect();
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let [least, most] = [f64::min, f64::max].map(|pick| values.iter().copied().reduce(pick).unwrap());
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
            let (value, means) = of(&profiles, metric);
            let logarithmic = matches!(metric, ListMetric::LogRbp { .. });
            for (found, expected) in [(value, mean), (means.mean, mean), (means.best, most), (means.worst, least)] {
                let expected = if logarithmic { expected.ln() } else { expected };
                prop_assert!(found == expected || (found - expected).abs() < 1e-13, "{metric:?}: {found} {expected}");
            }
            if let Some(sd) = means.sd {
                prop_assert!((sd * sd - variance).abs() < 1e-13, "{metric:?}: {sd} {variance}");
            }
        }
    }

    /// A perfect list is worth exactly 1, however long, tied or graded.
    #[test]
    fn no_perfect_list_misses_one_by_a_rounding(sizes in prop::collection::vec(1_usize..90, 1..6), k in 1_usize..300) {
        let mut profiles = graded_profiles();
        let mut found = Vec::new();
        let mut better = 0;
        for (at, &size) in sizes.iter().enumerate() {
            let tied = u32::try_from(size).unwrap();
            let group = TieGroup { better, tied, relevant: 1 };
            found.extend(std::iter::repeat_n((group, graded((sizes.len() - at) as f64 / 3.0)), size));
            better += tied;
        }
        profiles.push(&mut found, &[]);
        for gain in [Gain::Binary, Gain::Linear, Gain::Exp2] {
            let metric = ListMetric::Dcg { k: Some(k), gain, discount: Discount::Log2, normalised: true };
            let (value, _) = of(&profiles, metric);
            prop_assert_eq!(value, 1.0);
        }
    }
}

/// A group of a thousand million with ten places in the top: the form of products of ratios near 1
/// loses half the digits.
#[test]
fn a_hit_in_a_huge_group_keeps_its_digits() {
    let mut profiles = Profiles::default();
    profiles.push(&mut [(TieGroup { better: 0, tied: 1_000_000_000, relevant: 3 }, graded(1.0))], &[]);
    let (value, _) = of(&profiles, ListMetric::HitRate { k: Some(10) });
    assert!((value / 2.999_999_973e-8 - 1.0).abs() < 1e-10, "{value}");
}

/// Worked in 50 decimal digits from the differences of survival, of which doubles lose five or six here.
#[test]
fn an_expected_reciprocal_rank_in_a_huge_group_keeps_its_digits() {
    for (better, k, expected) in [
        (0, Some(10), 4.027_324_499_141_292e-6),
        (2, None, 1.682_031_156_309_277_8e-5),
        (1000, Some(1500), 5.571_940_748_150_627e-7),
    ] {
        let mut profiles = graded_profiles();
        let group = TieGroup { better, tied: 1_000_000, relevant: 1 };
        profiles.push(&mut [1.0, 2.0, 3.0].map(|grade| (group, graded(grade))), &[]);
        let (value, _) = of(&profiles, ListMetric::Err { k, max_grade: 3.0 });
        assert!((value / expected - 1.0).abs() < 1e-13, "{value} {expected}");
    }
}

/// Worked in the Moffat and Zobel form: ranks 5001 and, in a group of 50, from 100001.
#[test]
fn logarithms_of_rank_biased_precision_far_down() {
    for (better, tied, expected) in [
        (0, 1, -1.897_119_984_885_881),
        (1, 3, -2.213_373_014_325_698),
        (5000, 1, -814.491_767_473_760_5),
        (5000, 2, -814.569_729_015_230_2),
        (100_000, 50, -16_255.805_268_591_334),
    ] {
        let mut profiles = Profiles::default();
        profiles.push(&mut [(TieGroup { better, tied, relevant: 1 }, graded(1.0))], &[]);
        let (value, _) = of(&profiles, ListMetric::LogRbp { k: None, patience: 0.85 });
        assert!((value / expected - 1.0).abs() < 1e-15, "{value} {expected}");
    }
}

#[test]
fn a_list_without_relevant_items_has_no_value_and_does_not_count() {
    let mut profiles = Profiles::default();
    profiles.push(&mut [], &[]);
    profiles.push(&mut [(TieGroup { better: 1, tied: 1, relevant: 1 }, graded(1.0))], &[]);
    let found = Par::unwatched(1, |par| evaluate(par, &profiles, &[ListMetric::ReciprocalRank { k: None }])).unwrap();
    assert!(found.values[0][0].is_nan());
    assert_eq!((found.sums[0].means().n_lists, found.sums[0].means().mean), (1, 0.5));
}
