//! A block of scores against several thresholds, most of it in 16-bit codes.
//!
//! Codes rise with the scores, so a score whose code is above that of a threshold is above the
//! threshold itself: sixteen lanes a register instead of eight. Only equal codes say nothing; a
//! block that holds one is counted again by the scores.

use multiversion::multiversion;

/// Scores of one query that are counted at once, at most; lanes of counts then never overflow.
pub(crate) const SCORES_PER_BLOCK: usize = 512;

/// Room for the codes of a block.
pub(crate) type Codes = [i16; SCORES_PER_BLOCK];

/// Floats around it are consecutive integers, and the low bits of each are its distance from here.
const CENTRE: f32 = 12_582_912.0;
const LEAST: f32 = CENTRE - 32_768.0;
const GREATEST: f32 = CENTRE + 32_767.0;

/// Codes between the thresholds; what lies beyond them saturates.
const SPAN: f32 = 60_000.0;

/// The codes of scores, fine between a list's lowest and highest threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Coder {
    scale: f32,
    offset: f32,
}

impl Coder {
    /// None if the thresholds have no width, or too large a one.
    pub(crate) fn new(thresholds: &[f32]) -> Option<Self> {
        let lowest = thresholds.iter().copied().fold(f32::INFINITY, f32::min);
        let highest = thresholds.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let scale = SPAN / (highest - lowest);
        let offset = CENTRE - scale * f32::midpoint(lowest, highest);
        (scale > 0.0 && scale.is_finite() && offset.is_finite()).then_some(Self { scale, offset })
    }

    /// Rises with the score, whatever the scale: rounding keeps the order.
    #[inline(always)]
    pub(crate) fn code(self, score: f32) -> i16 {
        let code = score.mul_add(self.scale, self.offset);
        let code = if code > LEAST { code } else { LEAST };
        let code = if code < GREATEST { code } else { GREATEST };
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are the integer")]
        let low = code.to_bits() as i16;
        low
    }
}

/// What one list's scores are compared with, and what has been counted so far.
#[derive(Debug)]
pub(crate) struct Thresholds<'a> {
    /// Finite scores, in any order.
    pub(crate) values: &'a [f32],
    /// How scores are coded, if that helps.
    pub(crate) coder: Option<Coder>,
    /// Per threshold, the scores above it and those that equal it.
    pub(crate) counts: &'a mut [[u32; 2]],
}

/// Counts a block of scores, none of them NaN.
///
/// Plain loops over a block in the nearest cache become the best vector code; without closures,
/// which would not be compiled for the same target.
#[multiversion(targets("x86_64+avx2+fma"))]
pub(crate) fn count_block(scores: &[f32], thresholds: &mut Thresholds<'_>, codes: &mut Codes) {
    let codes = &mut codes[..scores.len()];
    let values = thresholds.values;
    let Some(coder) = thresholds.coder else {
        for (&value, counts) in values.iter().zip(thresholds.counts.iter_mut()) {
            add_exact(scores, value, counts);
        }
        return;
    };
    for (code, &score) in codes.iter_mut().zip(scores) {
        *code = coder.code(score);
    }
    for (values, counts) in values.chunks(2).zip(thresholds.counts.chunks_mut(2)) {
        let pair = [coder.code(values[0]), coder.code(values[values.len() - 1])];
        let above = count_coded(codes, pair);
        for ((&value, counts), above) in values.iter().zip(counts).zip(above) {
            match above {
                Some(above) => counts[0] += u32::from(above),
                None => add_exact(scores, value, counts),
            }
        }
    }
}

/// For two thresholds, how many codes are above that of each; none if one equals either.
#[inline(always)]
fn count_coded(codes: &[i16], thresholds: [i16; 2]) -> [Option<u16>; 2] {
    let (mut first, mut second, mut equal) = (0_u16, 0_u16, 0_u16);
    for &code in codes {
        first = first.wrapping_add(u16::from(code > thresholds[0]));
        second = second.wrapping_add(u16::from(code > thresholds[1]));
        equal |= u16::from((code == thresholds[0]) | (code == thresholds[1]));
    }
    if equal == 0 { [Some(first), Some(second)] } else { [None; 2] }
}

#[inline(always)]
fn add_exact(scores: &[f32], value: f32, [above, equal]: &mut [u32; 2]) {
    for &score in scores {
        *above = above.wrapping_add(u32::from(score > value));
        *equal = equal.wrapping_add(u32::from(score == value));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(scores: &[f32], values: &[f32], coder: Option<Coder>) {
        let mut counts = vec![[7, 0]; values.len()];
        let mut thresholds = Thresholds { values, coder, counts: &mut counts };
        count_block(scores, &mut thresholds, &mut [0; SCORES_PER_BLOCK]);
        for (value, found) in values.iter().zip(counts) {
            let count = |matches: fn(&f32, &f32) -> bool| scores.iter().filter(|&score| matches(score, value)).count();
            assert_eq!(found.map(|count| count as usize), [7 + count(f32::gt), count(f32::eq)]);
        }
    }

    proptest! {
        /// Fine and coarse scores, near and far from the thresholds, under any scale.
        #[test]
        fn codes_count_what_the_scores_do(
            scores in prop::collection::vec((-400_i16..400, any::<bool>()), 1..=SCORES_PER_BLOCK),
            n_thresholds in 1_usize..12, width in prop::sample::select(vec![1e-42_f32, 1e-9, 0.37, 1e30, 4e35]),
            scale: f32, offset in -1e8_f32..1e8,
        ) {
            let scores: Vec<f32> = scores.into_iter().map(|(at, far)| f32::from(at) * if far { width } else { width / 1e3 }).collect();
            let values: Vec<f32> = scores.iter().copied().take(n_thresholds).collect();
            check(&scores, &values, Coder::new(&values));
            check(&scores, &values, Some(Coder { scale: scale.abs(), offset }));
        }
    }

    #[test]
    fn zeros_of_either_sign_tie() {
        check(&[0.0, -0.0, 1.0, -1.0], &[-0.0, 0.5, 0.0], Coder::new(&[-0.0, 0.5]));
    }

    #[test]
    fn thresholds_without_width_or_with_too_much_are_not_coded() {
        for values in [&[][..], &[1.0], &[1.0, 1.0], &[f32::MIN, f32::MAX], &[0.0, 1e-45], &[f32::NAN, 1.0, 1.0]] {
            assert_eq!(Coder::new(values), None, "{values:?}");
        }
        let coder = Coder::new(&[-1.0, 3.0]).unwrap();
        let codes = [f32::NEG_INFINITY, -1.0, 1.0, 3.0, f32::INFINITY].map(|score| coder.code(score));
        assert_eq!((codes[0], codes[4]), (i16::MIN, i16::MAX));
        assert!(codes.is_sorted() && codes[1] > i16::MIN && codes[3] < i16::MAX);
    }
}
