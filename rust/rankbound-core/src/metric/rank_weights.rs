//! Metrics of one truth are functions of its rank that vanish beyond a cut-off: a table of weights.

/// Up to this many ranks are added one by one; beyond, prefix sums are subtracted.
const DIRECT: usize = 64;

/// The weights `f(1), f(2), ..., f(k)` of the ranks up to a cut-off; `f` is 0 beyond.
#[derive(Debug, Clone, PartialEq)]
pub struct RankWeights {
    weights: Vec<f64>,
    sums: PrefixSums,
    sums_of_squares: PrefixSums,
}

impl RankWeights {
    /// Hit at `k`: 1 within the top `k`. `n_classes` bounds the table, ranks end there.
    pub fn hit(k: usize, n_classes: usize) -> Self {
        Self::new(k.min(n_classes), |_| 1.0)
    }

    /// Reciprocal rank at `k`: `1 / rank` (Voorhees 1999).
    pub fn reciprocal_rank(k: usize, n_classes: usize) -> Self {
        Self::new(k.min(n_classes), |rank| 1.0 / rank)
    }

    /// NDCG at `k` of a single relevant item: `1 / log2(1 + rank)`, the ideal DCG being 1
    /// (Järvelin and Kekäläinen 2002).
    pub fn ndcg(k: usize, n_classes: usize) -> Self {
        Self::new(k.min(n_classes), |rank| 1.0 / libm::log2(1.0 + rank))
    }

    /// DCG at `k` in the form of 2002: `1 / max(1, log2(rank))`, flat on the first two ranks
    /// (Järvelin and Kekäläinen 2002).
    pub fn dcg_of_2002(k: usize, n_classes: usize) -> Self {
        Self::new(k.min(n_classes), |rank| 1.0 / libm::log2(rank).max(1.0))
    }

    /// Rank-biased precision at `k`: `(1 - p) p^(rank - 1)` (Moffat and Zobel 2008). The table ends
    /// where the weights vanish in a double.
    pub fn geometric(patience: f64, k: usize, n_classes: usize) -> Self {
        Self::new(k.min(n_classes), |rank| (1.0 - patience) * libm::pow(patience, rank - 1.0))
    }

    fn new(length: usize, weight: impl Fn(f64) -> f64) -> Self {
        let weights = (1..=length).map(|rank| weight(rank as f64)).take_while(|weight| *weight > 0.0);
        let weights: Vec<f64> = weights.collect();
        let sums = PrefixSums::new(weights.iter().copied());
        let sums_of_squares = PrefixSums::new(weights.iter().map(|weight| weight * weight));
        Self { weights, sums, sums_of_squares }
    }

    /// The weight of a rank, counted from 1; 0 beyond the cut-off.
    pub fn weight(&self, rank: usize) -> f64 {
        self.weights.get(rank - 1).copied().unwrap_or(0.0)
    }

    /// Mean weight of the ranks `better + 1 ..= better + tied`: the expectation of the metric when
    /// the truth's group of `tied` is ordered at random (McSherry and Najork 2008).
    pub fn mean(&self, better: usize, tied: usize) -> f64 {
        if tied == 1 {
            return self.weight(better + 1);
        }
        let end = (better + tied).min(self.weights.len());
        let start = better.min(end);
        self.sum(start, end) / tied as f64
    }

    /// Sum of the weights of the ranks `better + 1 ..= better + tied`.
    pub fn total(&self, better: usize, tied: usize) -> f64 {
        if tied == 1 {
            return self.weight(better + 1);
        }
        let end = (better + tied).min(self.weights.len());
        self.sum(better.min(end), end)
    }

    /// The sums of the first 0, 1, 2, ... weights, added in the order of the ranks.
    pub fn running_sums(&self) -> Vec<f64> {
        let sums = self.weights.iter().scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        std::iter::once(0.0).chain(sums).collect()
    }

    /// Sum over the items of a list of the square of what each is shown for, the mean weight of the
    /// ranks of its tie group: `EE-D` (Diaz et al. 2020). Takes the sizes of the groups, best first.
    pub fn disparity(&self, sizes: impl Iterator<Item = usize>) -> f64 {
        let mut better = 0;
        let squares = sizes.map(|size| {
            let weight = self.mean(better, size);
            better += size;
            weight * weight * size as f64
        });
        squares.sum()
    }

    /// Variance of the weight over the same ranks.
    pub fn variance(&self, better: usize, tied: usize) -> f64 {
        if tied == 1 {
            return 0.0;
        }
        let end = (better + tied).min(self.weights.len());
        let start = better.min(end);
        let mean = self.sum(start, end) / tied as f64;
        let mean_square = if end - start <= DIRECT {
            self.weights[start..end].iter().map(|weight| weight * weight).sum::<f64>() / tied as f64
        } else {
            self.sums_of_squares.between(start, end) / tied as f64
        };
        (mean_square - mean * mean).max(0.0)
    }

    fn sum(&self, start: usize, end: usize) -> f64 {
        if end - start <= DIRECT { self.weights[start..end].iter().sum() } else { self.sums.between(start, end) }
    }
}

/// Prefix sums in twice the precision of a double, because the difference of two large ones would
/// lose the digits that matter.
#[derive(Debug, Clone, PartialEq)]
struct PrefixSums(Vec<(f64, f64)>);

impl PrefixSums {
    fn new(terms: impl Iterator<Item = f64>) -> Self {
        let mut sums = vec![(0.0, 0.0)];
        let (mut high, mut low) = (0.0_f64, 0.0_f64);
        for term in terms {
            // Two-sum (Knuth): `high + term` is exactly `total + error`.
            let total = high + term;
            let virtual_term = total - high;
            let error = (high - (total - virtual_term)) + (term - virtual_term);
            let carried = low + error;
            high = total + carried;
            low = carried - (high - total);
            sums.push((high, low));
        }
        Self(sums)
    }

    fn between(&self, start: usize, end: usize) -> f64 {
        let ((low_start, rest_start), (low_end, rest_end)) = (self.0[start], self.0[end]);
        (low_end - low_start) + (rest_end - rest_start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(k: usize, n_classes: usize) -> [RankWeights; 3] {
        [RankWeights::hit(k, n_classes), RankWeights::reciprocal_rank(k, n_classes), RankWeights::ndcg(k, n_classes)]
    }

    /// Worked by hand as fractions: b, t, k, hit, reciprocal rank and its variance.
    #[test]
    fn worked_examples() {
        let cases = [
            (1, 3, 1, 0.0, 0.0, 0.0),
            (1, 3, 2, 1.0 / 3.0, 1.0 / 6.0, 1.0 / 18.0),
            (1, 3, 3, 2.0 / 3.0, 5.0 / 18.0, 7.0 / 162.0),
            (1, 3, 5, 1.0, 13.0 / 36.0, 7.0 / 648.0),
            (0, 15, 10, 2.0 / 3.0, 7381.0 / 37800.0, 6_653_251.0 / 102_060_000.0),
            (0, 20, 10, 0.5, 7381.0 / 50400.0, 142_353_739.0 / 2_540_160_000.0),
            (9, 4, 10, 0.25, 1.0 / 40.0, 3.0 / 1600.0),
            (3, 3, 2, 0.0, 0.0, 0.0),
            (0, 1, 10, 1.0, 1.0, 0.0),
        ];
        for (better, tied, k, hit, rr, rr_variance) in cases {
            let [hits, reciprocal_ranks, _] = all(k, 30);
            assert_eq!(hits.mean(better, tied), hit);
            assert!((reciprocal_ranks.mean(better, tied) - rr).abs() < 1e-16);
            assert!((reciprocal_ranks.variance(better, tied) - rr_variance).abs() < 1e-16);
        }
        assert_eq!(RankWeights::ndcg(2, 9).mean(1, 3), 0.210_309_917_857_152_5);
    }

    #[test]
    fn a_wide_group_far_down_keeps_its_digits() {
        let weights = RankWeights::reciprocal_rank(2_000_000, 2_000_000);
        // H(b + t) - H(b) for b = 10^6, t = 65, added from the small end.
        let expected = (1_000_001..=1_000_065).rev().map(|rank| 1.0 / f64::from(rank)).sum::<f64>() / 65.0;
        assert!((weights.mean(1_000_000, 65) / expected - 1.0).abs() < 1e-14);
    }

    proptest! {
        /// Every place of the group is equally likely: average over all of them.
        #[test]
        fn mean_and_variance_by_enumeration(
            better in 0_usize..200, tied in 1_usize..200, k in 1_usize..400, beyond in 0_usize..50,
        ) {
            let n_classes = better + tied + beyond;
            for weights in all(k, n_classes) {
                let values: Vec<f64> = (better + 1..=better + tied)
                    .map(|rank| if rank <= k { weights.weight(rank) } else { 0.0 })
                    .collect();
                let mean = values.iter().sum::<f64>() / tied as f64;
                let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / tied as f64;
                prop_assert!((weights.mean(better, tied) - mean).abs() < 1e-14);
                prop_assert!((weights.variance(better, tied) - variance).abs() < 1e-14);
                prop_assert!(weights.weight(better + 1) >= weights.mean(better, tied) - 1e-15);
                prop_assert!(weights.weight(better + tied) <= weights.mean(better, tied) + 1e-15);
            }
        }
    }
}
