//! Reciprocal rank of the first relevant item.

use super::ListValue;
use crate::profile::TieProfile;

/// Reciprocal rank, 0 beyond the cut-off (Voorhees 1999).
pub(super) struct ReciprocalRank {
    pub(super) k: u32,
}

impl ReciprocalRank {
    /// Expectation of a function of the first relevant item's rank: it is the j-th of its group
    /// with probability `P_j`, where `P_1 = r / t` and `P_(j+1) = P_j (t - r - j + 1) / (t - j)`.
    fn expectation(&self, list: TieProfile<'_>, of_rank: impl Fn(f64) -> f64) -> f64 {
        let Some(first) = list.groups.first() else { return 0.0 };
        let [better, tied, relevant] = [first.better, first.tied, first.relevant].map(f64::from);
        let places = (first.tied - first.relevant + 1) as usize;
        let places = places.min(self.k.saturating_sub(first.better) as usize);
        let mut probability = relevant / tied;
        let mut sum = 0.0;
        for place in 1..=places {
            let place = place as f64;
            sum += probability * of_rank(better + place);
            probability *= (tied - relevant - place + 1.0) / (tied - place);
        }
        sum
    }
}

impl ListValue for ReciprocalRank {
    fn expected(&self, list: TieProfile<'_>) -> f64 {
        self.expectation(list, |rank| 1.0 / rank)
    }

    fn variance(&self, list: TieProfile<'_>) -> Option<f64> {
        let mean = self.expected(list);
        Some((self.expectation(list, |rank| 1.0 / (rank * rank)) - mean * mean).max(0.0))
    }

    fn cut_off(&self, _n_relevant: u32) -> u32 {
        self.k
    }
}
