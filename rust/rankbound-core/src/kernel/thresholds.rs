//! One row against several thresholds: what lies above each, and what equals it.

use crate::input::{Count, Score};

/// Scores compared with all thresholds before the next ones are read: they stay in the nearest cache.
const SCORES_AT_ONCE: usize = 2048;

/// Up to this many thresholds a pass for each is faster than a search per score.
const LINEAR: usize = 100;

/// For each threshold, the scores above it and those that equal it.
///
/// Few thresholds are compared one by one; more are sorted, and a binary search for each score gives
/// its place among them, O(C log R).
#[inline(always)]
pub(super) fn count_above<T: Score>(row: &[T], thresholds: &[T], counts: &mut Vec<[u32; 2]>) {
    counts.clear();
    counts.resize(thresholds.len(), [0, 0]);
    if thresholds.len() <= LINEAR {
        for scores in row.chunks(SCORES_AT_ONCE) {
            for (&threshold, [above, equal]) in thresholds.iter().zip(counts.iter_mut()) {
                let (mut n_above, mut n_equal) = (T::Count::default(), T::Count::default());
                for &score in scores {
                    n_above = n_above.plus(score > threshold);
                    n_equal = n_equal.plus(score == threshold);
                }
                *above += n_above.total();
                *equal += n_equal.total();
            }
        }
        return;
    }
    let mut order: Vec<usize> = (0..thresholds.len()).collect();
    // Scores are ordered: none is NaN.
    order.sort_unstable_by(|&a, &b| thresholds[a].partial_cmp(&thresholds[b]).unwrap_or(std::cmp::Ordering::Equal));
    let mut distinct: Vec<T> = order.iter().map(|&at| thresholds[at]).collect();
    distinct.dedup_by(|a, b| a == b);
    // Between neighbours: below the first, equal to it, between it and the second, and so on.
    let mut places = vec![0_u32; 2 * distinct.len() + 1];
    for &score in row {
        let below = distinct.partition_point(|&threshold| threshold < score);
        let equal = distinct.get(below).is_some_and(|&threshold| threshold == score);
        places[2 * below + usize::from(equal)] += 1;
    }
    let mut above = 0;
    let of_distinct: Vec<[u32; 2]> = (0..distinct.len())
        .rev()
        .map(|at| {
            above += places[2 * at + 2];
            let here = [above, places[2 * at + 1]];
            above += here[1];
            here
        })
        .collect();
    for (threshold, counts) in thresholds.iter().zip(counts) {
        let at = distinct.partition_point(|value| value < threshold);
        *counts = of_distinct[distinct.len() - 1 - at];
    }
}

/// Whether every score is finite.
#[inline(always)]
pub(super) fn all_finite<T: Score>(row: &[T]) -> bool {
    row.iter().fold(T::Count::default(), |count, &score| count.plus(!score.is_finite())).total() == 0
}
