//! The top K of one row, found from the block maxima without looking at most of the row.

use super::blocks::{BLOCK, FOLD, Maxima, count_equal, larger};
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
    // Blocks in which something reaches the bound, and what exceeds it: scores and columns.
    touched: Vec<usize>,
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
    pub(super) fn find(&mut self, row: &[T], maxima: &[Maxima<T>], k: usize, masked: bool) {
        self.above.clear();
        self.scores.clear();
        self.columns.clear();
        self.touched.clear();
        self.tied_blocks.clear();
        self.cut = None;
        let bound = lower_bound(maxima, k, &mut self.ordered);
        self.touched.extend(reaching(maxima, bound));
        for &block in &self.touched {
            for (chunk, scores) in block_of(row, block).chunks(8).enumerate() {
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
        for &block in &self.touched {
            let tied = count_equal(block_of(row, block), value);
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
const WIDE: usize = 4 * FOLD;

/// A score that at least `k` columns reach and few exceed: the k-th largest of the lanes' maxima,
/// or a little below it. [`Score::MASKED`] if there are fewer than `k` lanes.
///
/// Fewer than a few times `k` lanes hold anything above the bound, whatever the ties, so the
/// candidates stay few.
#[inline(always)]
pub(super) fn lower_bound<T: Score>(maxima: &[Maxima<T>], k: usize, scratch: &mut Vec<T>) -> T {
    if k <= WIDE / 2 && maxima.len() >= 8 {
        let mut lanes = [T::MASKED; WIDE];
        for (at, maximum) in maxima.iter().enumerate() {
            let place = at % 4 * FOLD;
            for lane in 0..FOLD {
                lanes[place + lane] = larger(lanes[place + lane], maximum[lane]);
            }
        }
        return kth_largest(&lanes, k, scratch).unwrap_or(T::MASKED);
    }
    kth_largest(maxima.as_flattened(), k, scratch).unwrap_or(T::MASKED)
}

/// Positions of the blocks in which some score reaches the bound.
#[inline(always)]
pub(super) fn reaching<T: Score>(maxima: &[Maxima<T>], bound: T) -> impl Iterator<Item = usize> {
    let reaches = move |maximum: &Maxima<T>| maximum.iter().fold(false, |any, &score| any | (score >= bound));
    maxima.iter().enumerate().filter(move |(_, maximum)| reaches(maximum)).map(|(block, _)| block)
}

/// The scores of a block.
#[inline(always)]
pub(super) fn block_of<T>(row: &[T], block: usize) -> &[T] {
    &row[block * BLOCK..row.len().min((block + 1) * BLOCK)]
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

/// A column number in the width in which columns are stored. Matrices have fewer than 2^32 columns.
#[inline(always)]
pub(crate) fn column(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 columns")
}
