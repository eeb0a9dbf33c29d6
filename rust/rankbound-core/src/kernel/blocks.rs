//! The one pass over a row: count what beats and what ties the truth, and keep each block's maximum.

use crate::input::{Count, Score};

/// Columns per block: small enough that few candidates share a block, large enough that a row has
/// few maxima.
pub(crate) const BLOCK: usize = 64;

/// Lanes of a block of which each keeps its own maximum: reducing them to one would cost more than
/// looking at all.
pub(crate) const FOLD: usize = 8;

/// The largest score of each lane of a block; together they hold its maximum.
pub type Maxima<T> = [T; FOLD];

/// What one pass over a row tells about its truth and its soundness.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BlockPass<T> {
    /// Candidates that score strictly higher than the truth.
    pub(crate) better: u32,
    /// Candidates that score the same, the truth itself included.
    pub(crate) tied: u32,
    /// Sum of the scores: not finite if a score is not finite (the converse may fail by overflow).
    pub(crate) sum: T,
    /// The least score.
    pub(crate) least: T,
    /// The largest score.
    pub(crate) largest: T,
}

/// Reads `row` once, compares it with `truth` and writes the [`Maxima`] of each block.
#[inline(always)]
pub(super) fn block_pass<T: Score, const LANES: usize>(
    row: &[T],
    truth: T,
    maxima: &mut Vec<Maxima<T>>,
) -> BlockPass<T> {
    let (blocks, rest) = row.as_chunks::<BLOCK>();
    maxima.resize(row.len().div_ceil(BLOCK), [T::MASKED; FOLD]);
    let mut counts = Counts::<T, LANES>::new(row[0]);
    for (block, maximum) in blocks.iter().zip(maxima.iter_mut()) {
        *maximum = counts.read(block, truth);
    }
    counts.finish(rest, truth, maxima)
}

/// What a pass has counted so far.
///
/// Lanes are counted apart and added at the end: arrays of fixed width become vector registers.
pub(super) struct Counts<T: Score, const LANES: usize> {
    better: [T::Count; LANES],
    tied: [T::Count; LANES],
    sum: [T; LANES],
    least: [T; LANES],
}

impl<T: Score, const LANES: usize> Counts<T, LANES> {
    /// Counts of a row that begins with a score.
    #[inline(always)]
    pub(super) fn new(first: T) -> Self {
        let none = [T::Count::default(); LANES];
        Self { better: none, tied: none, sum: [T::default(); LANES], least: [first; LANES] }
    }

    /// Reads a whole block and returns its maxima.
    #[inline(always)]
    pub(super) fn read(&mut self, block: &[T; BLOCK], truth: T) -> Maxima<T> {
        let mut largest = [T::MASKED; LANES];
        for scores in block.chunks_exact(LANES) {
            for lane in 0..LANES {
                let score = scores[lane];
                self.better[lane] = self.better[lane].plus(score > truth);
                self.tied[lane] = self.tied[lane].plus(score == truth);
                self.sum[lane] = self.sum[lane].plus(score);
                self.least[lane] = smaller(self.least[lane], score);
                largest[lane] = larger(largest[lane], score);
            }
        }
        fold(&largest)
    }

    /// Reads what is left behind the whole blocks, of which the last maxima are, and adds up.
    #[inline(always)]
    pub(super) fn finish(mut self, rest: &[T], truth: T, maxima: &mut [Maxima<T>]) -> BlockPass<T> {
        if let (false, Some(maximum)) = (rest.is_empty(), maxima.last_mut()) {
            *maximum = [T::MASKED; FOLD];
            for (position, &score) in rest.iter().enumerate() {
                self.better[0] = self.better[0].plus(score > truth);
                self.tied[0] = self.tied[0].plus(score == truth);
                self.sum[0] = self.sum[0].plus(score);
                self.least[0] = smaller(self.least[0], score);
                maximum[position % FOLD] = larger(maximum[position % FOLD], score);
            }
        }
        let mut largest = [T::MASKED; FOLD];
        for maximum in maxima {
            for lane in 0..FOLD {
                largest[lane] = larger(largest[lane], maximum[lane]);
            }
        }
        BlockPass {
            better: self.better.into_iter().map(Count::total).sum(),
            tied: self.tied.into_iter().map(Count::total).sum(),
            sum: self.sum.into_iter().fold(T::default(), T::plus),
            least: self.least.into_iter().fold(self.least[0], smaller),
            largest: largest.into_iter().fold(largest[0], larger),
        }
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
    let mut negative = [T::Count::default(); LANES];
    let mut largest = [zero; LANES];
    let lanes = row.chunks_exact(LANES);
    let rest = lanes.remainder();
    for scores in lanes {
        for lane in 0..LANES {
            negative[lane] = negative[lane].plus(!(scores[lane] >= zero));
            largest[lane] = larger(largest[lane], scores[lane]);
        }
    }
    let refused = |score: &T| !(*score >= zero) && !(masked && *score == T::MASKED);
    if rest.iter().any(refused) {
        return None;
    }
    if negative.iter().any(|count| count.total() > 0) && (!masked || row.iter().any(refused)) {
        return None;
    }
    let largest = largest.iter().chain(rest).fold(zero, |a, &b| larger(a, b));
    largest.is_finite().then_some(largest)
}

/// Whether every score can be ranked, as [`Score::is_candidate`] says.
#[inline(always)]
pub(super) fn all_candidates<T: Score>(row: &[T]) -> bool {
    row.iter().fold(T::Count::default(), |count, &score| count.plus(!score.is_candidate())).total() == 0
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
