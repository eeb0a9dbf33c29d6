//! A block of scores against several thresholds, most of it in 16-bit codes.
//!
//! Codes rise with the scores, so a score whose code is above that of a threshold is above the
//! threshold itself: sixteen lanes a register instead of eight. Only equal codes say nothing; a
//! block that holds one is counted again by the scores.

use multiversion::multiversion;

use super::products::LANES;

/// Scores of one query that are counted at once, at most; lanes of counts then never overflow.
pub(crate) const SCORES_PER_BLOCK: usize = 512;

/// Room for the codes of a block.
pub(crate) type Codes = [[u16; LANES]; SCORES_PER_BLOCK / LANES];

/// Floats from here to the next power of two are consecutive integers, and so are their bits.
const INTEGERS: f32 = 8_388_608.0;
const LEAST: f32 = INTEGERS;
const GREATEST: f32 = INTEGERS + 65_535.0;

/// Codes between the thresholds; what lies beyond them saturates.
const SPAN: f32 = 60_000.0;

/// Thresholds compared in one pass over the codes, held in registers.
const AT_ONCE: usize = 4;

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
        let offset = f32::midpoint(LEAST, GREATEST) - scale * f32::midpoint(lowest, highest);
        (scale > 0.0 && scale.is_finite() && offset.is_finite()).then_some(Self { scale, offset })
    }

    /// Rises with the score, whatever the scale: rounding keeps the order.
    #[inline(always)]
    pub(crate) fn code(self, score: f32) -> u16 {
        let code = score.mul_add(self.scale, self.offset);
        let code = if code > LEAST { code } else { LEAST };
        let code = if code < GREATEST { code } else { GREATEST };
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are the integer")]
        let low = code.to_bits() as u16;
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
#[multiversion(targets("x86_64+avx2+fma"))]
pub(crate) fn count_block(scores: &[[f32; LANES]], thresholds: &mut Thresholds<'_>, codes: &mut Codes) {
    let codes = &mut codes[..scores.len()];
    let Some(coder) = thresholds.coder else {
        for (&value, counts) in thresholds.values.iter().zip(thresholds.counts.iter_mut()) {
            add_exact(scores, value, counts);
        }
        return;
    };
    for (codes, scores) in codes.iter_mut().zip(scores) {
        for lane in 0..LANES {
            codes[lane] = coder.code(scores[lane]);
        }
    }
    let some = thresholds.values.chunks(AT_ONCE).zip(thresholds.counts.chunks_mut(AT_ONCE));
    for (values, counts) in some {
        let code = |at: usize| coder.code(values[at]);
        let mut found = [(0, false); AT_ONCE];
        match values.len() {
            1 => found[..1].copy_from_slice(&count_coded(codes, [code(0)])),
            2 => found[..2].copy_from_slice(&count_coded(codes, [0, 1].map(code))),
            3 => found[..3].copy_from_slice(&count_coded(codes, [0, 1, 2].map(code))),
            _ => found = count_coded(codes, [0, 1, 2, 3].map(code)),
        }
        for ((&value, counts), (above, meets)) in values.iter().zip(counts).zip(found) {
            if meets {
                add_exact(scores, value, counts);
            } else {
                counts[0] += above;
            }
        }
    }
}

/// For each threshold, how many codes are above its own, and whether one equals it.
#[inline(always)]
fn count_coded<const N: usize>(codes: &[[u16; LANES]], thresholds: [u16; N]) -> [(u32, bool); N] {
    let mut above = [[0_u16; LANES]; N];
    let mut meets = [[false; LANES]; N];
    for codes in codes {
        for at in 0..N {
            for lane in 0..LANES {
                above[at][lane] = above[at][lane].wrapping_add(u16::from(codes[lane] > thresholds[at]));
                meets[at][lane] |= codes[lane] == thresholds[at];
            }
        }
    }
    std::array::from_fn(|at| {
        (above[at].iter().map(|&count| u32::from(count)).sum(), meets[at].iter().any(|&meets| meets))
    })
}

#[inline(always)]
fn add_exact(scores: &[[f32; LANES]], value: f32, [above, equal]: &mut [u32; 2]) {
    for &score in scores.as_flattened() {
        *above = above.wrapping_add(u32::from(score > value));
        *equal = equal.wrapping_add(u32::from(score == value));
    }
}
