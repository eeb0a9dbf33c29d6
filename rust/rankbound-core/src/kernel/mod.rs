//! The innermost loops: one row in, counts and the boundary of the top K out.
//!
//! They are plain generic loops. Here each is compiled once per score type for the baseline and
//! for AVX2, and chosen at run time; counts and maxima are exact, so every version gives the same
//! result.

mod blocks;
mod top;

use multiversion::multiversion;

use crate::input::Score;
pub(crate) use blocks::{BLOCK, BlockPass, BlockSums};
pub(crate) use top::{Cut, TopK, column};

/// Score types with compiled loops.
pub trait Kernel: Score {
    /// See [`blocks::block_pass`].
    fn block_pass(row: &[Self], truth: Self, maxima: &mut Vec<Self>) -> BlockPass<Self>;

    /// See [`TopK::find`].
    fn find_top(top: &mut TopK<Self>, row: &[Self], maxima: &[Self], k: usize, masked: bool);

    /// See [`blocks::add_where_equal`].
    fn add_where_equal(sums: &mut BlockSums, scores: &[Self], value: Self, share: &[i64; 4]);
}

macro_rules! kernel {
    ($score:ident, $lanes:literal) => {
        mod $score {
            use super::*;

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn block_pass(row: &[$score], truth: $score, maxima: &mut Vec<$score>) -> BlockPass<$score> {
                blocks::block_pass::<$score, $lanes>(row, truth, maxima)
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn find_top(
                top: &mut TopK<$score>,
                row: &[$score],
                maxima: &[$score],
                k: usize,
                masked: bool,
            ) {
                top.find(row, maxima, k, masked);
            }

            #[multiversion(targets("x86_64+avx2+fma"))]
            pub(super) fn add_where_equal(sums: &mut BlockSums, scores: &[$score], value: $score, share: &[i64; 4]) {
                blocks::add_where_equal(sums, scores, value, share);
            }
        }

        impl Kernel for $score {
            fn block_pass(row: &[Self], truth: Self, maxima: &mut Vec<Self>) -> BlockPass<Self> {
                $score::block_pass(row, truth, maxima)
            }

            fn find_top(top: &mut TopK<Self>, row: &[Self], maxima: &[Self], k: usize, masked: bool) {
                $score::find_top(top, row, maxima, k, masked);
            }

            fn add_where_equal(sums: &mut BlockSums, scores: &[Self], value: Self, share: &[i64; 4]) {
                $score::add_where_equal(sums, scores, value, share);
            }
        }
    };
}

kernel!(f32, 16);
kernel!(f64, 8);
kernel!(i64, 8);
