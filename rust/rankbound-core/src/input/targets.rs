//! The relevant items of each list: sorted items in compressed rows, with grades.

use crate::error::{Error, Result};

/// Relevant items per list, as borrowed CSR arrays.
#[derive(Debug, Clone, Copy)]
pub struct Targets<'a> {
    starts: &'a [i64],
    items: &'a [u32],
    grades: Option<&'a [f64]>,
    n_items: usize,
    keeps_items: bool,
}

impl<'a> Targets<'a> {
    /// Checks the arrays once, so that lists can be taken without checks.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `starts` rises from 0 to the number of items listed, each list names
    /// items below `n_items` in rising order, and there is a positive grade per item, if any.
    pub fn new(starts: &'a [i64], items: &'a [u32], grades: Option<&'a [f64]>, n_items: usize) -> Result<Self> {
        let rises = starts.first() == Some(&0) && starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rises || starts.last().copied() != i64::try_from(items.len()).ok() {
            return Err(Error::Shape("targets: row starts do not fit the listed items".into()));
        }
        if grades.is_some_and(|grades| grades.len() != items.len() || !grades.iter().all(|&grade| grade > 0.0)) {
            return Err(Error::Shape("targets: every item needs a grade above 0".into()));
        }
        let targets = Self { starts, items, grades, n_items, keeps_items: false };
        for list in 0..targets.len() {
            let listed = targets.list(list).0;
            let in_range = listed.last().is_none_or(|&item| (item as usize) < n_items);
            if !in_range || listed.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(Error::Shape(format!(
                    "targets: row {list} must list distinct items below {n_items} in rising order"
                )));
            }
        }
        Ok(targets)
    }

    /// Lets profiles remember which items they are of, for groups of items.
    #[must_use]
    pub fn keeping_items(self, keeps_items: bool) -> Self {
        Self { keeps_items, ..self }
    }

    /// Whether profiles remember which items they are of.
    pub fn keeps_items(&self) -> bool {
        self.keeps_items
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no list.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of items in the catalogue.
    pub fn n_items(&self) -> usize {
        self.n_items
    }

    /// Whether the items have grades.
    pub fn is_graded(&self) -> bool {
        self.grades.is_some()
    }

    /// The relevant items of a list and their grades; no grades if all are 1.
    ///
    /// # Panics
    /// If there is no such list.
    pub fn list(&self, list: usize) -> (&'a [u32], &'a [f64]) {
        let [start, end] = [self.starts[list], self.starts[list + 1]]
            .map(|start| usize::try_from(start).expect("checked on construction"));
        (&self.items[start..end], self.grades.map_or(&[][..], |grades| &grades[start..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_with_their_grades() {
        let targets = Targets::new(&[0, 2, 2, 3], &[1, 4, 0], Some(&[1.0, 2.0, 3.0]), 5).unwrap();
        assert_eq!((targets.len(), targets.list(0)), (3, (&[1, 4][..], &[1.0, 2.0][..])));
        assert_eq!((targets.list(1), targets.list(2)), ((&[][..], &[][..]), (&[0][..], &[3.0][..])));
        assert!(!Targets::new(&[0, 1], &[3], None, 4).unwrap().is_graded());
    }

    #[test]
    fn damaged_arrays_are_refused() {
        for (starts, items) in [
            (&[0, 3][..], &[1, 2][..]),
            (&[1, 2], &[1]),
            (&[0, 2, 1], &[1]),
            (&[0, 2], &[2, 1]),
            (&[0, 1], &[5]),
            (&[], &[]),
        ] {
            assert!(Targets::new(starts, items, None, 5).is_err(), "{starts:?} {items:?}");
        }
        assert!(Targets::new(&[0, 1], &[1], Some(&[0.0]), 5).is_err());
        assert!(Targets::new(&[0, 1], &[1], Some(&[]), 5).is_err());
    }
}
