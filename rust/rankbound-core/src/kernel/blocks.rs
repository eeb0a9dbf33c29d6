//! The one pass over a row: count what beats and what ties the truth, and keep each block's maximum.

use crate::input::Score;

/// Columns per block: small enough that few candidates share a block, large enough that a row has
/// few maxima.
pub(crate) const BLOCK: usize = 64;

/// Four sums for each column of a block, column by column within each sum.
pub type BlockSums = [[i64; BLOCK]; 4];

/// What one pass over a row tells about its truth and its soundness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockPass<T> {
    /// Candidates that score strictly higher than the truth.
    pub(crate) better: u32,
    /// Candidates that score the same, the truth itself included.
    pub(crate) tied: u32,
    /// Sum of the scores: not finite if a score is not finite (the converse may fail by overflow).
    pub(crate) sum: T,
}

/// Reads `row` once, compares it with `truth` and writes one maximum per [`BLOCK`] columns.
///
/// Lanes are counted apart and added at the end: arrays of fixed width become vector registers.
/// Wrapping sums, because a check per element would forbid vectors; a count is at most the number
/// of columns.
#[inline(always)]
pub(super) fn block_pass<T: Score, const LANES: usize>(row: &[T], truth: T, maxima: &mut Vec<T>) -> BlockPass<T> {
    let mut better = [0_u32; LANES];
    let mut tied = [0_u32; LANES];
    let mut sum = [T::default(); LANES];
    maxima.clear();
    maxima.reserve(row.len().div_ceil(BLOCK));
    let blocks = row.chunks_exact(BLOCK);
    let rest = blocks.remainder();
    for block in blocks {
        let mut maximum = [T::MASKED; LANES];
        for scores in block.chunks_exact(LANES) {
            for lane in 0..LANES {
                let score = scores[lane];
                better[lane] = better[lane].wrapping_add(u32::from(score > truth));
                tied[lane] = tied[lane].wrapping_add(u32::from(score == truth));
                sum[lane] = sum[lane].plus(score);
                maximum[lane] = larger(maximum[lane], score);
            }
        }
        // Halving keeps the lanes in one register; a fold would go through them one by one.
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                maximum[lane] = larger(maximum[lane], maximum[lane + width]);
            }
            width /= 2;
        }
        maxima.push(maximum[0]);
    }
    if !rest.is_empty() {
        for (position, &score) in rest.iter().enumerate() {
            let lane = position % LANES;
            better[lane] += u32::from(score > truth);
            tied[lane] += u32::from(score == truth);
            sum[lane] = sum[lane].plus(score);
        }
        maxima.push(rest.iter().copied().fold(T::MASKED, larger));
    }
    BlockPass {
        better: better.into_iter().sum(),
        tied: tied.into_iter().sum(),
        sum: sum.into_iter().fold(T::default(), T::plus),
    }
}

/// How many scores equal `value`.
#[inline(always)]
pub(super) fn count_equal<T: Score>(scores: &[T], value: T) -> u32 {
    scores.iter().fold(0_u32, |count, &score| count.wrapping_add(u32::from(score == value)))
}

/// Adds `share` to the sums of the columns of one block that score `value`, without a branch per
/// column. Wrapping, as above: the caller bounds the sums.
#[inline(always)]
pub(super) fn add_where_equal<T: Score>(sums: &mut BlockSums, scores: &[T], value: T, share: &[i64; 4]) {
    let mut masks = [0_i64; BLOCK];
    masks.iter_mut().zip(scores).for_each(|(mask, &score)| *mask = -i64::from(score == value));
    for (sums, share) in sums.iter_mut().zip(share) {
        sums.iter_mut().zip(&masks).for_each(|(sum, mask)| *sum = sum.wrapping_add(share & mask));
    }
}

/// The larger of two ordered scores.
#[inline(always)]
pub(super) fn larger<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}
