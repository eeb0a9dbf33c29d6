//! The one pass over a row: count what beats and what ties the truth, and keep each block's maximum.

use crate::input::Score;

/// Columns per block: small enough that few candidates share a block, large enough that a row has
/// few maxima.
pub(crate) const BLOCK: usize = 64;

/// Lanes of a block of which each keeps its own maximum: reducing them to one would cost more than
/// looking at all.
pub(crate) const FOLD: usize = 8;

/// The largest score of each lane of a block; together they hold its maximum.
pub type Maxima<T> = [T; FOLD];

/// What one pass over a row tells about its truth and its soundness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockPass<T> {
    /// Candidates that score strictly higher than the truth.
    pub(crate) better: u32,
    /// Candidates that score the same, the truth itself included.
    pub(crate) tied: u32,
    /// Sum of the scores: not finite if a score is not finite (the converse may fail by overflow).
    pub(crate) sum: T,
    /// The least score.
    pub(crate) least: T,
}

/// Reads `row` once, compares it with `truth` and writes the [`Maxima`] of each block.
///
/// Lanes are counted apart and added at the end: arrays of fixed width become vector registers.
/// Wrapping sums, because a check per element would forbid vectors; a count is at most the number
/// of columns.
#[inline(always)]
pub(super) fn block_pass<T: Score, const LANES: usize>(
    row: &[T],
    truth: T,
    maxima: &mut Vec<Maxima<T>>,
) -> BlockPass<T> {
    let mut better = [0_u32; LANES];
    let mut tied = [0_u32; LANES];
    let mut sum = [T::default(); LANES];
    let mut least = [row[0]; LANES];
    maxima.resize(row.len().div_ceil(BLOCK), [T::MASKED; FOLD]);
    let blocks = row.chunks_exact(BLOCK);
    let rest = blocks.remainder();
    for (block, maximum) in blocks.zip(maxima.iter_mut()) {
        let mut largest = [T::MASKED; LANES];
        for scores in block.chunks_exact(LANES) {
            for lane in 0..LANES {
                let score = scores[lane];
                better[lane] = better[lane].wrapping_add(u32::from(score > truth));
                tied[lane] = tied[lane].wrapping_add(u32::from(score == truth));
                sum[lane] = sum[lane].plus(score);
                least[lane] = smaller(least[lane], score);
                largest[lane] = larger(largest[lane], score);
            }
        }
        *maximum = fold(&largest);
    }
    if let (false, Some(maximum)) = (rest.is_empty(), maxima.last_mut()) {
        *maximum = [T::MASKED; FOLD];
        for (position, &score) in rest.iter().enumerate() {
            better[0] += u32::from(score > truth);
            tied[0] += u32::from(score == truth);
            sum[0] = sum[0].plus(score);
            least[0] = smaller(least[0], score);
            maximum[position % FOLD] = larger(maximum[position % FOLD], score);
        }
    }
    BlockPass {
        better: better.into_iter().sum(),
        tied: tied.into_iter().sum(),
        sum: sum.into_iter().fold(T::default(), T::plus),
        least: least.into_iter().fold(row[0], smaller),
    }
}

/// Folds the largest of many lanes onto those of a block.
#[inline(always)]
pub(super) fn fold<T: Score, const LANES: usize>(largest: &[T; LANES]) -> Maxima<T> {
    let mut maximum = [T::MASKED; FOLD];
    for lanes in largest.chunks_exact(FOLD) {
        for lane in 0..FOLD {
            maximum[lane] = larger(maximum[lane], lanes[lane]);
        }
    }
    maximum
}

/// The largest of scores that are all finite and at least 0, [`Score::MASKED`] ones aside; none if
/// a score is not.
#[inline(always)]
#[expect(clippy::neg_cmp_op_on_partial_ord, clippy::nonminimal_bool, reason = "NaN is not at least 0 either")]
pub(super) fn largest_of_non_negative<T: Score, const LANES: usize>(row: &[T], masked: bool) -> Option<T> {
    let zero = T::default();
    let mut negative = [0_u32; LANES];
    let mut largest = [zero; LANES];
    let lanes = row.chunks_exact(LANES);
    let rest = lanes.remainder();
    for scores in lanes {
        for lane in 0..LANES {
            negative[lane] = negative[lane].wrapping_add(u32::from(!(scores[lane] >= zero)));
            largest[lane] = larger(largest[lane], scores[lane]);
        }
    }
    let refused = |score: &T| !(*score >= zero) && !(masked && *score == T::MASKED);
    if rest.iter().any(refused) {
        return None;
    }
    if negative.iter().any(|&count| count > 0) && (!masked || row.iter().any(refused)) {
        return None;
    }
    let largest = largest.iter().chain(rest).fold(zero, |a, &b| larger(a, b));
    largest.is_finite().then_some(largest)
}

/// Whether every score can be ranked, as [`Score::is_candidate`] says.
#[inline(always)]
pub(super) fn all_candidates<T: Score>(row: &[T]) -> bool {
    row.iter().fold(0_u32, |count, &score| count.wrapping_add(u32::from(!score.is_candidate()))) == 0
}

/// How many scores equal `value`.
#[inline(always)]
pub(super) fn count_equal<T: Score>(scores: &[T], value: T) -> u32 {
    scores.iter().fold(0_u32, |count, &score| count.wrapping_add(u32::from(score == value)))
}

/// The smaller of two ordered scores.
#[inline(always)]
pub(super) fn smaller<T: PartialOrd>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

/// The larger of two ordered scores.
#[inline(always)]
pub(super) fn larger<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}
