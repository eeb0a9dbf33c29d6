//! Sums over the units in numpy's order, and the linearised standard error.

use super::pairwise::{LEAF, join, subtrees, sum_rows};

/// Below this share of their scale, squared deviations are the rounding of numbers that are equal.
pub(super) const ROUNDING: f64 = 1e-24;

/// The sum of the values, equal in every bit to `numpy.sum`.
pub(super) fn sum(values: &[f64]) -> f64 {
    let mut in_order = [0; LEAF];
    in_order.iter_mut().zip(0..).for_each(|(place, at)| *place = at);
    let mut ends = vec![0];
    subtrees(values.len(), LEAF, &mut ends);
    let leaf = |bounds: &[usize]| {
        let rows = values[bounds[0]..bounds[1]].as_chunks::<1>().0;
        sum_rows(rows, &in_order[..rows.len()])[0]
    };
    // numpy adds to an initial 0.0, so that no sum is -0.0.
    0.0 + join(values.len(), LEAF, &mut ends.windows(2).map(leaf))
}

/// A series' mean over lists: the ratio of its sum to the number of lists.
pub(super) fn ratio(series: &[f64], counts: Option<&[f64]>) -> f64 {
    sum(series) / counts.map_or(series.len() as f64, sum)
}

/// The deviation of each unit's gap from what its lists would have at the mean gap.
pub(super) fn deviations(candidate: &[f64], baseline: &[f64], counts: Option<&[f64]>) -> Vec<f64> {
    let mean = ratio(candidate, counts) - ratio(baseline, counts);
    let deviation = |(unit, (candidate, baseline)): (usize, (&f64, &f64))| {
        (candidate - baseline) - mean * counts.map_or(1.0, |counts| counts[unit])
    };
    candidate.iter().zip(baseline).enumerate().map(deviation).collect()
}

/// The standard error of the gap between two means over lists, from the linear part of the ratio of
/// sums: `sqrt(U / (U - 1) * sum(e^2)) / sum(N)` with the deviations `e` (Davison & Hinkley 1997,
/// section 2.7.2). With one list a unit it is that of the paired t-test.
///
/// It is 0 if all units have the same mean gap; NaN for fewer than two units.
#[must_use]
pub fn linearised_error(candidate: &[f64], baseline: &[f64], counts: Option<&[f64]>) -> f64 {
    let squares = |values: &mut dyn Iterator<Item = f64>| sum(&values.map(|value| value * value).collect::<Vec<_>>());
    let n_units = candidate.len() as f64;
    let of_deviations = squares(&mut deviations(candidate, baseline, counts).into_iter());
    let of_values = squares(&mut candidate.iter().chain(baseline).copied());
    if n_units >= 2.0 && of_deviations <= ROUNDING * of_values {
        return 0.0;
    }
    let n_lists = counts.map_or(n_units, sum);
    (n_units / (n_units - 1.0) * of_deviations).sqrt() / n_lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_by_hand() {
        let error = |sums: &[f64], counts| linearised_error(sums, &vec![0.0; sums.len()], counts);
        assert_eq!(error(&[1.0, 0.0], Some(&[1.0, 3.0])), 0.375);
        let squared = error(&[1.0, 0.5, 0.0, 2.0], Some(&[1.0, 1.0, 2.0, 3.0])).powi(2);
        assert!((squared - 2.0 / 49.0).abs() < 1e-16, "{squared}");
        // One list a unit: the standard deviation over the root of their number.
        assert_eq!(error(&[3.0, 1.0, 2.0, 2.0], None), (2.0_f64 / 3.0 / 4.0).sqrt());
        assert!(error(&[1.0], None).is_nan());
    }

    #[test]
    fn equal_gaps_have_no_error() {
        let counts: Vec<f64> = (1..=7).map(f64::from).collect();
        let candidate: Vec<f64> = counts.iter().map(|count| 0.7 * count).collect();
        let baseline: Vec<f64> = counts.iter().map(|count| 0.3 * count).collect();
        assert_eq!(linearised_error(&candidate, &baseline, Some(&counts)), 0.0);
        assert!(linearised_error(&candidate, &baseline, None) > 0.1);
    }
}
