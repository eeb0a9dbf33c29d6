//! One row against several thresholds: what lies above each, and what equals it.

use crate::input::Score;

/// Thresholds compared in one pass over a row, held in registers.
const AT_ONCE: usize = 4;

/// Up to this many distinct thresholds a pass per few is faster than a search per score.
const LINEAR: usize = 32;

/// For each threshold, the scores above it and those that equal it.
///
/// Few thresholds are compared one by one; more are sorted, and a binary search for each score gives
/// its place among them, O(C log R).
#[inline(always)]
pub(super) fn count_above<T: Score, const LANES: usize>(row: &[T], thresholds: &[T], counts: &mut Vec<[u32; 2]>) {
    counts.clear();
    counts.resize(thresholds.len(), [0, 0]);
    if thresholds.len() <= LINEAR {
        for (few, counts) in thresholds.chunks(AT_ONCE).zip(counts.chunks_mut(AT_ONCE)) {
            // The last threshold fills the unused places.
            let mut values = [few[few.len() - 1]; AT_ONCE];
            values[..few.len()].copy_from_slice(few);
            let of_values = count_few::<T, LANES>(row, values);
            counts.copy_from_slice(&of_values[..few.len()]);
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

#[inline(always)]
fn count_few<T: Score, const LANES: usize>(row: &[T], values: [T; AT_ONCE]) -> [[u32; 2]; AT_ONCE] {
    let mut above = [[0_u32; LANES]; AT_ONCE];
    let mut equal = [[0_u32; LANES]; AT_ONCE];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for scores in chunks {
        for value in 0..AT_ONCE {
            for lane in 0..LANES {
                above[value][lane] = above[value][lane].wrapping_add(u32::from(scores[lane] > values[value]));
                equal[value][lane] = equal[value][lane].wrapping_add(u32::from(scores[lane] == values[value]));
            }
        }
    }
    std::array::from_fn(|value| {
        let beyond = rest.iter().filter(|&&score| score > values[value]).count();
        let same = rest.iter().filter(|&&score| score == values[value]).count();
        let total = |lanes: &[u32; LANES], rest: usize| lanes.iter().sum::<u32>() + super::column(rest);
        [total(&above[value], beyond), total(&equal[value], same)]
    })
}

/// Whether every score is finite.
#[inline(always)]
pub(super) fn all_finite<T: Score>(row: &[T]) -> bool {
    row.iter().fold(0_u32, |count, &score| count.wrapping_add(u32::from(!score.is_finite()))) == 0
}
