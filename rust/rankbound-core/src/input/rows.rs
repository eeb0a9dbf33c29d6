//! Rows of a score matrix: lent as they are where possible, otherwise converted a few at a time.

use ndarray::ArrayView2;

use super::element::{BEYOND_RANGE, Element};
use super::exclusion::Exclusion;
use super::score::Score;
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// Which scores of a matrix are not candidates.
#[derive(Debug, Clone, Copy, Default)]
pub struct Masks<'a> {
    /// Excluded columns of each graded list.
    pub exclude: Option<Exclusion<'a>>,
    /// Whether a score of -inf means "not a candidate" instead of a mistake.
    pub neg_inf: bool,
}

/// A row ready for ranking.
pub(crate) struct Row<'r, T> {
    /// The scores; [`Score::MASKED`] where a column is not a candidate.
    pub(crate) scores: &'r [T],
    /// The columns that are not candidates, rising.
    pub(crate) masked: &'r [u32],
}

/// Buffers in which one worker prepares rows.
#[derive(Debug, Default)]
pub(crate) struct RowReader<T> {
    block: Vec<T>,
    copy: Vec<T>,
    masked: Vec<u32>,
}

impl<T: Kernel> RowReader<T> {
    /// Makes the rows `indices` of the matrix ready. Rows that can be lent are left alone; others
    /// are converted columns outermost, so that a column-major matrix is read in its own order.
    pub(crate) fn load<E>(&mut self, matrix: &ArrayView2<'_, E>, indices: &[usize]) -> Result<()>
    where
        E: Element<Native = T>,
    {
        self.block.clear();
        let n_classes = matrix.ncols();
        let first = matrix.row(0);
        let contiguous = first.as_slice();
        if contiguous.is_some_and(|row| E::lend(row).is_some()) {
            return Ok(());
        }
        self.block.resize(indices.len() * n_classes, T::MASKED);
        let mut refused: Option<((usize, usize), String)> = None;
        let mut convert = |row: usize, column: usize| {
            let at = (row, column);
            match matrix[(indices[row], column)].widen() {
                Ok(score) => self.block[row * n_classes + column] = score,
                Err(value) if refused.as_ref().is_none_or(|(earliest, _)| at < *earliest) => {
                    refused = Some((at, value));
                }
                Err(_) => {}
            }
        };
        if contiguous.is_some() {
            (0..indices.len()).for_each(|row| (0..n_classes).for_each(|column| convert(row, column)));
        } else {
            (0..n_classes).for_each(|column| (0..indices.len()).for_each(|row| convert(row, column)));
        }
        refused.map_or(Ok(()), |((row, column), value)| {
            Err(Error::IntegerRange { row: indices[row], column, value, reason: BEYOND_RANGE })
        })
    }

    /// The row of a list: at `position` among those loaded last, `list` among all lists and `index`
    /// in the matrix.
    ///
    /// Rows without masks are lent unchecked: the pass over them notices what is not finite and
    /// [`check_finite`] finds the place. Masked rows are copied and checked here.
    #[expect(clippy::cast_possible_truncation, reason = "matrices have fewer than 2^32 columns")]
    pub(crate) fn row<'r, E>(
        &'r mut self,
        matrix: &'r ArrayView2<'_, E>,
        (position, list, index): (usize, usize, usize),
        masks: &Masks<'_>,
    ) -> Result<Row<'r, T>>
    where
        E: Element<Native = T>,
    {
        let n_classes = matrix.ncols();
        let lent = if self.block.is_empty() { matrix.row(index).to_slice().and_then(E::lend) } else { None };
        let scores = lent.unwrap_or_else(|| &self.block[position * n_classes..(position + 1) * n_classes]);
        match &masks.exclude {
            Some(exclude) => exclude.fill((list, index), &mut self.masked),
            None => self.masked.clear(),
        }
        let n_excluded = self.masked.len();
        if n_excluded == 0 && !masks.neg_inf {
            return Ok(Row { scores, masked: &self.masked });
        }
        if !T::all_candidates(scores) {
            for (column, score) in scores.iter().enumerate().filter(|(_, score)| !score.is_candidate()) {
                if self.masked[..n_excluded].binary_search(&(column as u32)).is_ok() {
                    continue;
                }
                if !(masks.neg_inf && *score == T::MASKED && !score.is_finite()) {
                    return Err(score.refusal(index, column));
                }
                self.masked.push(column as u32);
            }
            self.masked.sort_unstable();
        }
        if self.masked.len() == n_classes {
            return Err(Error::AllMasked { row: index, n_classes });
        }
        self.copy.clear();
        self.copy.extend_from_slice(scores);
        self.masked.iter().for_each(|&column| self.copy[column as usize] = T::MASKED);
        Ok(Row { scores: &self.copy, masked: &self.masked })
    }
}

/// Names the first score of an unmasked row that is not finite.
pub(crate) fn check_finite<T: Score>(scores: &[T], row: usize) -> Result<()> {
    match scores.iter().position(|score| !score.is_finite()) {
        None => Ok(()),
        Some(column) => Err(scores[column].refusal(row, column)),
    }
}
