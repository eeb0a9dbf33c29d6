//! Expected exposure of one information need (Diaz et al. 2020).

use super::top::Top;
use crate::aggregate::Fixed;
use crate::metric::RankWeights;

/// Sums of one list, in the order in which they are reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ExpectedExposure {
    /// `EE-L`: squared distance of the exposures from the target's.
    pub(super) loss: f64,
    /// `EE-D`: sum of the squared exposures, how unevenly they are given.
    pub(super) disparity: f64,
    /// `EE-R`: product with the target's exposures, how much relevant items get.
    pub(super) relevance: f64,
}

/// Buffers for one worker.
#[derive(Debug, Default)]
pub(super) struct Target {
    // Grades of the candidates, falling, and the exposure that each relevant item deserves.
    order: Vec<usize>,
    deserved: Vec<f64>,
}

impl Target {
    /// Exposure by a ranker that breaks ties at random, against one that orders items of equal grade
    /// at random: both give a tie group the mean weight of its ranks.
    ///
    /// `items` are the relevant ones, rising; those that are `masked` are no candidates and neither
    /// ranker can show them.
    pub(super) fn compare(
        &mut self,
        top: &Top,
        weights: &RankWeights,
        (items, grades): (&[u32], &[f64]),
        masked: &[u32],
        n_items: usize,
    ) -> ExpectedExposure {
        let grade = |at: usize| grades.get(at).copied().unwrap_or(1.0);
        self.order.clear();
        self.order.extend((0..items.len()).filter(|&at| masked.binary_search(&items[at]).is_err()));
        self.order.sort_unstable_by(|&a, &b| grade(b).total_cmp(&grade(a)));
        self.deserved.clear();
        self.deserved.resize(items.len(), 0.0);
        let square = |weight: f64, count: usize| Fixed::from_f64(weight * weight).times(count as u64);
        let mut rank = 0;
        let mut of_target = Fixed::default();
        for block in self.order.chunk_by(|&a, &b| grade(a) == grade(b)) {
            let weight = weights.mean(rank, block.len());
            block.iter().for_each(|&at| self.deserved[at] = weight);
            of_target += square(weight, block.len());
            rank += block.len();
        }
        let n_others = n_items - masked.len() - rank;
        let others = if n_others > 0 { weights.mean(rank, n_others) } else { 0.0 };
        of_target += square(others, n_others);
        let (mut disparity, mut relevance) = (Fixed::default(), Fixed::default());
        for group in top.groups() {
            let weight = weights.mean(group.better, group.items.len());
            disparity += square(weight, group.items.len());
            let mut n_relevant = 0;
            for at in group.items.iter().filter_map(|item| items.binary_search(item).ok()) {
                relevance += Fixed::from_f64(weight * self.deserved[at]);
                n_relevant += 1;
            }
            relevance += Fixed::from_f64(weight * others).times((group.items.len() - n_relevant) as u64);
        }
        ExpectedExposure {
            loss: (disparity - relevance - relevance + of_target).to_f64(),
            disparity: disparity.to_f64(),
            relevance: relevance.to_f64(),
        }
    }
}
