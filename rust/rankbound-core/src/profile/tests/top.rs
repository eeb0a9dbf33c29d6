use half::f16;
use proptest::prelude::*;

use super::*;
use crate::error::Error;
use crate::profile::top_columns;

/// The candidates of each row under a stable sort by score, best first.
fn sorted<E: Cell>(data: &Data<E>, case: &Case) -> Vec<Vec<u32>> {
    let sort = |row: usize| {
        let candidates = data.candidates(row, case);
        let mut columns: Vec<usize> = (0..case.n_classes).filter(|column| candidates[*column]).collect();
        let value = |column: usize| data.cells[(row, column)].value();
        columns.sort_by(|&a, &b| value(b).partial_cmp(&value(a)).unwrap());
        columns.into_iter().take(case.k).map(|column| u32::try_from(column).unwrap()).collect()
    };
    (0..case.n_rows).map(sort).collect()
}

fn check<E: Cell>(case: &Case) {
    let mut data = Data::<E>::new(case);
    data.rows = (0..case.n_rows).collect();
    // The exclusions were drawn for other rows: keep the last column of each.
    let last = u32::try_from(case.n_classes - 1).unwrap();
    if case.neg_inf == 0 {
        let (mut starts, mut columns) = (vec![0], vec![]);
        for pair in data.starts.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|start| usize::try_from(start).unwrap());
            columns.extend(data.columns[from..to].iter().filter(|column| **column != last));
            starts.push(i64::try_from(columns.len()).unwrap());
        }
        (data.starts, data.columns) = (starts, columns);
    } else {
        data.starts.fill(0);
        data.columns.clear();
    }
    let exclude = Exclusion::new(&data.starts, &data.columns, case.n_rows, case.n_classes).unwrap();
    let exclude = (case.excluded > 0).then_some(exclude);
    let masks = Masks { exclude, neg_inf: data.neg_inf };
    let top = Par::unwatched(case.num_threads, |par| top_columns(par, &data.stored.view(), case.k, &masks)).unwrap();
    let width = case.k.min(case.n_classes);
    for (row, expected) in sorted(&data, case).into_iter().enumerate() {
        assert_eq!(top.counts[row] as usize, expected.len());
        assert_eq!(top.columns[row * width..][..expected.len()], expected);
    }
    assert_eq!(top.columns.len(), case.n_rows * width);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_best_columns_are_those_of_a_stable_sort(
        (seed, kind, n_rows) in (any::<u64>(), 0..5_usize, 1..=5_usize),
        n_classes in prop_oneof![1..=8_usize, 1..=200_usize, 500..=700_usize, 4100..=4200_usize],
        n_levels in prop_oneof![1..=4_usize, 3..=38_usize, Just(5000_usize)],
        (k, layout) in (prop_oneof![1..=20_usize, 1..=800_usize], prop::sample::select(Layout::ALL.to_vec())),
        (excluded, neg_inf) in prop::sample::select(vec![(0_usize, 0_usize), (0, 90), (40, 0), (97, 0)]),
        num_threads in prop::sample::select(vec![1_usize, 3]),
    ) {
        let case = Case {
            seed, n_rows, n_classes, n_lists: n_rows, n_levels, arrangement: Arrangement::Mixed, layout, k,
            num_threads, excluded, neg_inf, exposed: 100,
        };
        [check::<f32>, check::<f64>, check::<i64>, check::<u8>, check::<f16>][kind](&case);
    }
}

#[test]
fn what_cannot_be_ranked_is_refused() {
    let mut cells = Array2::from_shape_fn((3000, 100), |(row, column)| (row + column) as f32);
    let top = |cells: &Array2<f32>, k, num_threads| {
        Par::unwatched(num_threads, |par| top_columns(par, &cells.view(), k, &Masks::default()))
    };
    assert!(matches!(top(&cells, 0, 1), Err(Error::Shape(_))));
    assert!(matches!(top(&Array2::zeros((0, 3)), 1, 1), Err(Error::Shape(_))));
    assert!(matches!(top(&Array2::zeros((3, 0)), 1, 1), Err(Error::Shape(_))));
    for (row, column) in [(2999, 1), (2700, 99), (2700, 7), (41, 64)] {
        cells[(row, column)] = f32::INFINITY;
        for num_threads in [1, 2, 16] {
            let value = f64::INFINITY;
            assert_eq!(top(&cells, 3, num_threads), Err(Error::NonFiniteScore { row, column, value }));
        }
    }
    let cells = Array2::from_elem((2, 70), 3e38_f32);
    assert_eq!(top(&cells, 2, 1).unwrap().columns, [0, 1, 0, 1]);
}
