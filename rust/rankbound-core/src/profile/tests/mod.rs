//! Scans against plain counting, over every type, layout, mask and split.

mod discounts;
mod enumeration;
mod oracle;
mod refusals;
mod splits;
mod top;

use ndarray::Array2;

use super::{Grading, Popularity, Ranker, Scan, ScanOptions, scan};
use crate::adjust::Transform;
use crate::error::Result;
use crate::input::{Exclusion, Masks};
use crate::par::Par;
use crate::testing::{Cell, Dice, Layout};

/// What is drawn for one comparison.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    n_rows: usize,
    n_classes: usize,
    n_lists: usize,
    n_levels: usize,
    arrangement: Arrangement,
    layout: Layout,
    k: usize,
    num_threads: usize,
    /// Percentage of the columns of a row that are excluded, in every other list, and as -inf.
    excluded: usize,
    neg_inf: usize,
    exposed: usize,
}

/// Which columns tie.
#[derive(Debug, Clone, Copy)]
enum Arrangement {
    Mixed,
    /// Whole blocks of columns tie, but for a few.
    Blocks,
    Rising,
    Falling,
}

/// A matrix and the lists to grade on it.
struct Data<E> {
    cells: Array2<E>,
    stored: Array2<E>,
    rows: Vec<usize>,
    truths: Vec<Option<u32>>,
    starts: Vec<i64>,
    columns: Vec<u32>,
    neg_inf: bool,
    exposed: Vec<bool>,
    table: Vec<f64>,
    segments: Vec<u32>,
}

impl<E: Cell> Data<E> {
    fn new(case: &Case) -> Self {
        let mut dice = Dice::new(case.seed);
        let &Case { n_rows, n_classes, n_lists, n_levels, .. } = case;
        // Every row keeps one candidate.
        let kept: Vec<usize> = (0..n_rows).map(|_| dice.below(n_classes)).collect();
        let cells = Array2::from_shape_fn((n_rows, n_classes), |(row, column)| match E::MASK {
            Some(mask) if column != kept[row] && dice.percent(case.neg_inf) => mask,
            _ => {
                let level = match case.arrangement {
                    Arrangement::Mixed => dice.below(n_levels),
                    Arrangement::Blocks => (column / 64 * 7 + usize::from(dice.percent(2))) % n_levels,
                    Arrangement::Rising => column * n_levels / n_classes,
                    Arrangement::Falling => (n_classes - 1 - column) * n_levels / n_classes,
                };
                E::level(level, &mut dice)
            }
        });
        let rows: Vec<usize> = (0..n_lists).map(|_| dice.below(n_rows)).collect();
        let truths = (0..n_lists).map(|_| (!dice.percent(10)).then(|| dice.column(n_classes))).collect();
        let (mut starts, mut columns) = (vec![0], vec![]);
        for &row in &rows {
            if dice.percent(50) {
                let excluded = (0..n_classes).filter(|column| *column != kept[row] && dice.percent(case.excluded));
                columns.extend(excluded.map(|column| u32::try_from(column).expect("a column")));
            }
            starts.push(i64::try_from(columns.len()).expect("a length"));
        }
        let exposed = (0..n_lists).map(|_| dice.percent(case.exposed)).collect();
        let table = (0..3 * n_classes).map(|_| f64::level(dice.below(n_levels), &mut dice)).collect();
        let segments = (0..n_lists).map(|_| dice.column(3)).collect();
        let stored = case.layout.store(&cells);
        let neg_inf = case.neg_inf > 0;
        Self { cells, stored, rows, truths, starts, columns, neg_inf, exposed, table, segments }
    }

    /// Scans the lists of a range with the model, the model under `transform` and popularity.
    fn scan(&self, lists: std::ops::Range<usize>, transform: &Transform, case: &Case, num_threads: usize) -> Scan {
        let n_classes = self.cells.ncols();
        let first = self.starts[lists.start];
        let starts: Vec<i64> = self.starts[lists.start..=lists.end].iter().map(|start| start - first).collect();
        let [from, to] = [first, self.starts[lists.end]].map(|start| usize::try_from(start).expect("a start"));
        let exclude = Exclusion::new(&starts, &self.columns[from..to], lists.len(), n_classes).expect("well formed");
        let segments = self.segments[lists.clone()].to_vec();
        let popularity = Popularity::new(&self.table, n_classes, case.k, segments).expect("well formed");
        let rankers =
            [Ranker::Model(Transform::Identity), Ranker::Model(transform.clone()), Ranker::Popularity(popularity)];
        let grading = Grading {
            rows: &self.rows[lists.clone()],
            truths: &self.truths[lists.clone()],
            exposed: (case.exposed < 100).then_some(&self.exposed[lists]),
        };
        let exclude = (case.excluded > 0).then_some(exclude);
        let options = ScanOptions { k: case.k, masks: Masks { exclude, neg_inf: self.neg_inf } };
        Par::unwatched(num_threads, |par| scan(par, &self.stored.view(), &grading, &rankers, &options))
            .expect("nothing to refuse")
    }

    /// Which columns of a list are candidates.
    fn candidates(&self, list: usize, case: &Case) -> Vec<bool> {
        let [from, to] =
            [self.starts[list], self.starts[list + 1]].map(|start| usize::try_from(start).expect("a start"));
        let excluded = if case.excluded > 0 { &self.columns[from..to] } else { &[] };
        let masked = E::MASK.filter(|_| self.neg_inf);
        let candidate = |(column, cell): (usize, &E)| {
            !masked.is_some_and(|mask| cell.value() == mask.value())
                && !excluded.iter().any(|&excluded| excluded as usize == column)
        };
        self.cells.row(self.rows[list]).iter().enumerate().map(candidate).collect()
    }
}

/// Scans every row, all of them exposed.
fn scan_rows<E: Cell>(
    stored: &Array2<E>,
    truths: &[Option<u32>],
    rankers: &[Ranker],
    k: usize,
    masks: Masks<'_>,
    num_threads: usize,
) -> Result<Scan> {
    let rows: Vec<usize> = (0..stored.nrows()).collect();
    let grading = Grading { rows: &rows, truths, exposed: None };
    let options = ScanOptions { k, masks };
    Par::unwatched(num_threads, |par| scan(par, &stored.view(), &grading, rankers, &options))
}

/// That two blocks agree to the last bit.
fn assert_same(left: &super::Block, right: &super::Block) {
    assert_eq!(left.placements, right.placements);
    assert_eq!(left.n_tied_at_cut, right.n_tied_at_cut);
    assert_eq!(left.disparity, right.disparity);
    assert_eq!(left.catalogue.exposure(), right.catalogue.exposure());
}
