//! Rank-biased precision as a logarithm, for lists so long that it underflows.

use super::{ListValue, slots};
use crate::profile::TieProfile;

/// `ln E[RBP]`; minus infinity if no relevant item is in the top k.
pub(super) struct LogRbp {
    k: u32,
    log_patience: f64,
    log_rest: f64,
}

impl LogRbp {
    pub(super) fn new(k: u32, patience: f64) -> Self {
        Self { k, log_patience: libm::log(patience), log_rest: libm::log1p(-patience) }
    }
}

/// `ln(1 - e^x)` for negative x, by the form that keeps its digits (Mächler 2012).
fn log_1_minus_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { libm::log(-libm::expm1(x)) } else { libm::log1p(-libm::exp(x)) }
}

impl ListValue for LogRbp {
    /// Per group `ln r - ln t + b ln p + ln(1 - p^s)`, summed as logarithms.
    fn expected(&self, list: TieProfile<'_>) -> f64 {
        let of_group = |group: &crate::profile::TieGroup| {
            let slots = slots(group.better, group.tied, self.k);
            let places = f64::from(group.better) * self.log_patience;
            if slots == 1 && group.tied == 1 {
                return self.log_rest + places;
            }
            let share = libm::log(f64::from(group.relevant)) - libm::log(f64::from(group.tied));
            share + places + log_1_minus_exp(f64::from(slots) * self.log_patience)
        };
        let logs: Vec<f64> = list.groups.iter().take_while(|group| group.better < self.k).map(of_group).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match logs.len() {
            0 | 1 => largest,
            _ => largest + libm::log(logs.iter().map(|log| libm::exp(log - largest)).sum()),
        }
    }

    fn cut_off(&self, _n_relevant: u32) -> u32 {
        self.k
    }
}
