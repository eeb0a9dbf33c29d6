//! Average precision.

use super::{ListValue, slots};
use crate::metric::RankWeights;
use crate::profile::TieProfile;

/// The sum of the precisions at the relevant items of the top k, divided by their number.
pub(super) struct AveragePrecision {
    k: u32,
    capped: bool,
    reciprocal_ranks: RankWeights,
}

impl AveragePrecision {
    pub(super) fn new(k: u32, capped: bool, depth: usize) -> Self {
        Self { k, capped, reciprocal_ranks: RankWeights::reciprocal_rank(k as usize, depth) }
    }
}

impl ListValue for AveragePrecision {
    /// Given a relevant item at place j of its group, `(j - 1)(r - 1)/(t - 1)` others are expected
    /// before it there (McSherry and Najork 2008).
    fn expected(&self, list: TieProfile<'_>) -> f64 {
        let mut sum = 0.0;
        let mut before = 0.0;
        for group in list.groups {
            let slots = slots(group.better, group.tied, self.k);
            if slots == 0 {
                break;
            }
            let [better, tied, relevant] = [group.better, group.tied, group.relevant].map(f64::from);
            if group.tied == 1 {
                sum += (before + 1.0) / (better + 1.0);
            } else {
                let density = (relevant - 1.0) / (tied - 1.0);
                let harmonic = self.reciprocal_ranks.total(group.better as usize, slots as usize);
                sum += relevant / tied
                    * (density * f64::from(slots) + (before + 1.0 - density * (better + 1.0)) * harmonic);
            }
            before += relevant;
        }
        let relevant = list.n_relevant;
        sum / f64::from(if self.capped { relevant.min(self.k) } else { relevant })
    }

    fn cut_off(&self, _n_relevant: u32) -> u32 {
        self.k
    }
}
