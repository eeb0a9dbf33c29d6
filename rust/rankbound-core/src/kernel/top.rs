//! The top K of one row, found from the block maxima without looking at most of the row.

use super::blocks::{BLOCK, count_equal, larger};
use crate::input::Score;

/// The best K of a row: the columns above the cut, and the tie group at it.
#[derive(Debug, Default)]
pub struct TopK<T> {
    /// Columns that score strictly higher than the group at the cut; in the top K by every order.
    pub(crate) above: Vec<u32>,
    /// The group at the cut; none if the row has fewer than K candidates.
    pub(crate) cut: Option<Cut<T>>,
    /// Blocks that hold members of the group, each with how many.
    pub(crate) tied_blocks: Vec<(usize, u32)>,
    // What scores above the bound: scores and columns.
    scores: Vec<T>,
    columns: Vec<u32>,
    ordered: Vec<T>,
}

/// The tie group that holds the K-th place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut<T> {
    /// The score of the group.
    pub(crate) value: T,
    /// Members of the group (`t`).
    pub(crate) size: u32,
    /// Places of the top K left for the group (`s`), from 1 to `size`.
    pub(crate) slots: u32,
}

impl<T: Score> TopK<T> {
    /// Whether the order of equal scores decides what is in the top K.
    pub(crate) fn is_split(&self) -> bool {
        self.cut.is_some_and(|cut| cut.slots < cut.size)
    }

    /// Finds the top `k` of `row`, given the maxima of its blocks. With `masked`, columns that
    /// hold [`Score::MASKED`] are not candidates.
    #[inline(always)]
    #[expect(clippy::needless_bitwise_bool, reason = "no branch per score")]
    pub(super) fn find(&mut self, row: &[T], maxima: &[T], k: usize, masked: bool) {
        self.above.clear();
        self.scores.clear();
        self.columns.clear();
        self.tied_blocks.clear();
        self.cut = None;
        let bound = lower_bound(maxima, k, &mut self.ordered);
        for (block, scores) in touched(row, maxima, |maximum| maximum > bound) {
            for (chunk, scores) in scores.chunks(8).enumerate() {
                if scores.iter().fold(false, |any, &score| any | (score > bound)) {
                    for (at, &score) in scores.iter().enumerate() {
                        if score > bound {
                            self.scores.push(score);
                            self.columns.push(column(block * BLOCK + chunk * 8 + at));
                        }
                    }
                }
            }
        }
        let value = kth_largest(&self.scores, k, &mut self.ordered).unwrap_or(bound);
        let ranked = self.scores.iter().zip(&self.columns);
        self.above.extend(ranked.filter(|(score, _)| **score > value).map(|(_, &column)| column));
        if masked && value == T::MASKED {
            return;
        }
        let mut size = 0;
        for (block, scores) in touched(row, maxima, |maximum| maximum >= value) {
            let tied = count_equal(scores, value);
            if tied > 0 {
                self.tied_blocks.push((block, tied));
                size += tied;
            }
        }
        let slots = size.min(column(k - self.above.len()));
        if slots > 0 {
            self.cut = Some(Cut { value, size, slots });
        }
    }
}

/// Lanes into which the maxima are folded for a small K.
const FOLD: usize = 32;

/// A score that at least `k` columns reach and few exceed: the k-th largest block maximum, or a
/// little below it. [`Score::MASKED`] if there are fewer than `k` blocks.
///
/// Only blocks whose maximum exceeds the bound hold anything above it, and their number depends on
/// `k` alone, so the candidates stay few whatever the ties.
#[inline(always)]
pub(super) fn lower_bound<T: Score>(maxima: &[T], k: usize, scratch: &mut Vec<T>) -> T {
    if k <= FOLD / 2 && maxima.len() >= 2 * FOLD {
        let mut lanes = [T::MASKED; FOLD];
        let folds = maxima.chunks_exact(FOLD);
        let rest = folds.remainder();
        for fold in folds {
            for lane in 0..FOLD {
                lanes[lane] = larger(lanes[lane], fold[lane]);
            }
        }
        lanes.iter_mut().zip(rest).for_each(|(lane, &maximum)| *lane = larger(*lane, maximum));
        return kth_largest(&lanes, k, scratch).unwrap_or(T::MASKED);
    }
    kth_largest(maxima, k, scratch).unwrap_or(T::MASKED)
}

/// Up to this many values, counting what is larger beats a selection with its branches.
const FEW: usize = 64;

/// The k-th largest of the values; none if there are fewer.
#[inline(always)]
pub(super) fn kth_largest<T: Score>(values: &[T], k: usize, scratch: &mut Vec<T>) -> Option<T> {
    if values.len() < k {
        return None;
    }
    if values.len() <= FEW {
        let is_kth = |value: T| {
            let larger = values.iter().fold(0_u32, |count, &other| count.wrapping_add(u32::from(other > value)));
            (larger as usize) < k && k <= (larger + count_equal(values, value)) as usize
        };
        return values.iter().copied().find(|&value| is_kth(value));
    }
    scratch.clear();
    scratch.extend_from_slice(values);
    let descending = |a: &T, b: &T| b.partial_cmp(a).expect("scores are ordered: NaN was refused");
    Some(*scratch.select_nth_unstable_by(k - 1, descending).1)
}

/// Blocks whose maximum passes, with their position.
#[inline(always)]
fn touched<'a, T: Score>(
    row: &'a [T],
    maxima: &'a [T],
    passes: impl Fn(T) -> bool + 'a,
) -> impl Iterator<Item = (usize, &'a [T])> + 'a {
    let blocks = row.chunks(BLOCK).zip(maxima).enumerate();
    blocks.filter_map(move |(block, (scores, &maximum))| passes(maximum).then_some((block, scores)))
}

/// A column number in the width in which columns are stored. Matrices have fewer than 2^32 columns.
#[inline(always)]
pub(crate) fn column(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 columns")
}
