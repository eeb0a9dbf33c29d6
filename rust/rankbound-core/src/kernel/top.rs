//! The top K of one row, found from the block maxima without looking at most of the row.

use multiversion::multiversion;

use super::blocks::{BLOCK, FOLD, Maxima, larger, smaller};
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
    pub(crate) fn find(&mut self, row: &[T], maxima: &[Maxima<T>], k: usize, masked: bool) {
        self.above.clear();
        self.columns.clear();
        self.tied_blocks.clear();
        self.cut = None;
        let bound = lower_bound(maxima, k, &mut self.ordered);
        reaching(maxima, bound, &mut self.touched);
        for &block in &self.touched {
            gather(block_of(row, block), column(block * BLOCK), |score| score > bound, &mut self.columns);
        }
        self.scores.clear();
        self.scores.extend(self.columns.iter().map(|&column| row[column as usize]));
        let value = kth_largest(&self.scores, k, &mut self.ordered).unwrap_or(bound);
        let ranked = || self.scores.iter().zip(&self.columns);
        self.above.extend(ranked().filter(|(score, _)| **score > value).map(|(_, &column)| column));
        if masked && value == T::MASKED {
            return;
        }
        if value > bound {
            for (_, &column) in ranked().filter(|(score, _)| **score == value) {
                let block = column as usize / BLOCK;
                match self.tied_blocks.last_mut() {
                    Some((last, tied)) if *last == block => *tied += 1,
                    _ => self.tied_blocks.push((block, 1)),
                }
            }
        } else {
            let counts = self.touched.iter().map(|&block| (block, count_equal(block_of(row, block), value)));
            self.tied_blocks.extend(counts.filter(|(_, tied)| *tied > 0));
        }
        let size = self.tied_blocks.iter().map(|(_, tied)| tied).sum();
        let slots = column(k - self.above.len()).min(size);
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
#[multiversion(targets("x86_64+avx2+fma"))]
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
        for (lane, &score) in lanes.iter_mut().zip(rest) {
            *lane = larger(*lane, score);
        }
        return kth_of_lanes(&lanes, k);
    }
    kth_largest(maxima.as_flattened(), k, scratch).unwrap_or(T::MASKED)
}

/// Lists the blocks in which some score reaches the bound.
#[multiversion(targets("x86_64+avx2+fma"))]
pub(super) fn reaching<T: Score>(maxima: &[Maxima<T>], bound: T, blocks: &mut Vec<usize>) {
    blocks.clear();
    for (block, maximum) in maxima.iter().enumerate() {
        if any(maximum, |score| score >= bound) {
            blocks.push(block);
        }
    }
}

/// Appends the columns of a block, counted from `first`, whose score is to be kept.
#[multiversion(targets("x86_64+avx2+fma"))]
pub(super) fn gather<T: Score>(block: &[T], first: u32, keep: impl Fn(T) -> bool, columns: &mut Vec<u32>) {
    gather_of(block, first, keep, columns);
}

/// As [`gather`], for callers that are compiled for each target themselves.
#[inline(always)]
pub(super) fn gather_of<T: Score>(block: &[T], first: u32, keep: impl Fn(T) -> bool, columns: &mut Vec<u32>) {
    let (chunks, rest) = block.as_chunks::<8>();
    for (at, chunk) in (first..).step_by(8).zip(chunks) {
        if any(chunk, &keep) {
            // Every column is written and only those that belong are kept: no branch to mispredict.
            let (mut found, mut kept) = ([0; 8], 0_usize);
            for (offset, &score) in OCTET.iter().zip(chunk) {
                found[kept & 7] = at.wrapping_add(*offset);
                kept = kept.wrapping_add(usize::from(keep(score)));
            }
            columns.extend_from_slice(&found[..kept]);
        }
    }
    let at = first + column(block.len() - rest.len());
    columns.extend((at..).zip(rest).filter(|(_, score)| keep(**score)).map(|(column, _)| column));
}

const OCTET: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Whether a score of a few is to be kept.
#[inline(always)]
fn any<T: Copy, const N: usize>(scores: &[T; N], keep: impl Fn(T) -> bool) -> bool {
    scores.iter().fold(false, |any, &score| any | keep(score))
}

/// How many scores equal `value`.
#[multiversion(targets("x86_64+avx2+fma"))]
fn count_equal<T: Score>(scores: &[T], value: T) -> u32 {
    scores.iter().fold(0_u32, |count, &score| count.wrapping_add(u32::from(score == value)))
}

/// The scores of a block.
#[inline(always)]
pub(super) fn block_of<T>(row: &[T], block: usize) -> &[T] {
    &row[block * BLOCK..row.len().min((block + 1) * BLOCK)]
}

/// The k-th largest of the values; none if there are fewer.
#[multiversion(targets("x86_64+avx2+fma"))]
pub(super) fn kth_largest<T: Score>(values: &[T], k: usize, scratch: &mut Vec<T>) -> Option<T> {
    if values.len() < k {
        return None;
    }
    if values.len() <= WIDE / 2 {
        return Some(kth_of_lanes(&padded::<T, { WIDE / 2 }>(values), k));
    }
    if values.len() <= WIDE {
        return Some(kth_of_lanes(&padded::<T, WIDE>(values), k));
    }
    scratch.clear();
    scratch.extend_from_slice(values);
    let descending = |a: &T, b: &T| b.partial_cmp(a).expect("scores are ordered: NaN was refused");
    Some(*scratch.select_nth_unstable_by(k - 1, descending).1)
}

/// Scores, followed by [`Score::MASKED`].
#[inline(always)]
pub(super) fn padded<T: Score, const N: usize>(scores: &[T]) -> [T; N] {
    let mut padded = [T::MASKED; N];
    padded[..scores.len()].copy_from_slice(scores);
    padded
}

/// The k-th largest of a few values: the least that fewer than `k` exceed. Compares all with all,
/// which takes fewer steps than the mispredicted branches of a selection.
#[inline(always)]
fn kth_of_lanes<T: Score, const N: usize>(lanes: &[T; N], k: usize) -> T {
    let largest = lanes.iter().copied().fold(lanes[0], larger);
    let mut kth = [largest; N];
    let mut larger_than = [0_u32; N];
    for &other in lanes {
        for lane in 0..N {
            larger_than[lane] = larger_than[lane].wrapping_add(u32::from(other > lanes[lane]));
        }
    }
    for lane in 0..N {
        kth[lane] = if larger_than[lane] < column(k) { lanes[lane] } else { largest };
    }
    kth.iter().copied().fold(largest, smaller)
}

/// A column number in the width in which columns are stored. Matrices have fewer than 2^32 columns.
#[inline(always)]
pub(crate) fn column(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 columns")
}
