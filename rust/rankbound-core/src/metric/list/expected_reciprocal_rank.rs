//! Expected reciprocal rank of a user who stops at the first satisfying item.

use super::{Gain, ListValue, slots};
use crate::profile::TieProfile;

/// ERR: an item of grade g satisfies with probability `(2^g - 1) / 2^max` (Chapelle et al. 2009).
pub(super) struct ExpectedReciprocalRank {
    pub(super) k: u32,
    pub(super) max_grade: f64,
}

impl ExpectedReciprocalRank {
    /// The probability that an item of this grade satisfies.
    fn satisfies(&self, grade: f64) -> f64 {
        Gain::Exp2.of(grade) / libm::exp2(self.max_grade)
    }

    /// For m = 0, 1, ..., one less than there are items: the mean, over all sets of m items and one
    /// more, of the probability that none of the m satisfies and the one does.
    ///
    /// It follows from adding the items one by one, together with the mean `A_m` over sets of m items
    /// of the probability that none satisfies: with the i-th,
    /// `S_m <- ((i - m - 1) S_m + m q_i S_(m-1) + (1 - q_i) A_m) / i`, and
    /// `A_m <- ((i - m) A_m + m q_i A_(m-1)) / i`. No term is ever taken off, so that all digits stay.
    fn stops(satisfies: &[f64]) -> Vec<f64> {
        let (mut none, mut stops) = (vec![1.0], Vec::new());
        for (before, theta) in satisfies.iter().enumerate() {
            let (n, goes_on) = (before as f64 + 1.0, 1.0 - theta);
            stops.push(0.0);
            none.push(0.0);
            for m in (0..=before).rev() {
                let less = if m == 0 { 0.0 } else { m as f64 * goes_on * stops[m - 1] };
                stops[m] = ((n - m as f64 - 1.0) * stops[m] + less + theta * none[m]) / n;
            }
            for m in (1..none.len()).rev() {
                none[m] = ((n - m as f64) * none[m] + m as f64 * goes_on * none[m - 1]) / n;
            }
        }
        stops
    }

    /// The expected reciprocal rank within one group of a user who has reached it.
    ///
    /// Items without a grade never satisfy, so that only the number m of graded ones among those
    /// before a place counts. Its distribution is hypergeometric, and follows from drawing one item
    /// after another without replacement. That takes as many steps as the group has places in the top
    /// k, each of as many as it has graded items.
    fn within(satisfies: &[f64], better: u32, tied: u32, slots: u32) -> f64 {
        let stops = Self::stops(satisfies);
        let relevant = satisfies.len();
        let mut drawn = vec![0.0; relevant + 1];
        drawn[0] = 1.0;
        let mut value = 0.0;
        for place in 0..slots {
            let left = f64::from(tied - place);
            let mut stopped = 0.0;
            for m in (0..=relevant.min(place as usize)).rev() {
                let undrawn = (relevant - m) as f64;
                let graded = drawn[m] * (undrawn / left);
                drawn[m] *= ((left - undrawn) / left).max(0.0);
                if m < relevant {
                    stopped += graded * stops[m];
                    drawn[m + 1] += graded;
                }
            }
            value += stopped / (f64::from(better) + f64::from(place) + 1.0);
        }
        value
    }
}

impl ListValue for ExpectedReciprocalRank {
    fn expected(&self, list: TieProfile<'_>) -> f64 {
        let mut value = 0.0;
        let mut reached = 1.0;
        for (group, grades) in list.graded_groups() {
            let slots = slots(group.better, group.tied, self.k);
            if slots == 0 {
                break;
            }
            let satisfies: Vec<f64> = if grades.is_empty() {
                vec![self.satisfies(1.0); group.relevant as usize]
            } else {
                grades.iter().map(|&grade| self.satisfies(grade)).collect()
            };
            value += reached * Self::within(&satisfies, group.better, group.tied, slots);
            reached *= satisfies.iter().map(|theta| 1.0 - theta).product::<f64>();
        }
        value
    }

    fn cut_off(&self, _n_relevant: u32) -> u32 {
        self.k
    }
}
