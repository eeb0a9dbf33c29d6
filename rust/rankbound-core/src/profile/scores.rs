//! Score matrix in, tie profiles out: one pass over a row for all its relevant items.

use ndarray::ArrayView2;

use super::list::{Profiles, RelevantItem, TieGroup};
use super::scan::lists_per_task;
use crate::error::{Error, Result};
use crate::input::{Element, Masks, Row, RowReader, Targets, check_finite};
use crate::kernel::{Kernel, column};
use crate::par::Par;

/// What the lists of a score matrix are graded against, and how.
#[derive(Debug, Clone, Copy)]
pub struct ScoredTargets<'a> {
    /// Relevant items per row of the matrix.
    pub targets: Targets<'a>,
    /// Scores that are not candidates.
    pub masks: Masks<'a>,
    /// Whether relevant items that are no candidates are left out instead of counted as missed.
    pub drop_masked: bool,
}

/// The tie profiles of the rows of a score matrix, and how many relevant items are no candidates.
///
/// # Errors
/// The first score, in the order of the rows, that cannot be ranked; [`Error::Shape`] if sizes
/// contradict one another; [`Error::Interrupted`].
pub fn profile_scores<E>(
    par: &mut Par<'_>,
    matrix: &ArrayView2<'_, E>,
    graded: &ScoredTargets<'_>,
) -> Result<(Profiles, u64)>
where
    E: Element,
    E::Native: Kernel,
{
    let (n_lists, n_items) = matrix.dim();
    let ScoredTargets { targets, masks, .. } = graded;
    if (targets.len(), targets.n_items()) != (n_lists, n_items) || u32::try_from(n_items).is_err() {
        return Err(Error::Shape(format!(
            "targets has {} rows of {} items, but the scores have {n_lists} of {n_items}",
            targets.len(),
            targets.n_items()
        )));
    }
    if let Some(exclude) = &masks.exclude {
        exclude.check_sizes(n_lists, (n_lists, n_items))?;
    }
    let per_task = lists_per_task(n_items);
    let mut parts: Vec<(Profiles, u64)> = (0..n_lists.div_ceil(per_task)).map(|_| (Profiles::of(targets), 0)).collect();
    par.run(
        parts.iter_mut().zip((0..n_lists).step_by(per_task)),
        || (RowReader::<E::Native>::default(), Counter::default()),
        |(reader, counter), ((profiles, n_masked), first)| {
            let rows: Vec<usize> = (first..(first + per_task).min(n_lists)).collect();
            reader.load(matrix, &rows)?;
            for (position, &list) in rows.iter().enumerate() {
                let row = reader.row(matrix, (position, list, list), masks)?;
                *n_masked += counter.profile(list, &row, graded, profiles)?;
            }
            Ok(())
        },
    )?;
    let (parts, n_masked): (Vec<_>, Vec<u64>) = parts.into_iter().unzip();
    let mut whole = Profiles::of(targets);
    whole.append_all(parts);
    Ok((whole, n_masked.iter().sum()))
}

/// Counts what scores higher than, and the same as, each of a row's relevant items.
#[derive(Debug)]
struct Counter<T> {
    thresholds: Vec<T>,
    counts: Vec<[u32; 2]>,
    found: Vec<(TieGroup, RelevantItem)>,
    missing: Vec<RelevantItem>,
}

impl<T> Default for Counter<T> {
    fn default() -> Self {
        Self { thresholds: Vec::new(), counts: Vec::new(), found: Vec::new(), missing: Vec::new() }
    }
}

impl<T: Kernel> Counter<T> {
    /// Adds the profile of one row and returns how many of its relevant items are no candidates.
    fn profile(
        &mut self,
        list: usize,
        row: &Row<'_, T>,
        graded: &ScoredTargets<'_>,
        profiles: &mut Profiles,
    ) -> Result<u64> {
        let (relevant, grades) = graded.targets.list(list);
        self.found.clear();
        self.missing.clear();
        self.thresholds.clear();
        let mut n_masked = 0;
        for (at, &item) in relevant.iter().enumerate() {
            let own = RelevantItem { item, grade: grades.get(at).copied().unwrap_or(1.0) };
            if row.masked.binary_search(&item).is_ok() {
                n_masked += 1;
                if !graded.drop_masked {
                    self.missing.push(own);
                }
                continue;
            }
            self.thresholds.push(row.scores[item as usize]);
            self.found.push((TieGroup { better: 0, tied: 0, relevant: 1 }, own));
        }
        if row.masked.is_empty() && !T::all_finite(row.scores) {
            check_finite(row.scores, list)?;
        }
        T::count_above(row.scores, &self.thresholds, &mut self.counts);
        for ((at, _), &[better, tied]) in self.found.iter_mut().zip(&self.counts) {
            (at.better, at.tied) = (better, tied);
        }
        debug_assert!(self.found.iter().all(|(at, _)| at.better + at.tied <= column(row.scores.len())));
        profiles.push(&mut self.found, &self.missing);
        Ok(n_masked)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::input::Exclusion;

    fn naive(row: &[i64], candidates: &[bool], relevant: &[u32]) -> Vec<TieGroup> {
        let count = |matches: &dyn Fn(i64) -> bool| {
            column(row.iter().zip(candidates).filter(|&(&score, &candidate)| candidate && matches(score)).count())
        };
        let kept: Vec<i64> =
            relevant.iter().filter(|&&item| candidates[item as usize]).map(|&item| row[item as usize]).collect();
        let mut values = kept.clone();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values.dedup();
        let group = |&value: &i64| TieGroup {
            better: count(&|score| score > value),
            tied: count(&|score| score == value),
            relevant: column(kept.iter().filter(|&&score| score == value).count()),
        };
        values.iter().map(group).collect()
    }

    proptest! {
        /// Few and many relevant items, excluded ones among them, in every score type.
        #[test]
        fn groups_are_what_counting_finds(
            row in prop::collection::vec((0_i64..9, any::<bool>(), 0_u8..10), 2..400), wide: bool, is_marked: bool,
            threads in 1_usize..3,
        ) {
            let scores: Vec<i64> = row.iter().map(|&(score, _, _)| if wide { score * 97 % 61 } else { score }).collect();
            let mut candidates: Vec<bool> = row.iter().map(|&(_, _, drawn)| drawn > 0).collect();
            candidates[0] = true;
            let listed = |pick: &dyn Fn(usize) -> bool| (0..row.len()).filter(|&at| pick(at)).map(column).collect::<Vec<_>>();
            let (relevant, excluded) = (listed(&|at| row[at].1), listed(&|at| !candidates[at]));
            let expected = naive(&scores, &candidates, &relevant);
            let ends = [0, i64::try_from(relevant.len()).unwrap()];
            let exclude_ends = [0, i64::try_from(excluded.len()).unwrap()];
            let masked = relevant.iter().filter(|&&item| !candidates[item as usize]).count();
            let marks = Array2::from_shape_fn((1, row.len()), |(_, at)| u8::from(!candidates[at]));
            let marks = [marks.view()];
            for drop_masked in [false, true] {
                let exclude = if is_marked {
                    Exclusion::nothing(row.len()).with_marks(&marks)
                } else {
                    Exclusion::new(&exclude_ends, &excluded, 1, row.len()).unwrap()
                };
                let graded = ScoredTargets {
                    targets: Targets::new(&ends, &relevant, None, row.len()).unwrap(),
                    masks: Masks { exclude: Some(exclude), neg_inf: false },
                    drop_masked,
                };
                macro_rules! check { ($($type:ty),*) => {$(
                    let matrix = Array2::from_shape_fn((1, row.len()), |(_, at)| scores[at] as $type);
                    let found = Par::unwatched(threads, |par| profile_scores(par, &matrix.view(), &graded)).unwrap();
                    prop_assert_eq!(found.0.list(0).groups, &expected[..]);
                    prop_assert_eq!(found.1, masked as u64);
                    let kept = relevant.len() - if drop_masked { masked } else { 0 };
                    prop_assert_eq!(found.0.list(0).n_relevant, column(kept));
                )*}; }
                check!(f32, f64, i64);
            }
        }
    }

    #[test]
    fn a_score_that_is_not_finite_is_named() {
        let matrix = Array2::from_shape_vec((2, 3), vec![1.0, 2.0, 3.0, 4.0, f32::NAN, 6.0]).unwrap();
        let graded = ScoredTargets {
            targets: Targets::new(&[0, 0, 1], &[0], None, 3).unwrap(),
            masks: Masks::default(),
            drop_masked: false,
        };
        let error = Par::unwatched(2, |par| profile_scores(par, &matrix.view(), &graded)).unwrap_err();
        assert!(matches!(error, Error::NonFiniteScore { row: 1, column: 1, .. }), "{error}");
    }
}
