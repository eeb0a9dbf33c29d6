//! Items left out of single rows: sorted columns in compressed rows.

use crate::error::{Error, Result};

/// The excluded columns of each row, as borrowed CSR arrays.
#[derive(Debug, Clone, Copy)]
pub struct Exclusion<'a> {
    starts: &'a [i64],
    columns: &'a [u32],
    n_classes: usize,
}

impl<'a> Exclusion<'a> {
    /// Checks the arrays once, so that rows can be taken without checks.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `starts` rises from 0 to the number of columns listed, has one entry
    /// more than there are rows, and each row lists columns below `n_classes` in rising order.
    pub fn new(starts: &'a [i64], columns: &'a [u32], n_rows: usize, n_classes: usize) -> Result<Self> {
        let rises = starts.len() == n_rows + 1 && starts[0] == 0 && starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rises || starts.last().copied() != i64::try_from(columns.len()).ok() {
            return Err(Error::Shape("exclude: row starts do not fit the listed columns".into()));
        }
        let exclusion = Self { starts, columns, n_classes };
        for row in 0..n_rows {
            let listed = exclusion.row(row);
            let in_range = listed.last().is_none_or(|&column| (column as usize) < n_classes);
            if !in_range || listed.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(Error::Shape(format!(
                    "exclude: row {row} must list distinct columns below {n_classes} in rising order"
                )));
            }
        }
        Ok(exclusion)
    }

    /// Checks that it was made for as many rows and classes.
    ///
    /// # Errors
    /// [`Error::Shape`] if not.
    pub(crate) fn check_sizes(&self, n_rows: usize, n_classes: usize) -> Result<()> {
        let own = (self.starts.len() - 1, self.n_classes);
        if own == (n_rows, n_classes) {
            return Ok(());
        }
        Err(Error::Shape(format!("exclude has {} rows of {} columns, not {n_rows} of {n_classes}", own.0, own.1)))
    }

    /// The excluded columns of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &'a [u32] {
        let [start, end] = [self.starts[row], self.starts[row + 1]]
            .map(|start| usize::try_from(start).expect("checked on construction"));
        &self.columns[start..end]
    }
}
