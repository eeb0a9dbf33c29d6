//! Expected reciprocal rank of a user who stops at the first satisfying item.

use super::{Gain, ListValue, slots};
use crate::profile::TieProfile;

/// ERR: an item of grade g satisfies with probability `(2^g - 1) / 2^max` (Chapelle et al. 2009).
pub(super) struct ExpectedReciprocalRank {
    pub(super) k: u32,
    pub(super) max_grade: f64,
}

impl ExpectedReciprocalRank {
    /// The probability that an item of this grade does not satisfy.
    fn goes_on(&self, grade: f64) -> f64 {
        1.0 - Gain::Exp2.of(grade) / libm::exp2(self.max_grade)
    }

    /// For j = 0, 1, ..., `slots`: the mean, over all sets of j items of a group, of the probability
    /// that none of them satisfies.
    ///
    /// Over the graded items alone it follows from adding them one by one,
    /// `A_j <- ((i - j) / i) A_j + (j / i) q_i A_(j-1)`; the others go on for certain, so that only
    /// the number m of graded items among the j drawn counts, which is hypergeometric.
    fn survival(goes_on: &[f64], tied: u32, slots: u32) -> Vec<f64> {
        let mut graded = vec![1.0];
        for (before, q) in goes_on.iter().enumerate() {
            let i = before as f64 + 1.0;
            graded.push(0.0);
            for j in (1..graded.len()).rev() {
                let share = j as f64 / i;
                graded[j] = (1.0 - share) * graded[j] + share * q * graded[j - 1];
            }
        }
        // The distribution of m, drawing one item after another without replacement.
        let relevant = goes_on.len();
        let mut drawn = vec![0.0; relevant + 1];
        drawn[0] = 1.0;
        let mut survival = vec![1.0];
        for j in 0..slots {
            let left = f64::from(tied - j);
            for m in (0..=relevant.min(j as usize + 1)).rev() {
                let stay = (left - (relevant - m) as f64) / left;
                let step = m.checked_sub(1).map_or(0.0, |less| drawn[less] * (relevant - less) as f64 / left);
                drawn[m] = drawn[m] * stay.max(0.0) + step;
            }
            survival.push(drawn.iter().zip(&graded).map(|(share, survival)| share * survival).sum());
        }
        survival
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
            let goes_on: Vec<f64> = if grades.is_empty() {
                vec![self.goes_on(1.0); group.relevant as usize]
            } else {
                grades.iter().map(|&grade| self.goes_on(grade)).collect()
            };
            let survival = Self::survival(&goes_on, group.tied, slots);
            for (place, pair) in survival.windows(2).enumerate() {
                value += reached * (pair[0] - pair[1]) / (f64::from(group.better) + place as f64 + 1.0);
            }
            reached *= goes_on.iter().product::<f64>();
        }
        value
    }

    fn cut_off(&self, _n_relevant: u32) -> u32 {
        self.k
    }
}
