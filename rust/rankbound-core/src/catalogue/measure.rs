//! Measures of one list that need to know which items it shows.

use super::diversity::{Diversity, Spreads};
use super::expected_exposure::Target;
use super::top::Top;
use crate::aggregate::Fixed;
use crate::error::{Error, Result};
use crate::metric::RankWeights;
use crate::profile::FixedRow;

/// A number per item.
#[derive(Debug)]
pub struct ItemWeights(Vec<Fixed>);

impl ItemWeights {
    /// Takes a number per item.
    ///
    /// # Errors
    /// [`Error::AccumulatorRange`] for a number that is not finite or too large, or if they add up to
    /// too much.
    pub fn new(weights: &[f64]) -> Result<Self> {
        // Twice, which leaves room for rounding in what a list adds up.
        let mut magnitude = Fixed::default();
        let fixed = weights.iter().enumerate().map(|(item, &weight)| {
            for _ in 0..2 {
                magnitude = magnitude.checked_add(weight.abs(), "weights", item)?;
            }
            Fixed::try_from_f64(weight, "weights", item)
        });
        Ok(Self(fixed.collect::<Result<_>>()?))
    }

    /// The expected mean weight of the top K: `sum_c P_c w_c / K`.
    fn mean(&self, top: &Top) -> f64 {
        let sum = |items: &[u32]| items.iter().map(|&item| self.0[item as usize]).sum::<Fixed>();
        if top.slots == top.members.len() {
            return (sum(&top.above) + sum(&top.members)).mean(top.len() as u64);
        }
        // The mean over the group at the cut stands in its `slots` places. Their weights are bounded
        // by those of all items, so the sum stays in range.
        let at_cut = sum(&top.members).mean(top.members.len() as u64);
        (sum(&top.above) + Fixed::from_f64(at_cut).times(top.slots as u64)).mean(top.len() as u64)
    }
}

/// A measure of lists, made ready once for all of them.
#[derive(Debug)]
pub enum ListMeasure {
    /// Expected mean of a number per item: novelty with self-information, popularity with counts
    /// (Vargas and Castells 2011; Yin et al. 2012).
    MeanWeight(ItemWeights),
    /// Expected mean distance between two items.
    Diversity(Diversity),
    /// Expected share of relevant items that the most popular list would not show (Ge et al. 2010).
    Serendipity(Unexpected),
    /// `EE-L`, `EE-D` and `EE-R`; the weights end at the cut-off.
    ExpectedExposure {
        /// What each rank is worth.
        weights: RankWeights,
        /// Number of items in the catalogue.
        n_items: usize,
    },
}

/// The list by popularity, against which items are unexpected.
#[derive(Debug)]
pub struct Unexpected {
    popular: Box<FixedRow>,
    n_items: usize,
    k: usize,
}

impl Unexpected {
    /// Takes the popularity of the items and the cut-off.
    ///
    /// # Errors
    /// [`Error::Shape`] for no items; [`Error::Parameter`] for a popularity that is not finite.
    pub fn new(popularity: &[f64], k: usize) -> Result<Self> {
        if popularity.is_empty() || k == 0 {
            return Err(Error::Shape(format!("popularity of {} items for the top {k}", popularity.len())));
        }
        if let Some(item) = popularity.iter().position(|value| !value.is_finite()) {
            return Err(Error::Parameter(format!("popularity has {} for item {item}", popularity[item])));
        }
        let popular = Box::new(FixedRow::new(popularity, k.min(popularity.len())));
        Ok(Self { popular, n_items: popularity.len(), k })
    }

    /// `sum_c rel_c P_c (1 - P_c of the popular list) / K`, both lists breaking their ties on their own.
    fn of(&self, top: &Top, relevant: &[u32], masked: &[u32]) -> f64 {
        let mut sum = Fixed::default();
        for group in top.groups() {
            for &item in group.items.iter().filter(|item| relevant.binary_search(item).is_ok()) {
                let at = self.popular.placement(item, masked);
                let (better, tied) = (at.better as usize, at.tied as usize);
                let left = tied - self.k.saturating_sub(better).min(tied);
                sum += Fixed::from_f64(group.inclusion() * (left as f64 / tied as f64));
            }
        }
        sum.mean(top.len() as u64)
    }
}

/// One list as measures see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    /// Its top K.
    pub(super) top: &'a Top,
    /// Its relevant items, rising, and their grades; no grades if all are 1.
    pub(super) relevant: (&'a [u32], &'a [f64]),
    /// Items that are no candidates, rising.
    pub(super) masked: &'a [u32],
}

/// Buffers in which one worker measures.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    spreads: Spreads,
    target: Target,
}

impl ListMeasure {
    /// Numbers per list.
    pub(super) fn n_columns(&self) -> usize {
        if matches!(self, Self::ExpectedExposure { .. }) { 3 } else { 1 }
    }

    /// Items it was made for.
    pub(super) fn n_items(&self) -> usize {
        match self {
            Self::MeanWeight(weights) => weights.0.len(),
            Self::Diversity(diversity) => diversity.n_items(),
            Self::Serendipity(unexpected) => unexpected.n_items,
            Self::ExpectedExposure { n_items, .. } => *n_items,
        }
    }

    /// Whether it reads the relevant items.
    pub(super) fn needs_targets(&self) -> bool {
        matches!(self, Self::Serendipity(_) | Self::ExpectedExposure { .. })
    }

    /// Writes the values of a list; NaN where it is not defined: for an empty list, without relevant
    /// items where they matter, and for the diversity of fewer than two items.
    pub(super) fn write(&self, list: &Shown<'_>, buffers: &mut Buffers, values: &mut [f64]) {
        if list.top.len() == 0 || (self.needs_targets() && list.relevant.0.is_empty()) {
            values.fill(f64::NAN);
            return;
        }
        match self {
            Self::MeanWeight(weights) => values[0] = weights.mean(list.top),
            Self::Diversity(diversity) => values[0] = diversity.of(list.top, &mut buffers.spreads),
            Self::Serendipity(unexpected) => {
                values[0] = unexpected.of(list.top, list.relevant.0, list.masked);
            }
            Self::ExpectedExposure { weights, n_items } => {
                let found = buffers.target.compare(list.top, weights, list.relevant, list.masked, *n_items);
                values.copy_from_slice(&[found.loss, found.disparity, found.relevance]);
            }
        }
    }
}
