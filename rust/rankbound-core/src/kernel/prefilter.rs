//! Ranks transformed scores without transforming most of them.
//!
//! The transforms of [`Rates`] are affine per class. A float32 product is within a few units in the
//! last place of the exact value, so it settles nearly every comparison; the few it cannot settle
//! are made in `f64`, exactly. Where too many are open, the caller transforms the whole row.

use multiversion::multiversion;

use super::Kernel;
use super::blocks::{BLOCK, BlockPass, Counts, FOLD, Maxima, fold, larger};
use super::top::{block_of, column, gather_of, kth_largest, lower_bound, padded, reaching};
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
pub struct Prefilter<'a> {
    rates: &'a Rates,
    // By blocks; a slope of 1 and an offset of 0 behind the last class.
    slope: Vec<[f32; BLOCK]>,
    offset: Option<Vec<[f32; BLOCK]>>,
}

/// What the pre-filter found for one row.
#[derive(Debug, Default)]
pub struct Prefiltered {
    /// Candidates above the truth, and those that tie with it.
    pub(crate) truth: (u32, u32),
    /// Columns above the cut, and their exact values.
    pub(crate) above: Vec<u32>,
    pub(crate) above_values: Vec<f64>,
    /// Columns of the group at the cut.
    pub(crate) members: Vec<u32>,
    /// The exact value of the truth, if there is one, and the [`band`] around it.
    value: Option<f64>,
    band: (f32, f32),
    /// What lies above the band and what reaches it, lane by lane.
    above_band: [u32; LANES],
    reached: [u32; LANES],
    maxima: Vec<Maxima<f32>>,
    blocks: Vec<usize>,
    open: Vec<u32>,
    exact: Vec<f64>,
    ordered: Vec<f64>,
    ordered_maxima: Vec<f32>,
}

/// Lanes counted side by side.
const LANES: usize = 16;
/// Blocks that are read, then weighed: few enough that memory never idles, enough that counters
/// stay in registers meanwhile.
const GROUP: usize = 4;

impl<'a> Prefilter<'a> {
    /// The approximation of a transform; none if its coefficients are too large or too small, if it
    /// shrinks so little that the exact transform cancels, or if a row has too few lanes for its top
    /// `k`.
    #[expect(clippy::cast_possible_truncation, reason = "the approximation is float32")]
    pub(crate) fn new(rates: &'a Rates, n_classes: usize, k: usize) -> Option<Self> {
        let divisor = |class: usize| rates.divisor.as_ref().map_or(1.0, |divisor| divisor[class]);
        let coefficients = |numerator: &dyn Fn(usize) -> f64, behind: f32| -> Option<Vec<[f32; BLOCK]>> {
            let mut blocks = vec![[behind; BLOCK]; n_classes.div_ceil(BLOCK)];
            for (class, coefficient) in blocks.as_flattened_mut()[..n_classes].iter_mut().enumerate() {
                let exact = numerator(class) / divisor(class);
                if exact != 0.0 && !SAFE.contains(&exact) {
                    return None;
                }
                *coefficient = exact as f32;
            }
            Some(blocks)
        };
        if n_classes / BLOCK * FOLD < k {
            return None;
        }
        let Some(shrinkage) = &rates.shrinkage else {
            return Some(Self { rates, slope: coefficients(&|_| 1.0, 1.0)?, offset: None });
        };
        if shrinkage.z.iter().any(|&z| 1.0 - z < MIN_PRIOR_WEIGHT) {
            return None;
        }
        let slope = coefficients(&|class| shrinkage.z[class], 1.0)?;
        let offset = coefficients(&|class| shrinkage.pi[class] * (1.0 - shrinkage.z[class]), 0.0)?;
        Some(Self { rates, slope, offset: Some(offset) })
    }

    /// Largest score the transform accepts.
    fn limit(&self) -> f32 {
        if self.offset.is_some() { 1.0 } else { f32::MAX }
    }

    /// Makes ready for a row: the band around the exact value of its truth.
    fn aim(&self, row: &[f32], truth: Option<u32>, found: &mut Prefiltered) {
        found.value = truth.map(|truth| self.rates.value(truth as usize, row[truth as usize]));
        found.band = band(found.value.unwrap_or(0.0));
        (found.above_band, found.reached) = ([0; LANES], [0; LANES]);
        found.maxima.resize(self.slope.len(), [f32::NEG_INFINITY; FOLD]);
    }

    /// Weighs blocks, from `first` on, against the band and keeps their [`Maxima`].
    #[inline(always)]
    fn weigh(&self, first: usize, blocks: &[[f32; BLOCK]], found: &mut Prefiltered) {
        let slopes = &self.slope[first..][..blocks.len()];
        match &self.offset {
            None => found.weigh(first, blocks.iter().zip(slopes), |(score, slope), at| score[at] * slope[at]),
            Some(offset) => {
                let terms = blocks.iter().zip(slopes).zip(&offset[first..]);
                found.weigh(first, terms, |((score, slope), offset), at| score[at] * slope[at] + offset[at]);
            }
        }
    }

    /// Ranks a row of scores from 0 to `largest`, masked columns being -inf, after the pass over it.
    /// False if the row must be transformed whole: it holds a score out of range, or too many scores
    /// too close to call.
    pub(super) fn rank(&self, row: &[f32], largest: f32, k: usize, found: &mut Prefiltered) -> bool {
        if largest > self.limit() {
            return false;
        }
        if let Some(value) = found.value {
            match self.settle(row, value, found) {
                Some(counts) => found.truth = counts,
                None => return false,
            }
        }
        self.find_top(row, k, found)
    }

    /// Places the truth: exactly what the whole transformed row would give.
    fn settle(&self, row: &[f32], value: f64, found: &mut Prefiltered) -> Option<(u32, u32)> {
        let (above, reached): (u32, u32) = (found.above_band.iter().sum(), found.reached.iter().sum());
        let n_open = (reached - above) as usize;
        if n_open == 1 {
            return Some((above, 1));
        }
        if value == 0.0 && self.offset.is_none() {
            // Division keeps zeros apart from all else, so the row itself tells.
            return Some(positive_and_zero(row));
        }
        if n_open > MAX_OPEN {
            return None;
        }
        self.collect(row, found.band, found);
        let counts = self.exact(row, found).iter().fold((above, 0), |(better, tied), &other| {
            (better + u32::from(other > value), tied + u32::from(other == value))
        });
        Some(counts)
    }

    /// Finds the columns above the cut and at it.
    fn find_top(&self, row: &[f32], k: usize, found: &mut Prefiltered) -> bool {
        let bound = lower_bound(&found.maxima, k, &mut found.ordered_maxima);
        // K columns have approximate values of at least the bound, so the K-th exact value is at
        // least the bound less one error; what reaches it is within one error more.
        let (low, _) = band(f64::from(bound) * (1.0 - 2.0 * RELATIVE_ERROR));
        if !(bound > 0.0 && bound < f32::INFINITY) || low <= 0.0 {
            return false;
        }
        if self.collect(row, (low, f32::INFINITY), found) > MAX_OPEN {
            return false;
        }
        self.exact(row, found);
        let Some(cut) = kth_largest(&found.exact, k, &mut found.ordered) else { return false };
        found.above.clear();
        found.above_values.clear();
        found.members.clear();
        for (&class, &value) in found.open.iter().zip(&found.exact) {
            if value > cut {
                found.above.push(class);
                found.above_values.push(value);
            } else if value == cut {
                found.members.push(class);
            }
        }
        true
    }

    /// Lists the columns whose approximate value lies between the limits and returns their number;
    /// stops once there are more than [`MAX_OPEN`].
    fn collect(&self, row: &[f32], (low, high): (f32, f32), found: &mut Prefiltered) -> usize {
        found.open.clear();
        reaching(&found.maxima, low, &mut found.blocks);
        for &block in &found.blocks {
            if found.open.len() > MAX_OPEN {
                break;
            }
            gather_approximate(self, row, block, (low, high), &mut found.open);
        }
        found.open.len()
    }

    /// The exact values of the open columns.
    fn exact<'f>(&self, row: &[f32], found: &'f mut Prefiltered) -> &'f [f64] {
        found.exact.clear();
        let values = found.open.iter().map(|&class| self.rates.value(class as usize, row[class as usize]));
        found.exact.extend(values);
        &found.exact
    }
}

#[cfg(test)]
impl Prefilter<'_> {
    /// Whether a row need not be transformed whole.
    pub(crate) fn settles(&self, row: &[f32], truth: Option<u32>, masked: bool, k: usize) -> bool {
        let mut found = [Prefiltered::default()];
        weighing_pass(row, truth, &mut Vec::new(), std::slice::from_ref(self), &mut found);
        let largest = f32::largest_of_non_negative(row, masked);
        largest.is_some_and(|largest| self.rank(row, largest, k, &mut found[0]))
    }
}

impl Prefiltered {
    #[inline(always)]
    fn weigh<B: Copy>(&mut self, first: usize, blocks: impl Iterator<Item = B>, value: impl Fn(B, usize) -> f32) {
        let (low, high) = self.band;
        let (mut above, mut reached) = (self.above_band, self.reached);
        for (block, maximum) in blocks.zip(&mut self.maxima[first..]) {
            let mut largest = [f32::NEG_INFINITY; LANES];
            for first in (0..BLOCK).step_by(LANES) {
                for lane in 0..LANES {
                    let value = value(block, first + lane);
                    above[lane] = above[lane].wrapping_add(u32::from(value > high));
                    reached[lane] = reached[lane].wrapping_add(u32::from(value >= low));
                    largest[lane] = larger(largest[lane], value);
                }
            }
            *maximum = fold(&largest);
        }
        (self.above_band, self.reached) = (above, reached);
    }
}

/// Reads `row` once for its own scores, as [`super::blocks::block_pass`] does, and weighs what every
/// pre-filter makes of them: memory has the next scores ready meanwhile.
pub(super) fn weighing_pass(
    row: &[f32],
    truth: Option<u32>,
    maxima: &mut Vec<Maxima<f32>>,
    prefilters: &[Prefilter<'_>],
    found: &mut [Prefiltered],
) -> BlockPass<f32> {
    if prefilters.is_empty() {
        return f32::block_pass(row, row[truth.unwrap_or(0) as usize], maxima);
    }
    maxima.resize(row.len().div_ceil(BLOCK), [f32::NEG_INFINITY; FOLD]);
    prefilters.iter().zip(&mut *found).for_each(|(prefilter, found)| prefilter.aim(row, truth, found));
    weigh(row, row[truth.unwrap_or(0) as usize], maxima, prefilters, found)
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn weigh(
    row: &[f32],
    truth: f32,
    maxima: &mut [Maxima<f32>],
    prefilters: &[Prefilter<'_>],
    found: &mut [Prefiltered],
) -> BlockPass<f32> {
    let (blocks, rest) = row.as_chunks::<BLOCK>();
    let mut counts = Counts::<f32, LANES>::new(row[0]);
    let groups = blocks.chunks(GROUP).zip(maxima.chunks_mut(GROUP));
    for (first, (blocks, maxima)) in (0..).step_by(GROUP).zip(groups) {
        for (scores, maximum) in blocks.iter().zip(maxima) {
            *maximum = counts.read(scores, truth);
        }
        for (prefilter, found) in prefilters.iter().zip(&mut *found) {
            prefilter.weigh(first, blocks, found);
        }
    }
    if !rest.is_empty() {
        let scores = padded(rest);
        for (prefilter, found) in prefilters.iter().zip(&mut *found) {
            prefilter.weigh(blocks.len(), &[scores], found);
        }
    }
    counts.finish(rest, truth, maxima)
}

/// Appends the columns of a block whose approximate value lies between the limits.
#[multiversion(targets("x86_64+avx2+fma"))]
fn gather_approximate(
    prefilter: &Prefilter<'_>,
    row: &[f32],
    block: usize,
    (low, high): (f32, f32),
    columns: &mut Vec<u32>,
) {
    let slope = &prefilter.slope[block];
    let approximate = |scores: &[f32; BLOCK]| -> [f32; BLOCK] {
        match &prefilter.offset {
            None => std::array::from_fn(|at| scores[at] * slope[at]),
            Some(offset) => std::array::from_fn(|at| scores[at] * slope[at] + offset[block][at]),
        }
    };
    let scores = block_of(row, block);
    let values = scores.try_into().map_or_else(|_| approximate(&padded(scores)), approximate);
    gather_of(&values, column(block * BLOCK), |value| (value >= low) & (value <= high), columns);
}

/// How many scores are above zero, and how many are zero.
#[multiversion(targets("x86_64+avx2+fma"))]
fn positive_and_zero(row: &[f32]) -> (u32, u32) {
    row.iter().fold((0_u32, 0_u32), |(positive, zeros), &score| {
        (positive.wrapping_add(u32::from(score > 0.0)), zeros.wrapping_add(u32::from(score == 0.0)))
    })
}

/// Float32 limits between which an approximation says nothing about the side of `value`.
#[expect(clippy::cast_possible_truncation, reason = "rounded outwards after the cast")]
fn band(value: f64) -> (f32, f32) {
    let margin = value.abs() * RELATIVE_ERROR + ABSOLUTE_ERROR;
    (((value - margin) as f32).next_down(), ((value + margin) as f32).next_up())
}
