//! How expected exposure spreads over the catalogue.

use super::fixed::Fixed;

/// Entropy of the exposure shares in nats, from 0 (one class) to `ln C` (all alike).
/// NaN if nothing is exposed.
///
/// Of the *expected* exposure: by concavity at least the expected entropy of the realised one.
pub fn entropy(exposure: &[f64]) -> f64 {
    let total: f64 = exposure.iter().map(|&value| Fixed::from_f64(value)).sum::<Fixed>().to_f64();
    if total == 0.0 {
        return f64::NAN;
    }
    let terms = exposure.iter().filter(|&&value| value > 0.0).map(|&value| {
        let share = value / total;
        Fixed::from_f64(-share * libm::log(share))
    });
    terms.sum::<Fixed>().to_f64()
}

/// Gini coefficient of the exposure over all classes, unexposed ones included, from 0 (all alike)
/// to `(C - 1) / C`. NaN if nothing is exposed.
///
/// `sum_i (2i - C - 1) x_(i) / (C sum x)`, ascending, taken in pairs from both ends so that equal
/// exposures give exactly 0. Of the *expected* exposure: by convexity at most the expected Gini of
/// the realised one.
pub fn gini(exposure: &[f64]) -> f64 {
    let mut sorted = exposure.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n_classes = sorted.len();
    let total: f64 = sorted.iter().map(|&value| Fixed::from_f64(value)).sum::<Fixed>().to_f64();
    if total == 0.0 {
        return f64::NAN;
    }
    // The sorted order is the same for any order of the classes, so a plain sum is as well.
    let spread: f64 = (0..n_classes / 2)
        .map(|low| (n_classes - 1 - 2 * low) as f64 * (sorted[n_classes - 1 - low] - sorted[low]))
        .fold(0.0, |sum, gap| sum + gap);
    spread / (n_classes as f64 * total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_example() {
        let exposure = [11.0 / 6.0, 2.0, 4.0 / 3.0, 5.0 / 6.0];
        assert!((gini(&exposure) - 1.0 / 6.0).abs() < 1e-15);
        assert!((entropy(&exposure) - 1.336_895_335_849_241_5).abs() < 1e-15);
        // Mean absolute difference form over all items, unshown ones included.
        assert_eq!(gini(&[0.0, 0.0, 1.0, 3.0]), 0.625);
    }

    #[test]
    fn no_preference_is_no_concentration() {
        for n_classes in [1, 2, 7, 1000] {
            let exposure = vec![0.1; n_classes];
            assert_eq!(gini(&exposure).to_bits(), 0, "not -0.0 either");
            assert!((entropy(&exposure) - (n_classes as f64).ln()).abs() < 1e-14);
        }
        assert!(gini(&[0.0, 0.0]).is_nan() && entropy(&[0.0]).is_nan());
    }
}
