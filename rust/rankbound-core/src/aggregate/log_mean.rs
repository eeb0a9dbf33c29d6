//! The logarithm of a mean of exponentials, whatever their size and in any order.

use std::collections::BTreeMap;

/// Exponents of a window span this many powers of two.
const WIDTH: f64 = 32.0 * std::f64::consts::LN_2;

/// Windows so far below the highest cannot reach its last digit.
const REACH: i64 = 40;

/// Values `e^l` grouped by the magnitude of `l`, each group a fixed-point sum: adding is associative,
/// which pairs of maximum and sum are not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogMean(BTreeMap<i64, i128>);

impl LogMean {
    /// Adds `e^log`; minus infinity adds nothing.
    #[expect(clippy::cast_possible_truncation, reason = "a window is below 2^50, a scaled value below 2^85")]
    pub fn add(&mut self, log: f64) {
        if log == f64::NEG_INFINITY {
            return;
        }
        let window = (log / WIDTH).floor();
        let scaled = (libm::exp(log - window * WIDTH) * (1_u64 << 52) as f64).round_ties_even();
        *self.0.entry(window as i64).or_default() += scaled as i128;
    }

    /// Adds what another one holds.
    pub fn merge(&mut self, other: &Self) {
        for (&window, &sum) in &other.0 {
            *self.0.entry(window).or_default() += sum;
        }
    }

    /// Each window and its sum, the lowest window first.
    pub(super) fn windows(&self) -> impl ExactSizeIterator<Item = (i64, i128)> {
        self.0.iter().map(|(&window, &sum)| (window, sum))
    }

    /// What some windows hold.
    pub(super) fn from_windows(windows: impl Iterator<Item = (i64, i128)>) -> Self {
        Self(windows.collect())
    }

    /// The logarithm of the sum divided by `count`: minus infinity if nothing was added, NaN for a
    /// count of 0.
    pub fn log_mean(&self, count: u64) -> f64 {
        if count == 0 {
            return f64::NAN;
        }
        let Some((&top, _)) = self.0.last_key_value() else { return f64::NEG_INFINITY };
        let relative = |(&window, &sum): (&i64, &i128)| sum as f64 * libm::exp((window - top) as f64 * WIDTH);
        let sum: f64 = self.0.range(top - REACH..).rev().map(relative).sum();
        top as f64 * WIDTH + libm::log(sum / (1_u64 << 52) as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(logs: &[f64]) -> LogMean {
        let mut mean = LogMean::default();
        logs.iter().for_each(|&log| mean.add(log));
        mean
    }

    /// ln 0.15 and two values too small to matter: ln(0.15 / 3).
    #[test]
    fn values_far_below_the_largest_do_not_matter() {
        let mean = of(&[0.15_f64.ln(), -814.491_767_473_760_5, f64::NEG_INFINITY]);
        assert!((mean.log_mean(3) - 0.05_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn values_that_underflow_as_exponentials_keep_their_digits() {
        let mean = of(&[-814.491_767_473_760_5, -814.654_286_403_258_3, f64::NEG_INFINITY]);
        assert!((mean.log_mean(3) - -814.975_194_123_338_3).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_minus_infinity_and_no_list_has_no_mean() {
        assert_eq!(of(&[f64::NEG_INFINITY]).log_mean(1), f64::NEG_INFINITY);
        assert!(LogMean::default().log_mean(0).is_nan());
    }

    #[test]
    fn any_order_and_split_gives_the_same_sums() {
        let (mut first, second) = (of(&[-3.0, -814.0]), of(&[-1.0, -400.5, -3.5]));
        first.merge(&second);
        assert_eq!(first, of(&[-3.5, -400.5, -814.0, -1.0, -3.0]));
    }
}
