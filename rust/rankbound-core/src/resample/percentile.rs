//! Percentile limits of bootstrap replicates.

/// The equal-tailed percentile interval of the replicates (Efron & Tibshirani 1993, ch. 13).
///
/// Repeats the arithmetic of `scipy.stats.quantile(replicates, [alpha, 1 - alpha])`, which
/// `scipy.stats.bootstrap` calls (scipy 1.17): type 7 of Hyndman & Fan 1996, but not always the last
/// bit of `numpy.quantile`. A NaN among the replicates, none at all, or a level outside
/// `[0, 1]` leaves both limits NaN.
#[must_use]
pub fn percentile_limits(replicates: &[f64], confidence_level: f64) -> (f64, f64) {
    let level_is_valid = (0.0..=1.0).contains(&confidence_level);
    if !level_is_valid || replicates.is_empty() || replicates.iter().any(|value| value.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    let mut replicates = replicates.to_vec();
    let alpha = (1.0 - confidence_level) / 2.0;
    (quantile(&mut replicates, alpha), quantile(&mut replicates, 1.0 - alpha))
}

/// The type 7 quantile of values, of which there is at least one, as scipy computes it; reorders them.
pub(super) fn quantile(values: &mut [f64], p: f64) -> f64 {
    let place = p * values.len() as f64 + (1.0 - p);
    // Rounding can bring a single replicate's place to just below 1.
    let weight = if place < 1.0 { 0.0 } else { place % 1.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the floor of a place in the slice")]
    let above = place as usize;
    let at = above.saturating_sub(1).min(values.len() - 1);
    // Two neighbours are all that is needed of the order.
    let (_, &mut value, larger) = values.select_nth_unstable_by(at, f64::total_cmp);
    let next = if above > at { larger.iter().copied().min_by(f64::total_cmp) } else { None };
    (1.0 - weight) * value + weight * next.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn limits_are_scipys() {
        // scipy 1.17.1: stats.quantile(values, [(1 - level) / 2, 1 - (1 - level) / 2])
        let values: Vec<f64> = (0..1000).rev().map(|index| value(index, 5, 10_007)).collect();
        for (level, limits) in [
            (0.95, (0.025_057_459_778_155_315, 0.974_140_601_578_894_7)),
            (0.9, (0.049_020_685_520_135_9, 0.950_084_940_541_620_8)),
            (0.5, (0.249_800_139_902_068_56, 0.750_299_790_146_897_2)),
            (1.0, (9.993_004_896_572_4e-5, 0.999_100_629_559_308_5)),
            (0.0, (0.500_549_615_269_311_4, 0.500_549_615_269_311_4)),
        ] {
            assert_eq!(percentile_limits(&values, level), limits, "level {level}");
        }
    }

    #[test]
    fn a_single_replicate_is_both_limits() {
        assert_eq!(percentile_limits(&[0.3], 0.95), (0.3, 0.3));
    }

    #[test]
    fn what_has_no_limits_gives_nan() {
        for (replicates, level) in [(&[][..], 0.95), (&[0.0, f64::NAN], 0.95), (&[0.0], 1.5), (&[0.0], f64::NAN)] {
            let (low, high) = percentile_limits(replicates, level);
            assert!(low.is_nan() && high.is_nan());
        }
    }
}
