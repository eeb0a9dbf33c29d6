//! Weighted sums of pair counts, exact for any weights.

use std::collections::BTreeMap;

use super::count::PairCounts;
use crate::aggregate::significand_and_exponent;

/// Sums over rows whose weights share an exponent, in units of that power of two.
///
/// A term is below 2^53 times the number of pairs: memory for rankings enough to overflow does not
/// exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairSums {
    /// Weights.
    pub weight: u128,
    /// Pairs that the two rankings order in opposite ways.
    pub discordant: u128,
    /// Pairs that one ranking ties and the other orders.
    pub tied_in_one: u128,
    /// Pairs that both rankings tie.
    pub tied_in_both: u128,
}

/// [`PairSums`] by exponent: integers, so any split of the rows gives the same sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairSumsByExponent(BTreeMap<i32, PairSums>);

impl PairSumsByExponent {
    /// Adds a row of a weight that is finite and not negative.
    pub(super) fn add(&mut self, counts: &PairCounts, weight: f64) {
        let (significand, exponent) = significand_and_exponent(weight);
        let times = |count: u64| u128::from(significand) * u128::from(count);
        self.add_sums(
            exponent,
            &PairSums {
                weight: u128::from(significand),
                discordant: times(counts.discordant),
                tied_in_one: times(counts.tied_in_one),
                tied_in_both: times(counts.tied_in_both),
            },
        );
    }

    pub(super) fn merge(mut self, other: &Self) -> Self {
        other.0.iter().for_each(|(&exponent, sums)| self.add_sums(exponent, sums));
        self
    }

    fn add_sums(&mut self, exponent: i32, more: &PairSums) {
        let sums = self.0.entry(exponent).or_default();
        sums.weight += more.weight;
        sums.discordant += more.discordant;
        sums.tied_in_one += more.tied_in_one;
        sums.tied_in_both += more.tied_in_both;
    }

    /// Exponents, rising, and the sums in units of those powers of two.
    pub fn iter(&self) -> impl Iterator<Item = (i32, PairSums)> {
        self.0.iter().map(|(&exponent, &sums)| (exponent, sums))
    }
}
