//! numpy's pairwise summation of drawn values.
//!
//! `numpy.sum` over a contiguous row adds up to 128 values in eight interleaved accumulators and
//! splits longer rows in two (Higham 1993, "The accuracy of floating point summation", describes the
//! idea). The order decides the last bits of a sum, so it is repeated here step by step.

use multiversion::multiversion;

/// Values added without splitting, numpy's `PW_BLOCKSIZE`.
pub(super) const LEAF: usize = 128;

/// The sums over the draws, where `leaf` sums up to [`LEAF`] of them.
pub(super) fn sum<const W: usize>(draws: &[u32], leaf: &impl Fn(&[u32]) -> [f64; W]) -> [f64; W] {
    if draws.len() <= LEAF {
        return leaf(draws);
    }
    let (left, right) = draws.split_at(split(draws.len()).0);
    let mut total = sum(left, leaf);
    add(&mut total, &sum(right, leaf));
    total
}

/// Lane by lane the sum of the drawn rows, of which there are at most [`LEAF`].
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn sum_rows<const W: usize>(rows: &[[f64; W]], draws: &[u32]) -> [f64; W] {
    let (octets, rest) = draws.as_chunks::<8>();
    // -0.0 and not 0.0: it leaves alone whatever is added to it.
    let mut total = [-0.0; W];
    if !octets.is_empty() {
        let mut partial = [[-0.0; W]; 8];
        for octet in octets {
            for (partial, &row) in partial.iter_mut().zip(octet) {
                add(partial, &rows[row as usize]);
            }
        }
        let [r0, r1, r2, r3, r4, r5, r6, r7] = partial;
        for lane in 0..W {
            total[lane] =
                ((r0[lane] + r1[lane]) + (r2[lane] + r3[lane])) + ((r4[lane] + r5[lane]) + (r6[lane] + r7[lane]));
        }
    }
    for &row in rest {
        add(&mut total, &rows[row as usize]);
    }
    total
}

#[expect(clippy::inline_always, reason = "to be compiled for the instructions of its caller")]
#[inline(always)]
fn add<const W: usize>(total: &mut [f64; W], values: &[f64; W]) {
    for (total, value) in total.iter_mut().zip(values) {
        *total += value;
    }
}

/// Where numpy splits a sum of `n > LEAF` values.
fn split(n: usize) -> (usize, usize) {
    let left = n / 2 - n / 2 % 8;
    (left, n - left)
}

/// Appends the ends of the largest subtrees of at most `limit >= LEAF` of the `n` values, from left
/// to right, counted from the last end that `ends` holds.
pub(super) fn subtrees(n: usize, limit: usize, ends: &mut Vec<usize>) {
    if n <= limit {
        ends.push(ends.last().map_or(n, |start| start + n));
    } else {
        let (left, right) = split(n);
        subtrees(left, limit, ends);
        subtrees(right, limit, ends);
    }
}

/// The sum of `n` values from the sums of their [`subtrees`].
pub(super) fn join(n: usize, limit: usize, sums: &mut impl Iterator<Item = f64>) -> f64 {
    if n <= limit {
        return sums.next().unwrap_or(f64::NAN);
    }
    let (left, right) = split(n);
    let sum = join(left, limit, sums);
    sum + join(right, limit, sums)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{checksum, value};
    use super::*;

    #[test]
    fn sums_are_numpys() {
        let rows: Vec<[f64; 1]> = (0..100_003).map(|unit| [value(unit, 0, 10_007)]).collect();
        let draws: Vec<u32> = (0..100_003).collect();
        let over = |draws: &[u32]| sum(draws, &|units| sum_rows(&rows, units))[0];
        let whole = |n: usize| over(&draws[..n]);
        let sizes = || (1..300).chain([100_003]);
        // numpy 2.4.6: x[:n].sum() for the same values and sizes.
        assert_eq!(checksum(sizes().map(whole)), 11_833_813_302_179_341_226);

        for limit in [LEAF, 1_000, 32_768] {
            let in_parts = |n| {
                let mut ends = vec![0];
                subtrees(n, limit, &mut ends);
                join(n, limit, &mut ends.windows(2).map(|part| over(&draws[part[0]..part[1]])))
            };
            assert!(sizes().all(|n| in_parts(n) == whole(n)), "cut at {limit}");
        }
    }
}
