//! The top K of one row, found from the block maxima without looking at most of the row.

use super::blocks::{BLOCK, FOLD, Maxima, count_equal, larger, smaller};
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
                    // Every score is written and only those above the bound are kept: no branch to
                    // mispredict.
                    let mut kept = self.scores.len();
                    self.scores.resize(kept + scores.len(), bound);
                    self.columns.resize(kept + scores.len(), 0);
                    for (at, &score) in scores.iter().enumerate() {
                        self.scores[kept] = score;
                        self.columns[kept] = column(block * BLOCK + chunk * 8 + at);
                        kept += usize::from(score > bound);
                    }
                    self.scores.truncate(kept);
                    self.columns.truncate(kept);
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
        let groups = maxima.as_flattened().chunks_exact(WIDE);
        let rest = groups.remainder();
        for group in groups {
            for lane in 0..WIDE {
                lanes[lane] = larger(lanes[lane], group[lane]);
            }
        }
        lanes.iter_mut().zip(rest).for_each(|(lane, &score)| *lane = larger(*lane, score));
        return kth_of_lanes(&lanes, k);
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

/// The k-th largest of the values; none if there are fewer.
#[inline(always)]
pub(super) fn kth_largest<T: Score>(values: &[T], k: usize, scratch: &mut Vec<T>) -> Option<T> {
    if values.len() < k {
        return None;
    }
    if values.len() <= WIDE {
        let mut lanes = [T::MASKED; WIDE];
        lanes[..values.len()].copy_from_slice(values);
        return Some(kth_of_lanes(&lanes, k));
    }
    scratch.clear();
    scratch.extend_from_slice(values);
    let descending = |a: &T, b: &T| b.partial_cmp(a).expect("scores are ordered: NaN was refused");
    Some(*scratch.select_nth_unstable_by(k - 1, descending).1)
}

/// The k-th largest of a few values: the least that fewer than `k` exceed. Compares all with all,
/// which takes fewer steps than the mispredicted branches of a selection.
#[inline(always)]
fn kth_of_lanes<T: Score>(lanes: &[T; WIDE], k: usize) -> T {
    let largest = lanes.iter().copied().fold(lanes[0], larger);
    let mut kth = [largest; WIDE];
    let mut larger_than = [0_u32; WIDE];
    for &other in lanes {
        for lane in 0..WIDE {
            larger_than[lane] = larger_than[lane].wrapping_add(u32::from(other > lanes[lane]));
        }
    }
    for lane in 0..WIDE {
        kth[lane] = if larger_than[lane] < column(k) { lanes[lane] } else { largest };
    }
    kth.iter().copied().fold(largest, smaller)
}

/// A column number in the width in which columns are stored. Matrices have fewer than 2^32 columns.
#[inline(always)]
pub(crate) fn column(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 columns")
}
