//! Metrics of lists with any number of relevant items: exact expectations over the orders that ties
//! allow, with their extremes and, where a short form exists, their variance.
//!
//! McSherry and Najork (2008) give most of the expectations; each file names its sources.

mod average_precision;
mod evaluate;
mod expected_reciprocal_rank;
mod gain;
mod hits;
mod log_rbp;
mod reciprocal_rank;

#[cfg(test)]
mod tests;

pub use evaluate::{Evaluation, evaluate};
pub use gain::{Discount, Gain};
pub use hits::HitDenominator;

use average_precision::AveragePrecision;
use evaluate::Chunk;
use expected_reciprocal_rank::ExpectedReciprocalRank;
use gain::DiscountedGain;
use hits::{HitRate, Hits};
use log_rbp::LogRbp;
use reciprocal_rank::ReciprocalRank;

use crate::aggregate::ListSums;
use crate::error::{Error, Result};
use crate::profile::{BrokenTies, TieProfile};

/// A metric of a list; cut-offs of `None` take the whole list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ListMetric {
    /// Whether a relevant item is in the top k.
    HitRate {
        /// Cut-off.
        k: Option<usize>,
    },
    /// Relevant items in the top k, divided.
    Hits {
        /// Cut-off.
        k: Option<usize>,
        /// By what.
        denominator: HitDenominator,
    },
    /// Relevant items among as many as there are, divided by their number.
    RPrecision,
    /// Reciprocal rank of the first relevant item.
    ReciprocalRank {
        /// Cut-off.
        k: Option<usize>,
    },
    /// Average precision.
    AveragePrecision {
        /// Cut-off.
        k: Option<usize>,
        /// Divided by min(k, R) instead of R.
        capped: bool,
    },
    /// Discounted cumulative gain.
    Dcg {
        /// Cut-off.
        k: Option<usize>,
        /// Gain of a grade.
        gain: Gain,
        /// Discount of a rank.
        discount: Discount,
        /// Divided by its ideal.
        normalised: bool,
    },
    /// Rank-biased precision.
    Rbp {
        /// Cut-off.
        k: Option<usize>,
        /// Gain of a grade; binary or linear.
        gain: Gain,
        /// Probability of going on to the next item, between 0 and 1.
        patience: f64,
    },
    /// Natural logarithm of the expected rank-biased precision.
    LogRbp {
        /// Cut-off.
        k: Option<usize>,
        /// Probability of going on to the next item, between 0 and 1.
        patience: f64,
    },
    /// Expected reciprocal rank.
    Err {
        /// Cut-off.
        k: Option<usize>,
        /// The largest grade there can be.
        max_grade: f64,
    },
}

impl ListMetric {
    fn k(self) -> Option<usize> {
        match self {
            Self::HitRate { k }
            | Self::Hits { k, .. }
            | Self::ReciprocalRank { k }
            | Self::AveragePrecision { k, .. }
            | Self::Dcg { k, .. }
            | Self::Rbp { k, .. }
            | Self::LogRbp { k, .. }
            | Self::Err { k, .. } => k,
            Self::RPrecision => None,
        }
    }

    /// The metric with its tables; `depth` bounds the ranks that occur.
    fn prepare(self, depth: usize) -> Box<dyn ListValue> {
        // Lists have fewer than 2^32 places.
        let k = self.k().and_then(|k| u32::try_from(k).ok()).unwrap_or(u32::MAX);
        match self {
            Self::HitRate { .. } => Box::new(HitRate { k }),
            Self::Hits { denominator, .. } => Box::new(Hits { k, denominator }),
            Self::RPrecision => Box::new(Hits { k, denominator: HitDenominator::RelevantAndCutOff }),
            Self::ReciprocalRank { .. } => Box::new(ReciprocalRank { k }),
            Self::AveragePrecision { capped, .. } => Box::new(AveragePrecision::new(k, capped, depth)),
            Self::Dcg { gain, discount, normalised, .. } => {
                Box::new(DiscountedGain::new(gain, discount, k, depth, normalised))
            }
            Self::Rbp { gain, patience, .. } => Box::new(DiscountedGain::rank_biased(gain, patience, k, depth)),
            Self::LogRbp { patience, .. } => Box::new(LogRbp::new(k, patience)),
            Self::Err { max_grade, .. } => Box::new(ExpectedReciprocalRank { k, max_grade }),
        }
    }
}

/// The value of one list with at least one relevant item.
trait ListValue: Sync {
    /// Expectation over the orders that ties allow.
    fn expected(&self, list: TieProfile<'_>) -> f64;

    /// Variance over those orders; none where no short form is known.
    fn variance(&self, _list: TieProfile<'_>) -> Option<f64> {
        None
    }

    /// The last place that counts in a list of `n_relevant` relevant items.
    fn cut_off(&self, n_relevant: u32) -> u32;

    /// Writes the values of some lists and adds them up; NaN for a list without relevant items.
    ///
    /// One loop per metric, compiled into it: what a list costs is little more than its groups.
    fn add(&self, chunk: &Chunk<'_>, sums: &mut ListSums, broken: &mut BrokenTies, values: &mut [f64]) -> Result<()> {
        for (at, (value, &(profile, has_ties))) in values.iter_mut().zip(chunk.lists).enumerate() {
            if profile.n_relevant == 0 {
                *value = f64::NAN;
                continue;
            }
            *value = self.expected(profile);
            let added = if has_ties { self.add_tied(*value, profile, sums, broken) } else { sums.add(*value) };
            added.ok_or(Error::AccumulatorRange { name: "a metric", position: chunk.first + at, value: *value })?;
        }
        Ok(())
    }

    /// Adds a list with ties to the sums; none if its value is too large.
    fn add_tied(
        &self,
        value: f64,
        profile: TieProfile<'_>,
        sums: &mut ListSums,
        broken: &mut BrokenTies,
    ) -> Option<()> {
        let cut = self.cut_off(profile.n_relevant);
        let crosses = profile.groups.iter().any(|group| {
            let slots = slots(group.better, group.tied, cut);
            slots > 0 && slots < group.tied
        });
        // Rounding must not put the mean of the orders outside them.
        let best = self.expected(broken.of(profile, true)).max(value);
        let worst = self.expected(broken.of(profile, false)).min(value);
        sums.add_tied(value, best, worst, self.variance(profile), crosses)
    }
}

/// Places of the top `k` that fall to a group (`s`).
fn slots(better: u32, tied: u32, k: u32) -> u32 {
    k.saturating_sub(better).min(tied)
}
