//! Values per list, and what ties leave open about their mean.

use std::collections::HashMap;

use super::RankWeights;
use crate::aggregate::Fixed;
use crate::profile::Placement;

/// The expected value of each list; 0 for a miss.
pub fn values(weights: &RankWeights, placements: &[Placement]) -> Vec<f64> {
    // Chance places all truths alike: such a value is computed once.
    let (mut last, mut value) = (Placement { better: 0, tied: 0 }, 0.0);
    let of_list = |placement: &Placement| {
        if *placement != last {
            last = *placement;
            let Placement { better, tied } = last;
            value = if tied == 0 { 0.0 } else { weights.mean(better as usize, tied as usize) };
        }
        value
    };
    placements.iter().map(of_list).collect()
}

/// What the order of equal scores could make of the mean over lists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TieSpread {
    /// The mean if every tie is broken against the truth.
    pub min: f64,
    /// The mean if every tie is broken for the truth.
    pub max: f64,
    /// Standard deviation of the mean over random tie-breaks, independent between served lists.
    pub sd: f64,
}

/// Lists that share one tie-break: graded lists of the same served list whose truths tie.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Each distinct group of tied truths with the number of truths in it, and how often it occurs.
    groups: HashMap<(Placement, u32), u64>,
    n_lists: u64,
}

impl Spread {
    /// Groups the placements above a cut-off of `depth`, beyond which every metric is 0; `served`
    /// gives the served list of each, all differ if not given.
    pub fn new(placements: &[Placement], served: Option<&[u32]>, depth: usize) -> Self {
        let counts = |placement: &Placement| !placement.is_miss() && (placement.better as usize) < depth;
        let mut groups = HashMap::new();
        if let Some(served) = served {
            let mut truths: HashMap<(u32, Placement), u32> = HashMap::new();
            for (placement, served) in placements.iter().zip(served).filter(|(placement, _)| counts(placement)) {
                *truths.entry((*served, *placement)).or_default() += 1;
            }
            for ((_, placement), n_truths) in truths {
                *groups.entry((placement, n_truths)).or_default() += 1;
            }
        } else {
            for placement in placements.iter().filter(|placement| counts(placement)) {
                *groups.entry((*placement, 1)).or_default() += 1;
            }
        }
        Self { groups, n_lists: placements.len() as u64 }
    }

    /// The spread of the mean of one metric.
    ///
    /// With r truths in a group of t, the best case puts them on its first r ranks, the worst on its
    /// last, and `Var(sum f) = r var(f) (t - r) / (t - 1)`: drawing ranks without replacement.
    pub fn of(&self, weights: &RankWeights) -> TieSpread {
        let (mut min, mut max, mut variance) = (Fixed::default(), Fixed::default(), Fixed::default());
        for (&(Placement { better, tied }, n_truths), &times) in &self.groups {
            let (first, last) = (better as usize + 1, (better + tied) as usize);
            for place in 0..(n_truths as usize).min(last + 1 - first) {
                max += Fixed::from_f64(weights.weight(first + place)).times(times);
                min += Fixed::from_f64(weights.weight(last - place)).times(times);
            }
            if tied > n_truths {
                let share = f64::from(n_truths) * f64::from(tied - n_truths) / f64::from(tied - 1);
                let group = share * weights.variance(better as usize, tied as usize);
                variance += Fixed::from_f64(group).times(times);
            }
        }
        let sd = variance.to_f64().sqrt() / self.n_lists as f64;
        TieSpread { min: min.mean(self.n_lists), max: max.mean(self.n_lists), sd }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIED: Placement = Placement { better: 1, tied: 3 };

    #[test]
    fn a_miss_is_worth_nothing_and_leaves_nothing_open() {
        let weights = RankWeights::hit(2, 5);
        assert_eq!(values(&weights, &[Placement::MISS, TIED]), [0.0, 1.0 / 3.0]);
        let spread = Spread::new(&[Placement::MISS, TIED], None, 2).of(&weights);
        assert_eq!((spread.min, spread.max), (0.0, 0.5));
        assert!((spread.sd - (2.0_f64 / 9.0).sqrt() / 2.0).abs() < 1e-16);
    }

    /// Two truths in a group of three behind one better item, cut at 2: exactly one place is open,
    /// so the sum of their hits is 1 with probability 2/3.
    #[test]
    fn truths_of_one_served_list_share_its_tie_break() {
        let weights = RankWeights::hit(2, 5);
        let spread = Spread::new(&[TIED, TIED], Some(&[4, 4]), 2).of(&weights);
        assert_eq!((spread.min, spread.max), (0.0, 0.5));
        assert!((spread.sd - (2.0_f64 / 9.0).sqrt() / 2.0).abs() < 1e-16);
        let apart = Spread::new(&[TIED, TIED], Some(&[4, 5]), 2).of(&weights);
        assert_eq!((apart.min, apart.max), (0.0, 1.0));
        assert!((apart.sd - (4.0_f64 / 9.0).sqrt() / 2.0).abs() < 1e-16);
        assert_eq!(apart, Spread::new(&[TIED, TIED], None, 2).of(&weights));
    }
}
