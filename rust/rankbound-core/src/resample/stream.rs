//! numpy's stream of random indices, drawn on several threads.
//!
//! `numpy.random.default_rng(seed).integers(0, bound, size)` takes PCG64's 64-bit words in halves, the
//! low half first, and maps each half by Lemire's multiplication, drawing again where a half would
//! bias the result (Lemire 2019, "Fast random integer generation in an interval"). Which halves are
//! refused depends on the half alone, so that workers can jump ahead to a chunk of words of their own
//! and keep what is accepted.

use multiversion::multiversion;
use rand_core::Rng;
use rand_pcg::Pcg64;

/// Generators a worker steps side by side: one alone would wait for its 128-bit product.
const LANES: usize = 4;
/// Halves of the words of a chunk: few enough for their indices to stay in the second-level cache until
/// they are read, many beside the some hundred words that jumping ahead to each lane costs.
pub(super) const CHUNK: usize = 1 << 14;
/// Words of a lane.
const LANE: usize = CHUNK / 2 / LANES;
/// Words of a lane that are mapped together, while they are in the first-level cache.
const WORDS: usize = 64;

/// numpy's PCG64 for `SeedSequence(seed).generate_state(4, uint64)`.
pub(super) fn pcg64(seed_words: [u64; 4]) -> Pcg64 {
    let [state_high, state_low, stream_high, stream_low] = seed_words.map(u128::from);
    Pcg64::new(state_high << 64 | state_low, stream_high << 64 | stream_low)
}

/// The indices of `default_rng(seed).integers(0, bound, ...)`, chunk by chunk.
pub(super) struct IndexStream {
    /// Stands before the first word.
    rng: Pcg64,
    range: Range,
}

impl IndexStream {
    /// The stream for numpy's `SeedSequence(seed).generate_state(4, uint64)` and a `bound` of at
    /// least 2 (for 1, numpy draws nothing).
    pub(super) fn new(seed_words: [u64; 4], bound: u32) -> Self {
        Self { rng: pcg64(seed_words), range: Range { bound, threshold: bound.wrapping_neg() % bound } }
    }

    /// Writes the indices of a chunk of words to the front of `out`, which has room for [`CHUNK`], and
    /// returns their number: fewer by the halves that are refused.
    pub(super) fn draw(&self, chunk: usize, out: &mut [u32]) -> usize {
        let mut rng = self.rng.clone();
        rng.advance((chunk * CHUNK / 2) as u128);
        let kept = draw_lanes(self.range, &rng, out);
        // Refused halves leave gaps behind the lanes.
        let mut end = kept[0];
        for (lane, kept) in kept.into_iter().enumerate().skip(1) {
            let start = lane * CHUNK / LANES;
            if start > end {
                out.copy_within(start..start + kept, end);
            }
            end += kept;
        }
        end
    }
}

/// Lemire's map of 32 random bits to `0..bound`.
#[derive(Clone, Copy)]
struct Range {
    bound: u32,
    /// `2^32 mod bound`, the number of halves too many: a product is refused if its low half is less.
    threshold: u32,
}

/// Fills `out` with the indices of the words that follow `start`, each lane of it from its own share
/// of the words, and returns how many each lane has kept.
#[multiversion(targets("x86_64+avx2+bmi2"))]
fn draw_lanes(range: Range, start: &Pcg64, out: &mut [u32]) -> [usize; LANES] {
    let mut rngs: [Pcg64; LANES] = std::array::from_fn(|lane| {
        let mut rng = start.clone();
        rng.advance((lane * LANE) as u128);
        rng
    });
    let mut raw = [[0; WORDS]; LANES];
    let mut kept = [0; LANES];
    for _ in 0..LANE / WORDS {
        for word in 0..WORDS {
            for (raw, rng) in raw.iter_mut().zip(&mut rngs) {
                raw[word] = rng.next_u64();
            }
        }
        for ((raw, out), kept) in raw.iter().zip(out.chunks_exact_mut(2 * LANE)).zip(&mut kept) {
            *kept += range.map(raw, &mut out[*kept..]);
        }
    }
    kept
}

impl Range {
    /// Maps both halves of the words, writes the accepted indices to the front of `out` and returns
    /// their number.
    #[expect(clippy::inline_always, reason = "to be compiled for the instructions of its caller")]
    #[inline(always)]
    fn map(self, words: &[u64; WORDS], out: &mut [u32]) -> usize {
        let mut lows = [u32::MAX; 2 * WORDS];
        let pairs = out.as_chunks_mut::<2>().0.iter_mut().zip(lows.as_chunks_mut::<2>().0);
        for (&word, (pair, lows)) in words.iter().zip(pairs) {
            let products = self.products(word);
            *pair = products.map(high);
            *lows = products.map(low);
        }
        if lows.into_iter().fold(u32::MAX, u32::min) >= self.threshold {
            return 2 * words.len();
        }
        // Refusals are rare unless the bound is huge: only then are the words mapped again.
        let mut kept = 0_usize;
        for product in words.iter().flat_map(|&word| self.products(word)) {
            out[kept] = high(product);
            kept = kept.wrapping_add(usize::from(low(product) >= self.threshold));
        }
        kept
    }

    fn products(self, word: u64) -> [u64; 2] {
        [low(word), high(word)].map(|half| u64::from(half) * u64::from(self.bound))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
fn low(word: u64) -> u32 {
    word as u32
}

fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SeedSequence(7).generate_state(4, uint64)` of numpy 2.4.6.
    const SEED_7: [u64; 4] =
        [16_920_295_385_781_661_272, 610_735_763_742_393_210, 7_078_124_019_849_193_311, 12_917_519_645_081_627_820];

    /// numpy's own loop: one half at a time, the high half kept back for the next call.
    fn one_by_one(bound: u32, n: usize) -> Vec<u32> {
        let mut rng = IndexStream::new(SEED_7, bound).rng;
        let mut high_half = None;
        let mut next = || {
            high_half.take().unwrap_or_else(|| {
                let word = rng.next_u64();
                high_half = Some(high(word));
                low(word)
            })
        };
        let index = |_| {
            loop {
                let product = u64::from(next()) * u64::from(bound);
                if u64::from(low(product)) >= (1 << 32) % u64::from(bound) {
                    return high(product);
                }
            }
        };
        (0..n).map(index).collect()
    }

    fn in_chunks(bound: u32, n_chunks: usize) -> Vec<u32> {
        let stream = IndexStream::new(SEED_7, bound);
        let mut out = vec![0; CHUNK];
        (0..n_chunks)
            .flat_map(|chunk| {
                let kept = stream.draw(chunk, &mut out);
                out[..kept].to_vec()
            })
            .collect()
    }

    #[test]
    fn refused_draws_are_numpys() {
        let numpy: Vec<u32> =
            include_str!("../../tests/data/indices_3e9_seed_7.txt").lines().flat_map(str::parse).collect();
        assert_eq!(numpy.len(), 400);
        assert_eq!(one_by_one(3_000_000_000, 400), numpy);
        assert_eq!(in_chunks(3_000_000_000, 1)[..400], numpy);
    }

    #[test]
    fn chunks_and_lanes_leave_the_stream_as_it_is() {
        for bound in [2, 3, 7, 65_536, 1_000_000, (1 << 31) + 1, 3_000_000_000, u32::MAX] {
            let indices = in_chunks(bound, 5);
            assert!(one_by_one(bound, indices.len()) == indices, "{bound}");
            assert!(2 * indices.len() > 4 * CHUNK, "{bound}");
        }
    }
}
