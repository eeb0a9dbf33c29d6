//! The innermost loops: one row in, counts and the boundary of the top K out.
//!
//! They are plain generic loops. Those that read much are small functions of their own, because
//! compilers make no vectors of them inside a large one; each is compiled for the baseline and for
//! AVX2, and chosen at run time. Counts and maxima are exact, so every version gives the same
//! result.

mod blocks;
mod codes;
mod prefilter;
mod products;
mod thresholds;
mod top;

#[cfg(test)]
mod tests;

use multiversion::multiversion;

use crate::adjust::Rates;
use crate::input::Score;
pub(crate) use blocks::BLOCK;
pub use blocks::{BlockPass, Maxima};
pub(crate) use codes::{Coder, Codes, SCORES_PER_BLOCK, Thresholds, count_block};
pub use prefilter::{Prefilter, Prefiltered};
pub(crate) use products::{LANES, QueryPanel, ROWS, score, score_panels};
pub(crate) use top::{Cut, TopK, column};

/// Score types with compiled loops.
pub trait Kernel: Score {
    /// See [`blocks::block_pass`].
    fn block_pass(row: &[Self], truth: Self, maxima: &mut Vec<Maxima<Self>>) -> BlockPass<Self>;

    /// See [`Prefilter::new`]; only float32 scores have one.
    fn prefilter(_rates: &Rates, _n_classes: usize, _k: usize) -> Option<Prefilter<'_>> {
        None
    }

    /// See [`prefilter::weighing_pass`].
    fn weighing_pass(
        row: &[Self],
        truth: Option<u32>,
        maxima: &mut Vec<Maxima<Self>>,
        _prefilters: &[Prefilter<'_>],
        _found: &mut [Prefiltered],
    ) -> BlockPass<Self> {
        Self::block_pass(row, row[truth.unwrap_or(0) as usize], maxima)
    }

    /// See [`Prefilter::rank`].
    fn rank_weighed(
        _prefilter: &Prefilter<'_>,
        _row: &[Self],
        _largest: Self,
        _k: usize,
        _found: &mut Prefiltered,
    ) -> bool {
        false
    }

    /// See [`blocks::all_candidates`].
    fn all_candidates(row: &[Self]) -> bool;

    /// See [`thresholds::count_above`].
    fn count_above(row: &[Self], thresholds: &[Self], counts: &mut Vec<[u32; 2]>);

    /// See [`thresholds::all_finite`].
    fn all_finite(row: &[Self]) -> bool;

    /// See [`blocks::largest_of_non_negative`].
    fn largest_of_non_negative(row: &[Self], masked: bool) -> Option<Self>;
}

macro_rules! kernel {
    ($score:ident, $lanes:literal $(, $extra:item)*) => {
        mod $score {
            use super::*;

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn block_pass(row: &[$score], truth: $score, maxima: &mut Vec<Maxima<$score>>) -> BlockPass<$score> {
                blocks::block_pass::<$score, $lanes>(row, truth, maxima)
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn all_candidates(row: &[$score]) -> bool {
                blocks::all_candidates(row)
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn count_above(row: &[$score], thresholds: &[$score], counts: &mut Vec<[u32; 2]>) {
                thresholds::count_above(row, thresholds, counts);
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn all_finite(row: &[$score]) -> bool {
                thresholds::all_finite(row)
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn largest_of_non_negative(row: &[$score], masked: bool) -> Option<$score> {
                blocks::largest_of_non_negative::<$score, $lanes>(row, masked)
            }
        }

        impl Kernel for $score {
            fn block_pass(row: &[Self], truth: Self, maxima: &mut Vec<Maxima<Self>>) -> BlockPass<Self> {
                $score::block_pass(row, truth, maxima)
            }

            fn all_candidates(row: &[Self]) -> bool {
                $score::all_candidates(row)
            }

            fn count_above(row: &[Self], thresholds: &[Self], counts: &mut Vec<[u32; 2]>) {
                $score::count_above(row, thresholds, counts);
            }

            fn all_finite(row: &[Self]) -> bool {
                $score::all_finite(row)
            }

            fn largest_of_non_negative(row: &[Self], masked: bool) -> Option<Self> {
                $score::largest_of_non_negative(row, masked)
            }

            $($extra)*
        }
    };
}

kernel!(
    f32,
    16,
    fn prefilter(rates: &Rates, n_classes: usize, k: usize) -> Option<Prefilter<'_>> {
        Prefilter::new(rates, n_classes, k)
    },
    fn weighing_pass(
        row: &[f32],
        truth: Option<u32>,
        maxima: &mut Vec<Maxima<f32>>,
        prefilters: &[Prefilter<'_>],
        found: &mut [Prefiltered],
    ) -> BlockPass<f32> {
        prefilter::weighing_pass(row, truth, maxima, prefilters, found)
    },
    fn rank_weighed(prefilter: &Prefilter<'_>, row: &[f32], largest: f32, k: usize, found: &mut Prefiltered) -> bool {
        prefilter.rank(row, largest, k, found)
    }
);
kernel!(f64, 8);
kernel!(i64, 8);
