//! Items left out of single rows: sorted columns in compressed rows, and marks in matrices.

use std::ops::Range;

use ndarray::{ArrayView2, Axis, Slice};

use crate::error::{Error, Result};
use crate::kernel::column;

/// Marks that are looked at together.
const MARKS_PER_LOOK: usize = 64;

/// The excluded columns of each row: listed, as borrowed CSR arrays, and marked.
#[derive(Debug, Clone, Copy)]
pub struct Exclusion<'a> {
    listed: Option<(&'a [i64], &'a [u32])>,
    marked: &'a [ArrayView2<'a, u8>],
    n_classes: usize,
}

impl<'a> Exclusion<'a> {
    /// Checks the arrays once, so that rows can be taken without checks.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `starts` rises from 0 to the number of columns listed, has one entry
    /// more than there are lists, and each list names columns below `n_classes` in rising order.
    pub fn new(starts: &'a [i64], columns: &'a [u32], n_lists: usize, n_classes: usize) -> Result<Self> {
        let rises = starts.len() == n_lists + 1 && starts[0] == 0 && starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rises || starts.last().copied() != i64::try_from(columns.len()).ok() {
            return Err(Error::Shape("exclude: row starts do not fit the listed columns".into()));
        }
        let exclusion = Self { listed: Some((starts, columns)), marked: &[], n_classes };
        for list in 0..n_lists {
            let listed = exclusion.listed(list);
            let in_range = listed.last().is_none_or(|&column| (column as usize) < n_classes);
            if !in_range || listed.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(Error::Shape(format!(
                    "exclude: row {list} must list distinct columns below {n_classes} in rising order"
                )));
            }
        }
        Ok(exclusion)
    }

    /// Leaves nothing out of rows of `n_classes`.
    pub fn nothing(n_classes: usize) -> Self {
        Self { listed: None, marked: &[], n_classes }
    }

    /// Leaves out, too, what is not 0 in any of some matrices in the shape of the scores.
    #[must_use]
    pub fn with_marks(self, marked: &'a [ArrayView2<'a, u8>]) -> Self {
        Self { marked, ..self }
    }

    /// Checks that it was made for as many lists of a matrix of this shape.
    ///
    /// # Errors
    /// [`Error::Shape`] if not.
    pub(crate) fn check_sizes(&self, n_lists: usize, (n_rows, n_classes): (usize, usize)) -> Result<()> {
        let refuse = |(rows, columns): (usize, usize), expected: usize| {
            Err(Error::Shape(format!("exclude has {rows} rows of {columns} columns, not {expected} of {n_classes}")))
        };
        if let Some((starts, _)) = self.listed
            && (starts.len() - 1, self.n_classes) != (n_lists, n_classes)
        {
            return refuse((starts.len() - 1, self.n_classes), n_lists);
        }
        match self.marked.iter().find(|marks| marks.dim() != (n_rows, n_classes)) {
            Some(marks) => refuse(marks.dim(), n_rows),
            None => Ok(()),
        }
    }

    fn listed(&self, list: usize) -> &'a [u32] {
        let Some((starts, columns)) = self.listed else { return &[] };
        let [start, end] =
            [starts[list], starts[list + 1]].map(|start| usize::try_from(start).expect("checked on construction"));
        &columns[start..end]
    }

    /// Calls `each` with the excluded columns within a range of a list, whose scores are a row of the
    /// matrix; with one that is both listed and marked twice.
    pub(crate) fn visit(&self, (list, row): (usize, usize), within: Range<usize>, mut each: impl FnMut(usize)) {
        let listed = self.listed(list);
        let from = listed.partition_point(|&column| (column as usize) < within.start);
        listed[from..].iter().map(|&column| column as usize).take_while(|at| *at < within.end).for_each(&mut each);
        if self.marked.is_empty() {
            return;
        }
        for start in within.clone().step_by(MARKS_PER_LOOK) {
            let marks = self.look(row, start..within.end.min(start + MARKS_PER_LOOK));
            if marks != [0; MARKS_PER_LOOK] {
                marks.iter().enumerate().filter(|(_, mark)| **mark != 0).for_each(|(at, _)| each(start + at));
            }
        }
    }

    /// Puts the excluded columns of a list into `columns`, rising and each once.
    ///
    /// # Panics
    /// If there is no such list or row.
    pub(crate) fn fill(&self, (list, row): (usize, usize), columns: &mut Vec<u32>) {
        columns.clear();
        if self.marked.is_empty() {
            columns.extend_from_slice(self.listed(list));
            return;
        }
        let mut listed = self.listed(list).iter().map(|&column| column as usize).peekable();
        for start in (0..self.n_classes).step_by(MARKS_PER_LOOK) {
            let mut marks = self.look(row, start..self.n_classes.min(start + MARKS_PER_LOOK));
            while let Some(at) = listed.next_if(|&at| at < start + MARKS_PER_LOOK) {
                marks[at - start] = 1;
            }
            if marks == [0; MARKS_PER_LOOK] {
                continue;
            }
            // Every place is written, and overwritten by the next one unless it counts: no guessing.
            let mut end = columns.len();
            columns.resize(end + MARKS_PER_LOOK, 0);
            for (at, &mark) in marks.iter().enumerate() {
                columns[end] = column(start + at);
                end += usize::from(mark != 0);
            }
            columns.truncate(end);
        }
    }

    /// What is marked in a row within a range of at most [`MARKS_PER_LOOK`], 0 beyond its end.
    fn look(&self, row: usize, within: Range<usize>) -> [u8; MARKS_PER_LOOK] {
        let mut look = [0; MARKS_PER_LOOK];
        for marks in self.marked {
            let marks = marks.index_axis(Axis(0), row).slice_axis_move(Axis(0), Slice::from(within.clone()));
            match marks.to_slice() {
                Some(marks) => look.iter_mut().zip(marks).for_each(|(any, mark)| *any |= mark),
                None => look.iter_mut().zip(marks).for_each(|(any, mark)| *any |= mark),
            }
        }
        look
    }

    /// Whether a column of a list is excluded.
    pub(crate) fn has(&self, (list, row): (usize, usize), at: usize) -> bool {
        self.listed(list).binary_search(&column(at)).is_ok() || self.marked.iter().any(|marks| marks[(row, at)] != 0)
    }
}
