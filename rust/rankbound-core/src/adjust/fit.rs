//! What is learned from a reference matrix: percentile knots and dead classes.

use std::cmp::Ordering;

use ndarray::{ArrayView2, Axis, Slice};

use crate::adjust::Knots;
use crate::error::{Error, Result};
use crate::input::{Element, Score};
use crate::par::Par;

/// Bytes of one block of columns. It depends on nothing else than the matrix, so that the place
/// an error names does not depend on the number of threads.
const BLOCK_BYTES: usize = 4 << 20;
/// More knots than this would store columns, not summarise them.
const MAX_KNOTS: usize = 1 << 16;
/// Scores of one block of rows when only dead classes are sought.
const BLOCK_SCORES: usize = 1 << 16;

/// Percentile knots of every column: all its distinct values if there are at most `n_knots`, else
/// the distinct values among `n_knots` evenly spaced order statistics, with counts from the whole
/// column. With `mask_neg_inf` a score of `-inf` is left out of its column.
///
/// # Errors
/// [`Error::NonFiniteScore`] for scores that are not finite, [`Error::Parameter`] for fewer than
/// 2 or more than 2^16 knots, for 2^32 rows or more, and for a column without any score.
pub fn fit_knots<E: Element>(
    par: &mut Par<'_>,
    reference: &ArrayView2<'_, E>,
    n_knots: usize,
    mask_neg_inf: bool,
) -> Result<Knots> {
    let (n_rows, n_classes) = reference.dim();
    if !(2..=MAX_KNOTS).contains(&n_knots) {
        return Err(Error::Parameter(format!("n_knots must be between 2 and {MAX_KNOTS}, got {n_knots}")));
    }
    if u32::try_from(n_rows).is_err() {
        return Err(Error::Parameter(format!("percentile knots count at most {} rows, got {n_rows}", u32::MAX)));
    }
    // At least one cache line of a row, at most 64 columns so that there is work to share.
    let line = (64 / size_of::<E>()).max(1);
    let width = (BLOCK_BYTES / size_of::<E::Native>() / n_rows.max(1)).clamp(line, 64);
    let pieces = par.run(
        (0..n_classes).step_by(width),
        || (vec![Vec::new(); width], Vec::new()),
        |(columns, pieces), first| {
            let last = (first + width).min(n_classes);
            let columns = &mut columns[..last - first];
            gather(reference, first, mask_neg_inf, columns)?;
            let mut piece = Piece::default();
            for (index, column) in columns.iter_mut().enumerate() {
                if column.is_empty() {
                    let column = first + index;
                    return Err(Error::Parameter(format!("column {column} has no reference score: all are -inf")));
                }
                column.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
                piece.push(column, n_knots);
            }
            pieces.push((first, piece));
            Ok(())
        },
    )?;
    let mut pieces: Vec<_> = pieces.into_iter().flat_map(|(_, pieces)| pieces).collect();
    pieces.sort_unstable_by_key(|(first, _)| *first);
    let mut all = Piece::default();
    let mut offsets = vec![0];
    for (_, piece) in pieces {
        all.values.extend(piece.values);
        all.less.extend(piece.less);
        all.equal.extend(piece.equal);
        all.dead.extend(piece.dead);
        for size in piece.sizes {
            offsets.push(offsets[offsets.len() - 1] + size);
        }
    }
    Knots::new(all.values, all.less, all.equal, offsets, all.dead)
}

/// Which columns are identically 0. With `mask_neg_inf` a score of `-inf` is passed over; a
/// column without any other score is not dead.
///
/// # Errors
/// [`Error::NonFiniteScore`] for scores that are not finite.
pub fn dead_classes<E: Element>(
    par: &mut Par<'_>,
    reference: &ArrayView2<'_, E>,
    mask_neg_inf: bool,
) -> Result<Vec<bool>> {
    const ZERO: u8 = 1;
    const OTHER: u8 = 2;
    let n_classes = reference.ncols();
    let step = (BLOCK_SCORES / n_classes.max(1)).max(1);
    let seen = par.run(
        (0..reference.nrows()).step_by(step),
        || vec![0_u8; n_classes],
        |seen, first| {
            let last = (first + step).min(reference.nrows());
            for row in first..last {
                for (column, (seen, &score)) in seen.iter_mut().zip(reference.row(row)).enumerate() {
                    let score = score.widen_at(row, column)?;
                    if check(score, mask_neg_inf, row, column)? {
                        *seen |= if score.to_f64() == 0.0 { ZERO } else { OTHER };
                    }
                }
            }
            Ok(())
        },
    )?;
    Ok((0..n_classes).map(|class| seen.iter().fold(0, |all, seen| all | seen[class]) == ZERO).collect())
}

/// Whether a score counts: `false` for a mask.
fn check<T: Score>(score: T, mask_neg_inf: bool, row: usize, column: usize) -> Result<bool> {
    if score == T::MASKED && mask_neg_inf {
        Ok(false)
    } else if score.is_finite() {
        Ok(true)
    } else {
        Err(Error::NonFiniteScore { row, column, value: score.to_f64() })
    }
}

/// Copies columns `first..` row by row, as the matrix lies in memory.
fn gather<E: Element>(
    reference: &ArrayView2<'_, E>,
    first: usize,
    mask_neg_inf: bool,
    columns: &mut [Vec<E::Native>],
) -> Result<()> {
    columns.iter_mut().for_each(Vec::clear);
    let block = reference.slice_axis(Axis(1), Slice::from(first..first + columns.len()));
    for (row, scores) in block.rows().into_iter().enumerate() {
        for (index, (column, &score)) in columns.iter_mut().zip(scores).enumerate() {
            let score = score.widen_at(row, first + index)?;
            if check(score, mask_neg_inf, row, first + index)? {
                column.push(score);
            }
        }
    }
    Ok(())
}

/// The knots of one block of columns.
#[derive(Default)]
struct Piece {
    values: Vec<f64>,
    less: Vec<u32>,
    equal: Vec<u32>,
    sizes: Vec<usize>,
    dead: Vec<bool>,
}

impl Piece {
    /// Adds the knots of a sorted column.
    fn push<T: Score>(&mut self, sorted: &[T], n_knots: usize) {
        let before = self.values.len();
        let n_distinct = sorted.chunk_by(|a, b| a == b).count();
        if n_distinct <= n_knots {
            let mut less = 0;
            for equal in sorted.chunk_by(|a, b| a == b) {
                self.push_knot(equal[0], less, equal.len());
                less += equal.len();
            }
        } else {
            let mut counted = 0;
            for step in 0..n_knots {
                // floor(step (n - 1) / (n_knots - 1) + 1/2) in integers.
                let position = (2 * step * (sorted.len() - 1) + (n_knots - 1)) / (2 * (n_knots - 1));
                if position < counted {
                    continue; // The value of the knot before.
                }
                let value = sorted[position];
                let less = counted + sorted[counted..].partition_point(|other| *other < value);
                counted = position + sorted[position..].partition_point(|other| *other == value);
                self.push_knot(value, less, counted - less);
            }
        }
        self.sizes.push(self.values.len() - before);
        self.dead.push(n_distinct == 1 && sorted[0].to_f64() == 0.0);
    }

    #[expect(clippy::cast_possible_truncation, reason = "the number of rows fits in u32")]
    fn push_knot<T: Score>(&mut self, value: T, less: usize, equal: usize) {
        self.values.push(value.to_f64() + 0.0); // -0.0 is stored as 0.0
        self.less.push(less as u32);
        self.equal.push(equal as u32);
    }
}
