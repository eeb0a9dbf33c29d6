//! Ranks transformed scores without transforming most of them.
//!
//! The transforms of [`Rates`] are affine per class. A float32 product is within a few units in the
//! last place of the exact value, so it settles nearly every comparison; the few it cannot settle
//! are made in `f64`, exactly. Where too many are open, the caller transforms the whole row.

use multiversion::multiversion;

use super::blocks::{BLOCK, FOLD, Maxima, fold, larger};
use super::top::{block_of, column, kth_largest, lower_bound, reaching};
use crate::adjust::Rates;

/// Bound of the relative error of an approximate score, with a wide margin over its four roundings.
const RELATIVE_ERROR: f64 = 1.0 / (1 << 20) as f64;
/// Bound of the absolute error where float32 underflows.
const ABSOLUTE_ERROR: f64 = 1e-40;
/// Coefficients outside this range could overflow or underflow beyond the bounds.
const SAFE: std::ops::Range<f64> = 1e-30..1e30;
/// Least weight of the base rate: below it `pi + Z (s - pi)` loses more digits in `f64` itself than
/// the relative error allows for.
const MIN_PRIOR_WEIGHT: f64 = 1.0 / (1 << 28) as f64;
/// Columns that may be settled one by one before transforming the row is cheaper.
const MAX_OPEN: usize = 512;

/// Affine float32 approximations of a transform: `slope * score + offset` per class.
#[derive(Debug)]
pub struct Prefilter {
    slope: Vec<f32>,
    offset: Option<Vec<f32>>,
}

/// What the pre-filter found for one row.
#[derive(Debug, Default)]
pub struct Prefiltered {
    /// Candidates above the truth, and those that tie with it.
    pub(crate) truth: (u32, u32),
    /// Columns above the cut.
    pub(crate) above: Vec<u32>,
    /// Columns of the group at the cut.
    pub(crate) members: Vec<u32>,
    maxima: Vec<Maxima<f32>>,
    open: Vec<u32>,
    exact: Vec<f64>,
    ordered: Vec<f64>,
    ordered_maxima: Vec<f32>,
}

impl Prefilter {
    /// The approximation of a transform; none if its coefficients are too large or too small, or if
    /// it shrinks so little that the exact transform cancels.
    #[expect(clippy::cast_possible_truncation, reason = "the approximation is float32")]
    pub(crate) fn new(rates: &Rates, n_classes: usize) -> Option<Self> {
        let divisor = |class: usize| rates.divisor.as_ref().map_or(1.0, |divisor| divisor[class]);
        let coefficients = |numerator: &dyn Fn(usize) -> f64| -> Option<Vec<f32>> {
            let coefficient = |class| numerator(class) / divisor(class);
            let safe = |value: f64| value == 0.0 || SAFE.contains(&value);
            (0..n_classes).map(|class| safe(coefficient(class)).then(|| coefficient(class) as f32)).collect()
        };
        let cancels = |z: f64| 1.0 - z < MIN_PRIOR_WEIGHT;
        if rates.shrinkage.as_ref().is_some_and(|shrinkage| shrinkage.z.iter().any(|&z| cancels(z))) {
            return None;
        }
        Some(match &rates.shrinkage {
            None => Self { slope: coefficients(&|_| 1.0)?, offset: None },
            Some(shrinkage) => Self {
                slope: coefficients(&|class| shrinkage.z[class])?,
                offset: Some(coefficients(&|class| shrinkage.pi[class] * (1.0 - shrinkage.z[class]))?),
            },
        })
    }

    /// Largest score the transform accepts.
    fn limit(&self) -> f32 {
        if self.offset.is_some() { 1.0 } else { f32::MAX }
    }

    /// The approximate values of a block, -inf beyond its end.
    #[inline(always)]
    fn approximate(&self, block: usize, scores: &[f32]) -> [f32; BLOCK] {
        let first = block * BLOCK;
        let whole = |values: &[f32]| -> Option<[f32; BLOCK]> { values.get(first..first + BLOCK)?.try_into().ok() };
        // Whole blocks have a known length, which makes vectors of the loops.
        if let (Ok(scores), Some(slope)) = (<&[f32; BLOCK]>::try_from(scores), whole(&self.slope)) {
            return match self.offset.as_deref().and_then(whole) {
                None => std::array::from_fn(|at| scores[at] * slope[at]),
                Some(offset) => std::array::from_fn(|at| scores[at] * slope[at] + offset[at]),
            };
        }
        let mut values = [f32::NEG_INFINITY; BLOCK];
        for (at, (value, score)) in values.iter_mut().zip(scores).enumerate() {
            let offset = self.offset.as_ref().map_or(0.0, |offset| offset[first + at]);
            *value = score * self.slope[first + at] + offset;
        }
        values
    }

    /// Ranks a row of scores from 0 to `largest`, masked columns being -inf. False if the row must be
    /// transformed whole: it holds a score out of range, too few lanes, or too many scores too close
    /// to call.
    #[inline(always)]
    pub(super) fn rank(
        &self,
        rates: &Rates,
        row: &[f32],
        largest: f32,
        truth: Option<u32>,
        k: usize,
        found: &mut Prefiltered,
    ) -> bool {
        if largest > self.limit() || row.len() / BLOCK * FOLD < k {
            return false;
        }
        let value = truth.map_or(0.0, |truth| rates.value(truth as usize, row[truth as usize]));
        let (low, high) = band(value);
        let (above, reached) = self.pass(row, (low, high), &mut found.maxima);
        if truth.is_some() {
            match self.settle(rates, row, value, (low, high), (above, reached), found) {
                Some(counts) => found.truth = counts,
                None => return false,
            }
        }
        self.find_top(rates, row, k, found)
    }

    /// Counts what lies above the band and what reaches it; keeps the [`Maxima`] of each block.
    fn pass(&self, row: &[f32], band: (f32, f32), maxima: &mut Vec<Maxima<f32>>) -> (u32, u32) {
        maxima.resize(row.len().div_ceil(BLOCK), [f32::NEG_INFINITY; FOLD]);
        let (above, reached) = match &self.offset {
            None => weigh_scaled(row, &self.slope, band, maxima),
            Some(offset) => weigh_shifted(row, &self.slope, offset, band, maxima),
        };
        let whole = row.len() / BLOCK;
        let rest = &row[whole * BLOCK..];
        let values = &self.approximate(whole, rest)[..rest.len()];
        if let Some(maximum) = maxima.get_mut(whole) {
            *maximum = [f32::NEG_INFINITY; FOLD];
            for (at, &value) in values.iter().enumerate() {
                maximum[at % FOLD] = larger(maximum[at % FOLD], value);
            }
        }
        values.iter().fold((above, reached), |(above, reached), &value| {
            (above + u32::from(value > band.1), reached + u32::from(value >= band.0))
        })
    }

    /// Places the truth: exactly what the whole transformed row would give.
    #[inline(always)]
    fn settle(
        &self,
        rates: &Rates,
        row: &[f32],
        value: f64,
        (low, high): (f32, f32),
        (above, reached): (u32, u32),
        found: &mut Prefiltered,
    ) -> Option<(u32, u32)> {
        let n_open = (reached - above) as usize;
        if n_open == 1 {
            return Some((above, 1));
        }
        if value == 0.0 && self.offset.is_none() {
            // Division keeps zeros apart from all else, so the row itself tells.
            let zeros = row.iter().fold(0_u32, |count, &score| count.wrapping_add(u32::from(score == 0.0)));
            let positive = row.iter().fold(0_u32, |count, &score| count.wrapping_add(u32::from(score > 0.0)));
            return Some((positive, zeros));
        }
        if n_open > MAX_OPEN {
            return None;
        }
        self.collect(row, (low, high), &found.maxima, &mut found.open);
        let exact = found.open.iter().map(|&class| rates.value(class as usize, row[class as usize]));
        let counts = exact.fold((above, 0), |(better, tied), other| {
            (better + u32::from(other > value), tied + u32::from(other == value))
        });
        Some(counts)
    }

    /// Finds the columns above the cut and at it.
    #[inline(always)]
    fn find_top(&self, rates: &Rates, row: &[f32], k: usize, found: &mut Prefiltered) -> bool {
        let bound = lower_bound(&found.maxima, k, &mut found.ordered_maxima);
        // K columns have approximate values of at least the bound, so the K-th exact value is at
        // least the bound less one error; what reaches it is within one error more.
        let (low, _) = band(f64::from(bound) * (1.0 - 2.0 * RELATIVE_ERROR));
        if !(bound > 0.0 && bound < f32::INFINITY) || low <= 0.0 {
            return false;
        }
        if self.collect(row, (low, f32::INFINITY), &found.maxima, &mut found.open) > MAX_OPEN {
            return false;
        }
        found.exact.clear();
        found.exact.extend(found.open.iter().map(|&class| rates.value(class as usize, row[class as usize])));
        let Some(cut) = kth_largest(&found.exact, k, &mut found.ordered) else { return false };
        let columns = |keep: &dyn Fn(f64) -> bool, into: &mut Vec<u32>| {
            into.clear();
            let kept = found.open.iter().zip(&found.exact).filter(|(_, value)| keep(**value));
            into.extend(kept.map(|(&class, _)| class));
        };
        columns(&|value| value > cut, &mut found.above);
        columns(&|value| value == cut, &mut found.members);
        true
    }

    /// Lists the columns whose approximate value lies between the limits and returns their number;
    /// stops once there are more than [`MAX_OPEN`].
    #[inline(always)]
    fn collect(&self, row: &[f32], (low, high): (f32, f32), maxima: &[Maxima<f32>], open: &mut Vec<u32>) -> usize {
        open.clear();
        for block in reaching(maxima, low) {
            if open.len() > MAX_OPEN {
                break;
            }
            let values = self.approximate(block, block_of(row, block));
            for (chunk, values) in values.chunks_exact(8).enumerate() {
                let is_open = |value: f32| (value >= low) & (value <= high);
                if values.iter().fold(false, |any, &value| any | is_open(value)) {
                    let first = block * BLOCK + chunk * 8;
                    let met = values.iter().enumerate().filter(|(_, value)| is_open(**value));
                    open.extend(met.map(|(at, _)| column(first + at)));
                }
            }
        }
        open.len()
    }
}

/// Lanes counted side by side.
const LANES: usize = 16;

macro_rules! weigh {
    ($(#[$documentation:meta])* $name:ident, $value:expr $(, $term:ident)*) => {
        $(#[$documentation])*
        // A function of its own, because compilers make no vectors of this loop inside a large one.
        #[multiversion(targets("x86_64+avx2+fma"))]
        fn $name(
            row: &[f32],
            $($term: &[f32],)*
            (low, high): (f32, f32),
            maxima: &mut [Maxima<f32>],
        ) -> (u32, u32) {
            let (mut above, mut reached) = ([0_u32; LANES], [0_u32; LANES]);
            for (block, maximum) in (0..row.len() / BLOCK).zip(maxima) {
                let mut largest = [f32::NEG_INFINITY; LANES];
                for first in (block * BLOCK..(block + 1) * BLOCK).step_by(LANES) {
                    let scores = &row[first..first + LANES];
                    $(let $term = &$term[first..first + LANES];)*
                    for lane in 0..LANES {
                        let value = ($value)(scores[lane] $(, $term[lane])*);
                        above[lane] = above[lane].wrapping_add(u32::from(value > high));
                        reached[lane] = reached[lane].wrapping_add(u32::from(value >= low));
                        largest[lane] = larger(largest[lane], value);
                    }
                }
                *maximum = fold(&largest);
            }
            (above.into_iter().sum(), reached.into_iter().sum())
        }
    };
}

weigh!(
    /// Weighs the whole blocks of a row of products against a band.
    weigh_scaled, |score: f32, slope: f32| score * slope, slope
);
weigh!(
    /// Weighs the whole blocks of a row of shifted products against a band.
    weigh_shifted, |score: f32, slope: f32, offset: f32| score * slope + offset, slope, offset
);

/// Float32 limits between which an approximation says nothing about the side of `value`.
#[expect(clippy::cast_possible_truncation, reason = "rounded outwards after the cast")]
fn band(value: f64) -> (f32, f32) {
    let margin = value.abs() * RELATIVE_ERROR + ABSOLUTE_ERROR;
    (((value - margin) as f32).next_down(), ((value + margin) as f32).next_up())
}
