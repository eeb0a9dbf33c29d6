//! Scores of vectors: the scalar loop that defines them, and the same sums for many at once.
//!
//! A score is one chain of fused multiply-adds over the dimensions in their order, which starts
//! from the item's bias. Each step rounds once, wherever it is computed, so a score depends on the
//! two vectors and the bias alone: not on its place in a tile, nor on the processor.

use multiversion::multiversion;

use crate::input::Similarity;

/// Queries scored at once.
pub(crate) const ROWS: usize = 6;

/// Items scored at once: with [`ROWS`] twelve registers of eight sums each, out of sixteen.
pub(crate) const LANES: usize = 16;

/// As many queries side by side, dimension after dimension.
pub(crate) type QueryPanel<'a> = &'a [[f32; ROWS]];

/// One step of the chain: adds a product, or takes off a squared difference.
#[inline(always)]
fn step<const DISTANCE: bool>(query: f32, item: f32, sum: f32) -> f32 {
    if DISTANCE {
        let difference = query - item;
        (-difference).mul_add(difference, sum)
    } else {
        query.mul_add(item, sum)
    }
}

/// The score of an item, for [`Similarity::Cosine`] from vectors that have length 1 already. This is
/// the definition.
#[multiversion(targets("x86_64+avx2+fma"))]
pub(crate) fn score(similarity: Similarity, query: &[f32], item: &[f32], bias: f32) -> f32 {
    let pairs = query.iter().zip(item);
    if similarity == Similarity::L2 {
        pairs.fold(bias, |sum, (&query, &item)| step::<true>(query, item, sum))
    } else {
        pairs.fold(bias, |sum, (&query, &item)| step::<false>(query, item, sum))
    }
}

/// Scores of a panel of queries with panels of items, query by query.
///
/// A panel of items is their biases, then as many of their values for each dimension.
#[multiversion(targets("x86_64+avx2+fma"))]
pub(crate) fn score_panels(
    similarity: Similarity,
    queries: QueryPanel<'_>,
    panels: &[[f32; LANES]],
    scores: &mut [&mut [[f32; LANES]]; ROWS],
) {
    if similarity == Similarity::L2 {
        score_tiles::<true>(queries, panels, scores);
    } else {
        score_tiles::<false>(queries, panels, scores);
    }
}

#[inline(always)]
fn score_tiles<const DISTANCE: bool>(
    queries: QueryPanel<'_>,
    panels: &[[f32; LANES]],
    scores: &mut [&mut [[f32; LANES]]; ROWS],
) {
    for (at, panel) in panels.chunks_exact(1 + queries.len()).enumerate() {
        // By name, not in a loop over rows: the compiler keeps them in registers whatever it thinks of loops.
        let [mut a, mut b, mut c, mut d, mut e, mut f] = [panel[0]; ROWS];
        for (query, items) in queries.iter().zip(&panel[1..]) {
            step_lanes::<DISTANCE>(query[0], items, &mut a);
            step_lanes::<DISTANCE>(query[1], items, &mut b);
            step_lanes::<DISTANCE>(query[2], items, &mut c);
            step_lanes::<DISTANCE>(query[3], items, &mut d);
            step_lanes::<DISTANCE>(query[4], items, &mut e);
            step_lanes::<DISTANCE>(query[5], items, &mut f);
        }
        for (scores, sums) in scores.iter_mut().zip([a, b, c, d, e, f]) {
            scores[at] = sums;
        }
    }
}

#[inline(always)]
fn step_lanes<const DISTANCE: bool>(query: f32, items: &[f32; LANES], sums: &mut [f32; LANES]) {
    for lane in 0..LANES {
        sums[lane] = step::<DISTANCE>(query, items[lane], sums[lane]);
    }
}
