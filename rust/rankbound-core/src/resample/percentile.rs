//! Percentile limits of bootstrap replicates.

/// The equal-tailed percentile interval of the replicates (Efron & Tibshirani 1993, ch. 13).
///
/// Repeats the arithmetic of `scipy.stats.quantile(replicates, [alpha, 1 - alpha])`, which
/// `scipy.stats.bootstrap` uses from scipy 1.16 on: Hyndman & Fan's type 7, but not in the last bit
/// what `numpy.quantile` gives. A NaN among the replicates, none at all, or a level outside
/// `[0, 1]` leaves both limits NaN.
#[must_use]
pub fn percentile_limits(replicates: &[f64], confidence_level: f64) -> (f64, f64) {
    let level_is_valid = (0.0..=1.0).contains(&confidence_level);
    if !level_is_valid || replicates.is_empty() || replicates.iter().any(|value| value.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    let mut sorted = replicates.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let alpha = (1.0 - confidence_level) / 2.0;
    (quantile(&sorted, alpha), quantile(&sorted, 1.0 - alpha))
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * sorted.len() as f64 + (1.0 - p);
    // Rounding can bring a single replicate's place to just below 1.
    let weight = if place < 1.0 { 0.0 } else { place % 1.0 };
    let last = sorted.len() - 1;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the floor of a place in the slice")]
    let above = place as usize;
    (1.0 - weight) * sorted[above.saturating_sub(1).min(last)] + weight * sorted[above.min(last)]
}
