//! Counts of relevant items in the top k, and whether there is one.

use super::{ListValue, slots};
use crate::profile::TieProfile;

/// What the number of hits in the top k is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitDenominator {
    /// `k`: precision, whatever the length of the list.
    CutOff,
    /// `R`: recall.
    Relevant,
    /// `min(k, R)`: recall that can reach 1 at any cut-off.
    Smaller,
    /// `(k + R) / 2`: F1, linear in the hits because both are fixed.
    Mean,
    /// `R`, which is the cut-off too: R-precision.
    RelevantAndCutOff,
}

/// Hits in the top k, divided.
pub(super) struct Hits {
    pub(super) k: u32,
    pub(super) denominator: HitDenominator,
}

impl Hits {
    fn divisor(&self, n_relevant: u32) -> f64 {
        let (k, relevant) = (f64::from(self.k), f64::from(n_relevant));
        match self.denominator {
            HitDenominator::CutOff => k,
            HitDenominator::Relevant | HitDenominator::RelevantAndCutOff => relevant,
            HitDenominator::Smaller => k.min(relevant),
            HitDenominator::Mean => f64::midpoint(k, relevant),
        }
    }
}

impl ListValue for Hits {
    fn expected(&self, list: TieProfile<'_>) -> f64 {
        let k = self.cut_off(list.n_relevant);
        let hits = list.groups.iter().take_while(|group| group.better < k).fold(0.0, |hits, group| {
            let slots = slots(group.better, group.tied, k);
            hits + if slots == group.tied {
                f64::from(group.relevant)
            } else {
                f64::from(group.relevant) * f64::from(slots) / f64::from(group.tied)
            }
        });
        hits / self.divisor(list.n_relevant)
    }

    /// Hypergeometric: drawing the `s` items of the group at the cut from its `t`.
    fn variance(&self, list: TieProfile<'_>) -> Option<f64> {
        let k = self.cut_off(list.n_relevant);
        let of_groups = list.groups.iter().map(|group| {
            let slots = slots(group.better, group.tied, k);
            if slots == 0 || slots == group.tied {
                return 0.0;
            }
            let [s, t, r] = [slots, group.tied, group.relevant].map(f64::from);
            s * (r / t) * (1.0 - r / t) * (t - s) / (t - 1.0)
        });
        Some(of_groups.sum::<f64>() / self.divisor(list.n_relevant).powi(2))
    }

    fn cut_off(&self, n_relevant: u32) -> u32 {
        if self.denominator == HitDenominator::RelevantAndCutOff { n_relevant } else { self.k }
    }
}

/// Whether a relevant item is in the top k: the complement of a hypergeometric zero.
pub(super) struct HitRate {
    pub(super) k: u32,
}

impl ListValue for HitRate {
    fn expected(&self, list: TieProfile<'_>) -> f64 {
        let Some(first) = list.groups.first() else { return 0.0 };
        let slots = slots(first.better, first.tied, self.k);
        if slots == 0 {
            return 0.0;
        }
        if u64::from(slots) + u64::from(first.relevant) > u64::from(first.tied) {
            return 1.0;
        }
        // The first group stands at the cut: all later ones lie below it.
        let (few, many) = (first.relevant.min(slots), first.relevant.max(slots));
        let drawn = (0..few).map(|i| f64::from(many) / f64::from(first.tied - i));
        if few == 1 {
            return drawn.sum();
        }
        // The form that keeps its digits: near 1 the product itself, near 0 the sum of logarithms.
        let missed: f64 = drawn.clone().map(|share| 1.0 - share).product();
        if missed <= 0.5 { 1.0 - missed } else { -libm::expm1(drawn.map(|share| libm::log1p(-share)).sum()) }
    }

    fn variance(&self, list: TieProfile<'_>) -> Option<f64> {
        let probability = self.expected(list);
        Some(probability * (1.0 - probability))
    }

    fn cut_off(&self, _n_relevant: u32) -> u32 {
        self.k
    }
}
