use ndarray::{Array2, array};

use super::*;
use crate::aggregate::GroupSums;
use crate::error::{Error, Result};
use crate::input::{Column, Masks, Targets};
use crate::metric::RankWeights;
use crate::par::Par;
use crate::profile::ItemLists;
use crate::testing::{Dice, orders};

fn request<'a>(k: usize, rows: &'a [usize], measures: &'a [&'a ListMeasure]) -> Request<'a> {
    Request { k, rows, measures, targets: None, rank_weights: None, class_hits: false, drop_masked: false }
}

fn scan(scores: &Array2<f64>, request: &Request<'_>) -> Found {
    let masks = Masks { exclude: None, neg_inf: true };
    Par::unwatched(2, |par| scan_scores(par, &scores.view(), &masks, request)).unwrap()
}

fn scan_one_list(items: &[i64], scores: Option<&[f64]>, k: usize, measures: &[&ListMeasure]) -> Result<Found> {
    let lists = ItemLists { items, scores: scores.map(Column::Wide), starts: &[0], lengths: &[items.len()] };
    let rules = TopRules { k, as_listed: false, keep_first: false, check_scores: true };
    Par::unwatched(1, |par| scan_lists(par, &lists, 5, rules, &request(k, &[0], measures)))
}

fn weights(weights: &[f64]) -> ListMeasure {
    ListMeasure::MeanWeight(ItemWeights::new(weights).unwrap())
}

/// The mean over every order that ranks the candidates by falling score.
fn enumerate(row: &[f64], k: usize, value: impl Fn(&[usize]) -> f64) -> f64 {
    let candidates: Vec<usize> = (0..row.len()).filter(|&item| row[item].is_finite()).collect();
    let allowed: Vec<Vec<usize>> = orders(candidates.len())
        .into_iter()
        .map(|order| order.into_iter().map(|at| candidates[at]).collect::<Vec<_>>())
        .filter(|order| order.windows(2).all(|pair| row[pair[0]] >= row[pair[1]]))
        .collect();
    let total: f64 = allowed.iter().map(|order| value(&order[..k.min(order.len())])).sum();
    total / allowed.len() as f64
}

#[test]
fn every_measure_is_its_mean_over_all_orders() {
    let mut dice = Dice::new(5);
    for _ in 0..120 {
        let n_items = 2 + dice.below(4);
        let k = 1 + dice.below(n_items + 1);
        let mut row: Vec<f64> = (0..n_items).map(|_| dice.below(3) as f64).collect();
        (1..n_items)
            .filter(|_| dice.percent(15))
            .collect::<Vec<_>>()
            .iter()
            .for_each(|&at| row[at] = f64::NEG_INFINITY);
        let worth: Vec<f64> = (0..n_items).map(|_| dice.below(9) as f64 / 4.0).collect();
        let vectors: Vec<f64> = (0..2 * n_items).map(|_| 1.0 + dice.below(4) as f64).collect();
        let distances: Vec<f64> = (0..n_items * n_items).map(|_| dice.below(9) as f64).collect();
        let cosine = |i: usize, j: usize| {
            let (u, v) = (&vectors[2 * i..2 * i + 2], &vectors[2 * j..2 * j + 2]);
            1.0 - (u[0] * v[0] + u[1] * v[1]) / (u[0].hypot(u[1]) * v[0].hypot(v[1]))
        };
        let given = |i: usize, j: usize| f64::midpoint(distances[i * n_items + j], distances[j * n_items + i]);
        let measures = [
            weights(&worth),
            ListMeasure::Diversity(Diversity::cosine(&vectors, 2).unwrap()),
            ListMeasure::Diversity(Diversity::distances(distances.clone(), n_items).unwrap()),
        ];
        let measures: Vec<_> = measures.iter().collect();
        let table = RankWeights::ndcg(k, n_items);
        let scores = Array2::from_shape_vec((1, n_items), row.clone()).unwrap();
        let found = scan(&scores, &Request { rank_weights: Some(&table), ..request(k, &[0], &measures) });
        let mean = |top: &[usize]| top.iter().map(|&item| worth[item]).sum::<f64>() / top.len() as f64;
        let spread = |top: &[usize], distance: &dyn Fn(usize, usize) -> f64| {
            let of = |at: usize| top[at + 1..].iter().map(move |&other| distance(top[at], other)).sum::<f64>();
            (0..top.len()).map(of).sum::<f64>() / ((top.len() * (top.len() - 1)) as f64 / 2.0)
        };
        let close =
            |found: f64, expected: f64| (found - expected).abs() < 1e-13 || (found.is_nan() && expected.is_nan());
        let expected = [
            enumerate(&row, k, mean),
            enumerate(&row, k, |top| spread(top, &cosine)),
            enumerate(&row, k, |top| spread(top, &given)),
        ];
        for (values, expected) in found.values.iter().zip(expected) {
            assert!(close(values[0], expected), "{row:?} at {k}: {} is not {expected}", values[0]);
        }
        for (item, &exposure) in found.exposure.exposure().expected.iter().enumerate() {
            let weight = |top: &[usize]| top.iter().position(|&at| at == item).map_or(0.0, |at| table.weight(at + 1));
            assert!(close(exposure, enumerate(&row, k, weight)));
        }
    }
}

/// Methods: shares 1/2, 1/4, 1/8, 1/8, all tied; one of three distances 1, 1/2, 0 is shown.
#[test]
fn worked_examples() {
    let information = weights(&[1.0, 2.0, 3.0, 3.0]);
    assert_eq!(scan(&array![[0.5; 4]], &request(2, &[0], &[&information])).values, [[2.25]]);
    let distances = vec![0.0, 1.0, 0.5, 1.0, 0.0, 0.0, 0.5, 0.0, 0.0];
    let diversity = ListMeasure::Diversity(Diversity::distances(distances, 3).unwrap());
    assert_eq!(scan(&array![[7.0; 3]], &request(2, &[0], &[&diversity])).values, [[0.5]]);
}

#[test]
fn equal_vectors_are_no_distance_apart() {
    let vectors = [0.1, 0.7, -0.3].repeat(300);
    let diversity = ListMeasure::Diversity(Diversity::cosine(&vectors, 3).unwrap());
    let mut row = Array2::zeros((1, 300));
    row[[0, 7]] = 1.0;
    assert_eq!(scan(&row, &request(10, &[0], &[&diversity])).values, [[0.0]]);
    let far = Diversity::cosine(&[1e300, 0.0, -1e-300, 0.0], 2).unwrap();
    assert_eq!(scan(&array![[0.0, 0.0]], &request(2, &[0], &[&ListMeasure::Diversity(far)])).values, [[2.0]]);
}

/// Nothing tied, one relevant item on top: the target is reached. All tied: everything is even.
#[test]
fn expected_exposure_of_one_need() {
    let measure = ListMeasure::ExpectedExposure { weights: RankWeights::hit(1, 3), n_items: 3 };
    let targets = Targets::new(&[0, 1, 2], &[0, 0], None, 3).unwrap();
    let measures = [&measure];
    let wanted = Request { targets: Some(targets), class_hits: true, ..request(1, &[0, 1], &measures) };
    let found = scan(&array![[3.0, 2.0, 1.0], [1.0, 1.0, 1.0]], &wanted);
    let third = 1.0 / 3.0;
    assert_eq!(found.values[0][0], 0.0);
    assert!((found.values[0][1] - (4.0 / 9.0 + 2.0 / 9.0)).abs() < 1e-15);
    assert_eq!(found.values[1][0], 1.0);
    assert!((found.values[1][1] - third).abs() < 1e-15);
    assert_eq!(found.values[2], [1.0, third]);
    assert_eq!(found.class_hits, GroupSums::new(&[1.0, third], &[0, 0], 3).unwrap());
}

#[test]
fn relevant_items_that_are_popular_are_no_surprise() {
    let measure = ListMeasure::Serendipity(Unexpected::new(&[5.0, 3.0, 3.0, 1.0], 2).unwrap());
    let targets = Targets::new(&[0, 3, 3], &[0, 1, 3], None, 4).unwrap();
    let measures = [&measure];
    let wanted = Request { targets: Some(targets), ..request(2, &[0, 1], &measures) };
    let found = scan(&array![[0.0, 2.0, 0.0, 2.0], [0.0; 4]], &wanted);
    // Item 1 is popular with probability 1/2, item 3 never.
    assert_eq!(found.values[0][0], 0.75);
    assert!(found.values[0][1].is_nan());
}

#[test]
fn lists_say_what_scores_say() {
    let measure = weights(&[1.0, 2.0, 4.0, 8.0, 16.0]);
    let of_list = |items: &[i64], scores, k| scan_one_list(items, scores, k, &[&measure]).map(|found| found.values);
    assert_eq!(of_list(&[4, 0, 2], None, 2), Ok(vec![vec![8.5]]));
    assert_eq!(of_list(&[4], None, 2), Ok(vec![vec![16.0]]));
    assert_eq!(of_list(&[4, 0, 2], Some(&[2.0, 1.0, 1.0]), 1), Ok(vec![vec![16.0]]));
    assert!(of_list(&[], None, 2).unwrap()[0][0].is_nan());
    let refused = Err(Error::OpenTop { list: 0, k: 2, tied: 2, length: 3 });
    assert_eq!(of_list(&[4, 0, 2], Some(&[2.0, 1.0, 1.0]), 2), refused);
    let (items, scores) = ([4, 0, 2, 1], [2.0, 1.0, 1.0, 0.0]);
    let found = scan_one_list(&items, Some(&scores), 2, &[&measure]).unwrap();
    assert_eq!(found.values, [[9.25]]);
    let row = array![[1.0, 0.0, 1.0, -1.0, 2.0]];
    assert_eq!(scan(&row, &request(2, &[0], &[&measure])), found);
    assert_eq!(found.n_tied_at_cut, 1);
}

#[test]
fn an_item_listed_again_can_be_left_out() {
    let measure = weights(&[1.0, 2.0, 4.0, 8.0, 16.0]);
    let lists =
        ItemLists { items: &[3_i64, 3, 1], scores: Some(Column::Wide(&[3.0, 2.0, 1.0])), starts: &[0], lengths: &[3] };
    let rules = TopRules { k: 2, as_listed: false, keep_first: true, check_scores: true };
    let of = |rules| Par::unwatched(1, |par| scan_lists(par, &lists, 5, rules, &request(2, &[0], &[&measure])));
    assert_eq!(of(rules).unwrap().values, [[5.0]]);
    assert!(matches!(of(TopRules { keep_first: false, ..rules }), Err(Error::DuplicateItem { .. })));
}

/// Column order, threads and splits change nothing.
#[test]
fn values_have_the_same_bits_in_any_order() {
    let mut dice = Dice::new(3);
    let n_items = 300;
    let scores = Array2::from_shape_fn((40, n_items), |_| dice.below(5) as f64);
    let worth: Vec<f64> = (0..n_items).map(|_| dice.below(1000) as f64 / 7.0).collect();
    let vectors: Vec<f64> = (0..3 * n_items).map(|_| dice.below(1000) as f64 / 7.0 + 1e-3).collect();
    let turned: Vec<usize> = (0..n_items).map(|item| (item * 7 + 11) % n_items).collect();
    let find = |turned: Option<&[usize]>, rows: &[usize]| {
        let at = |item: usize| turned.map_or(item, |turned| turned[item]);
        let scores = Array2::from_shape_fn(scores.dim(), |(row, item)| scores[[row, at(item)]]);
        let worth: Vec<f64> = (0..n_items).map(|item| worth[at(item)]).collect();
        let vectors: Vec<f64> = (0..3 * n_items).map(|at_| vectors[3 * at(at_ / 3) + at_ % 3]).collect();
        let measures = [weights(&worth), ListMeasure::Diversity(Diversity::cosine(&vectors, 3).unwrap())];
        scan(&scores, &request(7, rows, &measures.iter().collect::<Vec<_>>()))
    };
    let rows: Vec<usize> = (0..40).collect();
    let whole = find(None, &rows);
    assert_eq!(whole.values, find(Some(&turned), &rows).values);
    let mut parts = find(None, &rows[..13]).exposure;
    parts.merge(&find(None, &rows[13..]).exposure).unwrap();
    assert_eq!((parts.store(), &parts), (whole.exposure.store(), &whole.exposure));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    assert!(Diversity::cosine(&[1.0, 0.0, 0.0, 0.0], 2).unwrap_err().to_string().contains("item 1"));
    assert!(Diversity::cosine(&[1.0, f64::NAN], 2).is_err() && Diversity::cosine(&[1.0; 3], 2).is_err());
    assert!(Diversity::distances(vec![0.0, -1.0, 0.0, 0.0], 2).unwrap_err().to_string().contains("items 0 and 1"));
    assert!(Diversity::distances(vec![0.0; 3], 2).is_err());
    assert!(ItemWeights::new(&[f64::NAN]).is_err() && ItemWeights::new(&[1e12; 100]).is_err());
    assert!(Unexpected::new(&[], 2).is_err() && Unexpected::new(&[f64::NAN], 2).is_err());
    let measure = weights(&[1.0]);
    let masks = Masks::default();
    let of = |request: &Request<'_>| {
        Par::unwatched(1, |par| scan_scores(par, &array![[1.0, 2.0]].view(), &masks, request)).unwrap_err()
    };
    assert!(matches!(of(&request(1, &[0], &[&measure])), Error::Shape(_)));
    assert!(matches!(of(&request(1, &[1], &[])), Error::Shape(_)));
    assert!(matches!(of(&request(0, &[0], &[])), Error::Parameter(_)));
    assert!(matches!(of(&Request { class_hits: true, ..request(1, &[0], &[]) }), Error::Shape(_)));
}
