use std::ops::ControlFlow;

use half::f16;

use super::*;
use crate::error::Error;
use crate::profile::{Placement, lists_per_task};

const THREADS: [usize; 3] = [1, 2, 16];

fn identity() -> Ranker {
    Ranker::Model(Transform::Identity)
}

fn scan_all<E: Cell>(cells: &Array2<E>, masks: Masks<'_>, num_threads: usize) -> Result<Scan> {
    scan_rows(cells, &vec![Some(0); cells.nrows()], &[identity()], 3, masks, num_threads)
}

/// Ranks every row with masks, and with the truth in the given column.
fn scan_masked<E: Cell>(cells: &Array2<E>, starts: &[i64], columns: &[u32], truth: u32) -> Result<Scan> {
    let exclude = Exclusion::new(starts, columns, cells.nrows(), cells.ncols())?;
    let masks = Masks { exclude: Some(exclude), neg_inf: false };
    scan_rows(cells, &vec![Some(truth); cells.nrows()], &[identity()], 1, masks, 1)
}

fn non_finite(result: Result<Scan>) -> (usize, usize, String) {
    match result {
        Err(Error::NonFiniteScore { row, column, value }) => (row, column, value.to_string()),
        other => panic!("{other:?}"),
    }
}

fn check_places<E: Cell>(of: fn(f32) -> E, layouts: &[Layout]) {
    let (n_rows, n_classes) = (2000, 150);
    assert!(lists_per_task(n_classes) < 1900, "several tasks");
    for layout in layouts {
        let mut cells = Array2::from_shape_fn((n_rows, n_classes), |(row, column)| of((row % 8 + column) as f32));
        let places = [
            ((1999, 149), f32::NAN),
            ((1900, 3), f32::NEG_INFINITY),
            ((1900, 2), f32::INFINITY),
            ((1000, 128), f32::NAN),
            ((0, 70), f32::NEG_INFINITY),
            ((0, 69), f32::INFINITY),
        ];
        for ((row, column), bad) in places {
            cells[(row, column)] = of(bad);
            let stored = layout.store(&cells);
            for num_threads in THREADS {
                let refused = non_finite(scan_all(&stored, Masks::default(), num_threads));
                assert_eq!(refused, (row, column, bad.to_string()));
            }
        }
    }
}

#[test]
fn the_first_score_that_is_not_finite_is_named() {
    check_places::<f32>(|score| score, &[Layout::Rows, Layout::Columns, Layout::RowsReversed]);
    check_places::<f64>(f64::from, &[Layout::Rows]);
    check_places::<f16>(f16::from_f32, &[Layout::Rows]);
}

/// Lists are graded in their own order, which need not be that of the rows.
#[test]
fn the_first_list_is_the_one_named() {
    let mut cells = Array2::from_elem((3, 5), 0.5_f64);
    cells[(0, 4)] = f64::NAN;
    cells[(2, 1)] = f64::NAN;
    let options = ScanOptions { k: 1, masks: Masks::default() };
    let grading = Grading { rows: &[1, 2, 0], truths: &[None; 3], exposed: Some(&[false; 3]) };
    let scan = Par::unwatched(1, |par| scan(par, &cells.view(), &grading, &[identity()], &options));
    assert_eq!(non_finite(scan), (2, 1, "NaN".into()));
    let cells = ndarray::array![[u64::MAX, 0], [0, 0], [1 << 63, u64::MAX]];
    let scan = Par::unwatched(1, |par| super::scan(par, &cells.view(), &grading, &[identity()], &options));
    assert!(matches!(scan, Err(Error::IntegerRange { row: 2, column: 0, .. })));
}

#[test]
fn only_a_declared_mask_may_be_infinite() {
    let mut cells = Array2::from_elem((2, 100), 0.5_f32);
    cells[(1, 30)] = f32::NEG_INFINITY;
    let neg_inf = Masks { exclude: None, neg_inf: true };
    assert_eq!(scan_all(&cells, neg_inf, 1).unwrap().n_candidates, [100, 99]);
    cells[(1, 31)] = f32::INFINITY;
    assert_eq!(non_finite(scan_all(&cells, neg_inf, 1)), (1, 31, "inf".into()));
    cells[(1, 29)] = f32::NAN;
    assert_eq!(non_finite(scan_all(&cells, neg_inf, 1)), (1, 29, "NaN".into()));
    // What is excluded is not looked at.
    let scan = scan_masked(&cells, &[0, 0, 3], &[29, 30, 31], 0).unwrap();
    assert_eq!(scan.n_candidates, [100, 97]);
    assert_eq!(non_finite(scan_masked(&cells, &[0, 0, 2], &[29, 30], 0)), (1, 31, "inf".into()));
}

#[test]
fn transforms_name_the_first_infinite_score_too() {
    let mut cells = Array2::from_elem((2, 100), 0.5_f32);
    cells[(1, 30)] = f32::NEG_INFINITY;
    cells[(1, 31)] = f32::NAN;
    let discount = Transform::rates(&[1; 100], 100, &[false; 100], 1.0, 0.0).unwrap();
    let alone = [Ranker::Model(discount.clone())];
    let after = [identity(), Ranker::Model(discount)];
    for rankers in [&alone[..], &after] {
        let mut cells = cells.clone();
        let scan = |cells: &Array2<f32>| scan_rows(cells, &[None, None], rankers, 1, Masks::default(), 1);
        assert_eq!(non_finite(scan(&cells)), (1, 30, "-inf".into()));
        cells[(1, 31)] = 0.5;
        assert_eq!(non_finite(scan(&cells)), (1, 30, "-inf".into()));
        cells[(0, 99)] = -0.5;
        assert!(matches!(scan(&cells), Err(Error::ScoreOutOfRange { row: 0, column: 99, .. })));
    }
}

/// The sum of a row only hints at scores that are not finite.
#[test]
fn finite_scores_whose_sum_overflows_are_ranked() {
    let mut cells = Array2::from_elem((1, 100), 3e38_f32);
    cells[(0, 7)] = 1.0;
    cells[(0, 8)] = -3e38;
    let scan = scan_rows(&cells, &[Some(7)], &[identity()], 3, Masks::default(), 1).unwrap();
    assert_eq!(scan.blocks[0].placements, [Placement { better: 98, tied: 1 }]);
    let doubles = cells.mapv(|score| f64::from(score) * 5e269);
    let scan = scan_rows(&doubles, &[Some(7)], &[identity()], 3, Masks::default(), 1).unwrap();
    assert_eq!(scan.blocks[0].placements, [Placement { better: 98, tied: 1 }]);
}

#[test]
fn a_row_without_candidates_is_refused() {
    let mut cells = Array2::from_elem((3, 4), 0.5_f64);
    let all_masked = |scan: Result<Scan>| assert_eq!(scan.unwrap_err(), Error::AllMasked { row: 1, n_classes: 4 });
    all_masked(scan_masked(&cells, &[0, 1, 5, 5], &[2, 0, 1, 2, 3], 0));
    cells.row_mut(1).fill(f64::NEG_INFINITY);
    all_masked(scan_all(&cells, Masks { exclude: None, neg_inf: true }, 1));
    cells[(1, 2)] = 0.5;
    let exclude = Exclusion::new(&[0, 0, 1, 1], &[2], 3, 4).unwrap();
    all_masked(scan_all(&cells, Masks { exclude: Some(exclude), neg_inf: true }, 1));
}

#[test]
fn integers_beyond_the_comparison_type_are_refused() {
    for layout in Layout::ALL {
        let mut cells = Array2::from_elem((2, 5), 7_u64);
        cells[(1, 3)] = 1 << 63;
        cells[(1, 4)] = u64::MAX;
        match scan_all(&layout.store(&cells), Masks::default(), 1) {
            Err(Error::IntegerRange { row: 1, column: 3, value, .. }) => assert_eq!(value, "9223372036854775808"),
            other => panic!("{other:?}"),
        }
    }
    // The lowest integer is the mark of a mask: fine where nothing is masked.
    let cells = ndarray::array![[i64::MIN, 3], [i64::MIN, i64::MIN]];
    let scan = scan_all(&cells, Masks::default(), 1).unwrap();
    let places = [(1, 1), (0, 2)].map(|(better, tied)| Placement { better, tied });
    assert_eq!(scan.blocks[0].placements, places);
    assert_eq!(scan.blocks[0].catalogue.exposure().expected, [2.0, 2.0]);
    let lowest = |scan| matches!(scan, Err(Error::IntegerRange { row: 0, column: 0, .. }));
    assert!(lowest(scan_masked(&cells, &[0, 1, 1], &[1], 0)));
    assert!(lowest(scan_all(&cells, Masks { exclude: None, neg_inf: true }, 1)));
    assert_eq!(scan_masked(&cells, &[0, 1, 1], &[0], 1).unwrap().n_candidates, [1, 2]);
}

#[test]
fn a_masked_truth_is_a_miss() {
    let cells = ndarray::array![[3_i16, 2, 1], [3, 2, 1]];
    let scan = scan_masked(&cells, &[0, 1, 1], &[2], 2).unwrap();
    assert_eq!(scan.blocks[0].placements, [Placement::MISS, Placement { better: 2, tied: 1 }]);
    assert_eq!(scan.n_masked_truth, 1);
    // A truth that is no column is a miss, but not a masked one.
    let scan = scan_rows(&cells, &[None, Some(0)], &[identity()], 1, Masks::default(), 1).unwrap();
    assert_eq!(scan.blocks[0].placements, [Placement::MISS, Placement { better: 0, tied: 1 }]);
    assert_eq!(scan.n_masked_truth, 0);
}

/// Scans two rows of three columns with one argument changed.
fn shape(change: impl Fn(&mut Grading<'_>, &mut Vec<Ranker>, &mut ScanOptions<'_>)) -> String {
    let cells = Array2::from_elem((2, 3), 0.5_f32);
    let (mut rankers, mut options) = (vec![identity()], ScanOptions { k: 1, masks: Masks::default() });
    let mut grading = Grading { rows: &[0, 1], truths: &[None, Some(2)], exposed: Some(&[true, true]) };
    change(&mut grading, &mut rankers, &mut options);
    match Par::unwatched(1, |par| scan(par, &cells.view(), &grading, &rankers, &options)) {
        Err(Error::Shape(message) | Error::Parameter(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sizes_that_contradict_one_another_are_refused() {
    assert_eq!(shape(|_, rankers, _| rankers.clear()), "there is no ranker");
    assert!(shape(|_, _, options| options.k = 0).contains("at least 1"));
    assert!(shape(|grading, _, _| grading.rows = &[0]).contains("1 rows to grade"));
    assert!(shape(|grading, _, _| grading.exposed = Some(&[true])).contains("2 rows to grade"));
    assert!(shape(|grading, _, _| grading.rows = &[0, 2]).starts_with("row 2 is to be graded"));
    assert!(shape(|grading, _, _| grading.truths = &[Some(3), None]).starts_with("truth 3 is no column"));
    let own = |message: String| assert!(message.contains("cannot rank 3 columns"), "{message}");
    own(shape(|_, rankers, _| {
        rankers.push(Ranker::Model(Transform::rates(&[1; 4], 9, &[false; 4], 1.0, 0.0).unwrap()));
    }));
    let popularity = |table: &[f64], n_classes, k, segments: &[u32]| {
        Ranker::Popularity(Popularity::new(table, n_classes, k, segments.to_vec()).unwrap())
    };
    own(shape(|_, rankers, _| rankers.push(popularity(&[1.0; 4], 4, 1, &[0, 0]))));
    let lists = shape(|_, rankers, _| rankers.push(popularity(&[1.0; 3], 3, 1, &[0])));
    assert!(lists.starts_with("popularity of 1 lists"), "{lists}");
    let cut = shape(|_, rankers, _| rankers.push(popularity(&[1.0; 3], 3, 2, &[0, 0])));
    assert!(cut.contains("top 2"), "{cut}");
    for (n_lists, n_classes) in [(1, 3), (3, 3), (2, 4), (2, 2)] {
        let starts = vec![0; n_lists + 1];
        let message = shape(|_, _, options| {
            // The arrays live as long as the scan.
            let starts = starts.clone().leak();
            options.masks.exclude = Some(Exclusion::new(starts, &[], n_lists, n_classes).unwrap());
        });
        assert!(message.starts_with("exclude"), "{message}");
    }
    for (n_rows, n_classes) in [(0, 3), (3, 0)] {
        let cells = Array2::<f32>::zeros((n_rows, n_classes));
        assert!(matches!(scan_rows(&cells, &[], &[identity()], 1, Masks::default(), 1), Err(Error::Shape(_))));
    }
}

#[test]
fn popularity_is_checked() {
    for (table, n_classes, k, segments) in
        [(vec![], 0, 1, vec![]), (vec![1.0; 4], 3, 1, vec![0]), (vec![1.0; 6], 3, 1, vec![0, 2])]
    {
        assert!(matches!(Popularity::new(&table, n_classes, k, segments), Err(Error::Shape(_))));
    }
    for table in [[1.0, f64::NAN], [f64::NEG_INFINITY, 1.0]] {
        assert!(matches!(Popularity::new(&table, 2, 1, vec![]), Err(Error::Parameter(_))));
    }
    assert!(matches!(Popularity::new(&[1.0], 1, 0, vec![]), Err(Error::Parameter(_))));
}

#[test]
fn any_cut_off_beyond_the_columns_will_do() {
    let cells = ndarray::array![[1_i8, 2, 2]];
    let popularity = Popularity::new(&[2.0, 1.0, 0.0], 3, usize::MAX, vec![0]).unwrap();
    for ranker in [identity(), Ranker::Popularity(popularity)] {
        let scan = scan_rows(&cells, &[Some(0)], &[ranker], usize::MAX, Masks::default(), 1).unwrap();
        assert_eq!(scan.blocks[0].catalogue.exposure().expected, [1.0; 3]);
        assert_eq!(scan.uniform.exposure().seen, [1.0; 3]);
    }
}

#[test]
fn no_list_is_no_error() {
    let cells = Array2::from_elem((2, 3), f32::NAN);
    let (grading, options) =
        (Grading { rows: &[], truths: &[], exposed: None }, ScanOptions { k: 1, masks: Masks::default() });
    let scan = Par::unwatched(4, |par| scan(par, &cells.view(), &grading, &[identity()], &options)).unwrap();
    assert!(scan.blocks[0].placements.is_empty() && scan.n_candidates.is_empty());
    assert_eq!(scan.blocks[0].catalogue.exposure().expected, [0.0; 3]);
}

#[test]
fn a_scan_can_be_interrupted() {
    let cells = Array2::from_shape_fn((1, 1000), |(_, column)| column as f64);
    let n_lists = 2_000_000;
    let rows = vec![0; n_lists];
    let truths = vec![None; n_lists];
    let grading = Grading { rows: &rows, truths: &truths, exposed: None };
    let options = ScanOptions { k: 10, masks: Masks::default() };
    let mut ticks = vec![];
    let mut tick = |finished| {
        ticks.push(finished);
        ControlFlow::Break(())
    };
    let mut par = Par { num_threads: 2, tick: &mut tick };
    let scan = scan(&mut par, &cells.view(), &grading, &[identity()], &options);
    assert_eq!(scan.unwrap_err(), Error::Interrupted);
    assert!(ticks[0] < n_lists / lists_per_task(1000), "stopped before the end");
}
