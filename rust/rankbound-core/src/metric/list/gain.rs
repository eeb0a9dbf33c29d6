//! Sums of gains weighted by rank: DCG, NDCG and rank-biased precision.

use super::ListValue;
use crate::metric::RankWeights;
use crate::profile::TieProfile;

/// What a grade is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gain {
    /// 1 for every relevant item.
    Binary,
    /// The grade itself (Järvelin and Kekäläinen 2002).
    Linear,
    /// `2^grade - 1` (Burges et al. 2005).
    Exp2,
}

impl Gain {
    /// The gain of a grade.
    pub fn of(self, grade: f64) -> f64 {
        match self {
            Self::Binary => 1.0,
            Self::Linear => grade,
            // Powers of two are exact; between them the difference from 1 must keep its digits.
            Self::Exp2 if grade.fract() == 0.0 => libm::exp2(grade) - 1.0,
            Self::Exp2 => libm::expm1(grade * std::f64::consts::LN_2),
        }
    }
}

/// How much a rank is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discount {
    /// `1 / log2(1 + rank)`.
    Log2,
    /// `1 / max(1, log2(rank))`.
    Jk2002,
}

/// A sum of gains over ranks, as it is or divided by its ideal.
pub(super) struct DiscountedGain {
    k: u32,
    gain: Gain,
    weights: RankWeights,
    // Running sums of the weights, if the sum is to be divided by its ideal.
    ideal: Option<Vec<f64>>,
}

impl DiscountedGain {
    pub(super) fn new(gain: Gain, discount: Discount, k: u32, depth: usize, normalised: bool) -> Self {
        let weights = match discount {
            Discount::Log2 => RankWeights::ndcg(k as usize, depth),
            Discount::Jk2002 => RankWeights::dcg_of_2002(k as usize, depth),
        };
        let ideal = normalised.then(|| weights.running_sums());
        Self { k, gain, weights, ideal }
    }

    pub(super) fn rank_biased(gain: Gain, patience: f64, k: u32, depth: usize) -> Self {
        Self { k, gain, weights: RankWeights::geometric(patience, k as usize, depth), ideal: None }
    }

    fn is_binary(&self, list: TieProfile<'_>) -> bool {
        // A grade of 1 is a gain of 1 by every rule.
        self.gain == Gain::Binary || list.grades.is_empty()
    }

    /// The sum of the best list there can be: all relevant items, best first, cut at k.
    fn ideal(&self, list: TieProfile<'_>, running: &[f64]) -> f64 {
        if self.is_binary(list) {
            return running[(list.n_relevant as usize).min(running.len() - 1)];
        }
        let mut gains: Vec<f64> = list.grades.iter().map(|&grade| self.gain.of(grade)).collect();
        gains.sort_unstable_by(|a, b| b.total_cmp(a));
        gains.iter().enumerate().fold(0.0, |sum, (at, gain)| sum + gain * self.weights.weight(at + 1))
    }
}

impl ListValue for DiscountedGain {
    /// Every place of a group is worth the mean gain of the whole group.
    fn expected(&self, list: TieProfile<'_>) -> f64 {
        let mut sum = 0.0;
        if self.is_binary(list) {
            for group in list.groups.iter().take_while(|group| group.better < self.k) {
                let (better, tied) = (group.better as usize, group.tied as usize);
                if group.tied == group.relevant {
                    // In the order of the ideal, so that a perfect list is worth exactly 1.
                    sum = (better + 1..=better + tied).fold(sum, |sum, rank| sum + self.weights.weight(rank));
                } else {
                    sum += f64::from(group.relevant) / f64::from(group.tied) * self.weights.total(better, tied);
                }
            }
        } else {
            for (group, grades) in list.graded_groups().take_while(|(group, _)| group.better < self.k) {
                let (better, tied) = (group.better as usize, group.tied as usize);
                let alike = grades.len() == tied && grades.iter().all(|&grade| grade == grades[0]);
                if alike {
                    let gain = self.gain.of(grades[0]);
                    sum = (better + 1..=better + tied).fold(sum, |sum, rank| sum + gain * self.weights.weight(rank));
                } else {
                    let gains = grades.iter().fold(0.0, |gains, &grade| gains + self.gain.of(grade));
                    sum += gains / f64::from(group.tied) * self.weights.total(better, tied);
                }
            }
        }
        // Rounding must not make a perfect list better than perfect.
        let Some(running) = &self.ideal else { return sum };
        let share = sum / self.ideal(list, running);
        if share > 1.0 { 1.0 } else { share }
    }

    /// Per group `sum (a - mean a)^2 sum (f - mean f)^2 / (t - 1)`, gains a and rank weights f: the
    /// variance of a permutation statistic (Hoeffding 1951).
    fn variance(&self, list: TieProfile<'_>) -> Option<f64> {
        let of_groups = list.graded_groups().map(|(group, grades)| {
            if group.tied == 1 {
                return 0.0;
            }
            let [tied, relevant] = [group.tied, group.relevant].map(f64::from);
            let gain = |grade: &f64| if self.gain == Gain::Binary { 1.0 } else { self.gain.of(*grade) };
            let sum = if grades.is_empty() { relevant } else { grades.iter().map(gain).sum::<f64>() };
            let mean = sum / tied;
            let squares = if grades.is_empty() {
                relevant * (1.0 - mean).powi(2)
            } else {
                grades.iter().map(|grade| (gain(grade) - mean).powi(2)).sum::<f64>()
            };
            let squares = squares + (tied - relevant) * mean * mean;
            squares * tied * self.weights.variance(group.better as usize, group.tied as usize) / (tied - 1.0)
        });
        let divisor = self.ideal.as_ref().map_or(1.0, |running| self.ideal(list, running));
        Some(of_groups.sum::<f64>() / (divisor * divisor))
    }

    fn cut_off(&self, _n_relevant: u32) -> u32 {
        self.k
    }
}
