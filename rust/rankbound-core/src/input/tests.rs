use ndarray::Array2;

use super::{Exclusion, Masks, RowReader};
use crate::error::{Error, Result};
use crate::kernel::column;
use crate::testing::{Cell, Layout};

#[test]
fn malformed_exclusions_are_refused() {
    let fits = |starts: &[i64], columns: &[u32]| Exclusion::new(starts, columns, 2, 4).is_ok();
    assert!(fits(&[0, 0, 0], &[]));
    assert!(fits(&[0, 2, 4], &[0, 3, 1, 2]));
    for (starts, columns) in [
        (&[][..], &[][..]),
        (&[0, 0], &[]),        // a row too few
        (&[0, 0, 0, 0], &[]),  // a row too many
        (&[1, 1, 1], &[2]),    // does not start at 0
        (&[0, 2, 1], &[1, 2]), // falls
        (&[0, -1, 1], &[1]),   // falls below 0
        (&[0, 1, 1], &[1, 2]), // ends early
        (&[0, 1, 3], &[1, 2]), // ends late
        (&[0, 1, 2], &[1, 4]), // no column
        (&[0, 2, 2], &[4, 1]), // no column, hidden by the order
        (&[0, 2, 2], &[3, 1]), // not in order
        (&[0, 0, 2], &[1, 1]), // twice
    ] {
        assert!(!fits(starts, columns), "{starts:?} {columns:?}");
    }
    let rows_may_restart = Exclusion::new(&[0, 1, 2], &[3, 0], 2, 4).unwrap();
    assert_eq!([0, 1].map(|list| excluded(&rows_may_restart, (list, 0))), [[3], [0]]);
}

fn excluded(exclusion: &Exclusion<'_>, place: (usize, usize)) -> Vec<u32> {
    let mut columns = vec![9];
    exclusion.fill(place, &mut columns);
    columns
}

/// Lists name columns by list, marks by row: the second list is of the first row.
#[test]
fn what_is_listed_and_what_is_marked_is_left_out_once() {
    let marks = [ndarray::array![[0_u8, 1, 0, 2, 0], [0; 5]], ndarray::array![[0, 0, 0, 1, 1], [1, 0, 0, 0, 0]]];
    let views = [marks[0].view(), marks[1].view()];
    let exclusion = Exclusion::new(&[0, 2, 2, 3], &[0, 4, 2], 3, 5).unwrap().with_marks(&views);
    let expected = [vec![0, 1, 3, 4], vec![1, 3, 4], vec![0, 2]];
    for (list, expected) in expected.iter().enumerate() {
        let place = (list, list / 2);
        assert_eq!(excluded(&exclusion, place), *expected);
        let has: Vec<u32> = (0..5).filter(|&at| exclusion.has(place, at as usize)).collect();
        assert_eq!(has, *expected);
        for (start, end) in [(0, 5), (1, 4), (3, 3)] {
            let mut seen = vec![];
            exclusion.visit(place, start..end, |at| seen.push(column(at)));
            seen.sort_unstable();
            seen.dedup();
            let within = |at: &&u32| (start..end).contains(&(**at as usize));
            assert_eq!(seen, expected.iter().filter(within).copied().collect::<Vec<_>>());
        }
    }
    assert!(exclusion.check_sizes(3, (2, 5)).is_ok());
    for (n_lists, shape) in [(2, (2, 5)), (3, (3, 5)), (3, (2, 4))] {
        assert!(matches!(exclusion.check_sizes(n_lists, shape), Err(Error::Shape(_))));
    }
    let marked = Exclusion::nothing(5).with_marks(&views[1..]);
    assert_eq!(excluded(&marked, (7, 0)), [3, 4]);
    assert!(marked.check_sizes(8, (2, 5)).is_ok());
}

/// Scores and masked columns of a row.
type Read<T> = (Vec<T>, Vec<u32>);

/// All rows of a matrix as the kernels see them, in the given order.
fn read<E: Cell>(cells: &Array2<E>, indices: &[usize], masks: &Masks<'_>) -> Result<Vec<Read<E::Native>>> {
    let mut reader = RowReader::default();
    reader.load(&cells.view(), indices)?;
    let view = cells.view();
    let mut row = |(position, &index): (usize, &usize)| {
        let row = reader.row(&view, (position, position, index), masks)?;
        Ok((row.scores.to_vec(), row.masked.to_vec()))
    };
    indices.iter().enumerate().map(&mut row).collect()
}

#[test]
fn rows_are_the_same_from_any_layout() {
    let native = Array2::from_shape_fn((4, 70), |(row, column)| (row * 100 + column) as f32);
    let narrow = native.mapv(half::f16::from_f32);
    let indices = [3, 0, 3, 2];
    let expected: Vec<_> = indices.iter().map(|&row| (native.row(row).to_vec(), vec![])).collect();
    for layout in Layout::ALL {
        assert_eq!(read(&layout.store(&native), &indices, &Masks::default()).unwrap(), expected);
        assert_eq!(read(&layout.store(&narrow), &indices, &Masks::default()).unwrap(), expected);
    }
}

#[test]
fn a_reader_forgets_the_matrix_before() {
    let mut reader = RowReader::default();
    let columns = Layout::Columns.store(&Array2::from_elem((3, 2), 1.0_f64));
    let rows = Array2::from_elem((3, 2), 2.0_f64);
    reader.load(&columns.view(), &[0, 1]).unwrap();
    reader.load(&rows.view(), &[2]).unwrap();
    assert_eq!(reader.row(&rows.view(), (0, 0, 2), &Masks::default()).unwrap().scores, [2.0, 2.0]);
}

#[test]
fn masks_of_both_kinds_are_listed_once_in_order() {
    let cells = ndarray::array![[0.5, f64::NEG_INFINITY, 0.25, f64::NEG_INFINITY, 0.0], [1.0; 5]];
    let exclude = Exclusion::new(&[0, 2, 2], &[0, 3], 2, 5).unwrap();
    let rows = read(&cells, &[0, 1], &Masks { exclude: Some(exclude), neg_inf: true }).unwrap();
    let masked = f64::NEG_INFINITY;
    assert_eq!(rows[0], (vec![masked, masked, 0.25, masked, 0.0], vec![0, 1, 3]));
    assert_eq!(rows[1], (vec![1.0; 5], vec![]));
    let refused = read(&cells, &[0, 1], &Masks { exclude: Some(exclude), neg_inf: false });
    assert_eq!(refused, Err(Error::NonFiniteScore { row: 0, column: 1, value: masked }));
}

#[test]
fn every_place_is_looked_at() {
    let masks = Masks { exclude: None, neg_inf: true };
    for length in 1..40 {
        for at in 0..length {
            for bad in [f32::NAN, f32::INFINITY] {
                let mut cells = Array2::from_elem((1, length), f32::MAX);
                cells[(0, at)] = bad;
                let refused = read(&cells, &[0], &masks);
                assert!(matches!(refused, Err(Error::NonFiniteScore { row: 0, column, .. }) if column == at));
            }
            let mut cells = Array2::from_elem((1, length), i64::MIN + 1);
            assert_eq!(read(&cells, &[0], &masks).unwrap()[0].1, []);
            cells[(0, at)] = i64::MIN;
            let refused = read(&cells, &[0], &masks);
            assert!(matches!(refused, Err(Error::IntegerRange { row: 0, column, .. }) if column == at));
        }
    }
}
