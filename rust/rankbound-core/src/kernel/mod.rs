//! The innermost loops: one row in, counts and the boundary of the top K out.
//!
//! They are plain generic loops. Here each is compiled once per score type for the baseline and
//! for AVX2, and chosen at run time; counts and maxima are exact, so every version gives the same
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
pub(crate) use products::{LANES, ROWS, score, score_panels};
pub(crate) use top::{Cut, TopK, column};

/// Score types with compiled loops.
pub trait Kernel: Score {
    /// See [`blocks::block_pass`].
    fn block_pass(row: &[Self], truth: Self, maxima: &mut Vec<Maxima<Self>>) -> BlockPass<Self>;

    /// See [`TopK::find`].
    fn find_top(top: &mut TopK<Self>, row: &[Self], maxima: &[Maxima<Self>], k: usize, masked: bool);

    /// See [`Prefilter::rank`]; only float32 scores have one.
    fn prefilter(
        _prefilter: &Prefilter,
        _rates: &Rates,
        _row: &[Self],
        _largest: Self,
        _truth: Option<u32>,
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
    ($score:ident, $lanes:literal $(, $extra:item)?) => {
        mod $score {
            use super::*;

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn block_pass(row: &[$score], truth: $score, maxima: &mut Vec<Maxima<$score>>) -> BlockPass<$score> {
                blocks::block_pass::<$score, $lanes>(row, truth, maxima)
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn find_top(
                top: &mut TopK<$score>,
                row: &[$score],
                maxima: &[Maxima<$score>],
                k: usize,
                masked: bool,
            ) {
                top.find(row, maxima, k, masked);
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn all_candidates(row: &[$score]) -> bool {
                blocks::all_candidates(row)
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn count_above(row: &[$score], thresholds: &[$score], counts: &mut Vec<[u32; 2]>) {
                thresholds::count_above::<$score, $lanes>(row, thresholds, counts);
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

            fn find_top(top: &mut TopK<Self>, row: &[Self], maxima: &[Maxima<Self>], k: usize, masked: bool) {
                $score::find_top(top, row, maxima, k, masked);
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

            $($extra)?
        }
    };
}

kernel!(
    f32,
    16,
    fn prefilter(
        prefilter: &Prefilter,
        rates: &Rates,
        row: &[f32],
        largest: f32,
        truth: Option<u32>,
        k: usize,
        found: &mut Prefiltered,
    ) -> bool {
        rank_prefiltered(prefilter, rates, row, largest, truth, k, found)
    }
);
kernel!(f64, 8);
kernel!(i64, 8);

#[multiversion(targets("x86_64+avx2+fma"))]
fn rank_prefiltered(
    prefilter: &Prefilter,
    rates: &Rates,
    row: &[f32],
    largest: f32,
    truth: Option<u32>,
    k: usize,
    found: &mut Prefiltered,
) -> bool {
    prefilter.rank(rates, row, largest, truth, k, found)
}
