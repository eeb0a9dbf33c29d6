//! numpy's stream of random indices, drawn on several threads.
//!
//! `numpy.random.default_rng(seed).integers(0, bound, size)` takes PCG64's 64-bit words in halves, the
//! low half first, and maps each half by Lemire's multiplication, drawing again where a half would
//! bias the result (Lemire 2019, "Fast random integer generation in an interval"). Which halves are
//! refused depends on the half alone, so they can be mapped in any order: workers jump ahead to their
//! own words and keep what is accepted, and [`Draws`] reads the runs they leave one after the other.

use multiversion::multiversion;
use rand_core::Rng;
use rand_pcg::Pcg64;

use super::draws::Draws;
use crate::error::Result;
use crate::par::Par;

/// Generators a worker steps side by side: one alone would wait for its 128-bit product.
const LANES: usize = 4;
/// Indices of a full row of lanes; what is drawn is rounded up to it.
const ROW: usize = 2 * LANES;
/// Indices of one task; jumping ahead to it costs about as much as a hundred of them.
const TASK: usize = ROW << 12;
/// Words of a lane that are mapped together, while they are in the first-level cache.
const WORDS: usize = 64;

/// numpy's PCG64 for `SeedSequence(seed).generate_state(4, uint64)`.
pub(super) fn pcg64(seed_words: [u64; 4]) -> Pcg64 {
    let [state_high, state_low, stream_high, stream_low] = seed_words.map(u128::from);
    Pcg64::new(state_high << 64 | state_low, stream_high << 64 | stream_low)
}

/// The indices of `default_rng(seed).integers(0, bound, ...)`, in order.
pub(super) struct IndexStream {
    /// Stands before the first word that is not used yet.
    rng: Pcg64,
    range: Range,
    draws: Draws,
    /// Indices drawn already for the next call: fewer than a row.
    spare: Vec<u32>,
}

impl IndexStream {
    /// The stream for numpy's `SeedSequence(seed).generate_state(4, uint64)` and a `bound` of at
    /// least 2 (for 1, numpy draws nothing).
    pub(super) fn new(seed_words: [u64; 4], bound: u32) -> Self {
        Self {
            rng: pcg64(seed_words),
            range: Range { bound, threshold: bound.wrapping_neg() % bound },
            draws: Draws::default(),
            spare: Vec::new(),
        }
    }

    /// The next `n` indices.
    pub(super) fn draw(&mut self, par: &mut Par<'_>, n: usize) -> Result<&Draws> {
        self.draws.restart(&self.spare, n + ROW);
        // Each round draws what the refusals of the round before have left open, so that it never
        // overshoots by a full row.
        while self.draws.len() < n {
            let missing = (n - self.draws.len()).next_multiple_of(ROW);
            let mut kept = vec![[0; LANES]; missing.div_ceil(TASK)];
            let (start, range) = (&self.rng, self.range);
            let work = |(): &mut (), (index, (out, kept)): (usize, (&mut [u32], &mut [usize; LANES]))| {
                let mut rng = start.clone();
                rng.advance((index * TASK / 2) as u128);
                *kept = draw_lanes(range, &rng, out);
                Ok(())
            };
            let mut tasks = self.draws.room(missing).chunks_mut(TASK).zip(&mut kept).enumerate();
            if missing <= TASK {
                // Not worth a thread: the last few draws, or a small bootstrap.
                tasks.try_for_each(|task| work(&mut (), task))?;
            } else {
                par.run(tasks, || (), work)?;
            }
            self.rng.advance((missing / 2) as u128);
            for (task, kept) in kept.into_iter().enumerate() {
                let lane_room = TASK.min(missing - task * TASK) / LANES;
                for len in kept {
                    self.draws.push(len, lane_room);
                }
            }
        }
        let surplus = self.draws.len() - n;
        self.spare.clear();
        self.spare.extend_from_slice(self.draws.cursor(n).take(surplus));
        Ok(&self.draws)
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
    let words = out.len() / ROW;
    let mut rngs: [Pcg64; LANES] = std::array::from_fn(|lane| {
        let mut rng = start.clone();
        rng.advance((lane * words) as u128);
        rng
    });
    let mut raw = [[0; WORDS]; LANES];
    let mut kept = [0; LANES];
    for done in (0..words).step_by(WORDS) {
        let now = WORDS.min(words - done);
        // The words behind `now` are stepped for nothing, which is cheaper than a loop of unknown
        // length; it can only be the last round.
        for word in 0..WORDS {
            for (raw, rng) in raw.iter_mut().zip(&mut rngs) {
                raw[word] = rng.next_u64();
            }
        }
        for ((raw, out), kept) in raw.iter().zip(out.chunks_exact_mut(2 * words)).zip(&mut kept) {
            *kept += range.map(&raw[..now], &mut out[*kept..]);
        }
    }
    kept
}

impl Range {
    /// Maps both halves of up to [`WORDS`] words, writes the accepted indices to the front of `out` and
    /// returns their number.
    #[expect(clippy::inline_always, reason = "to be compiled for the instructions of its caller")]
    #[inline(always)]
    fn map(self, words: &[u64], out: &mut [u32]) -> usize {
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

    fn in_batches(bound: u32, n: usize, batch: usize, num_threads: usize) -> Vec<u32> {
        let mut stream = IndexStream::new(SEED_7, bound);
        let mut indices = Vec::new();
        while indices.len() < n {
            let now = batch.min(n - indices.len());
            let drawn: Result<()> = Par::unwatched(num_threads, |par| {
                let mut cursor = stream.draw(par, now)?.cursor(0);
                for start in (0..now).step_by(100) {
                    indices.extend_from_slice(cursor.take(100.min(now - start)));
                }
                Ok(())
            });
            assert_eq!(drawn, Ok(()));
        }
        indices
    }

    #[test]
    fn refused_draws_are_numpys() {
        let numpy: Vec<u32> =
            include_str!("../../tests/data/indices_3e9_seed_7.txt").lines().flat_map(str::parse).collect();
        assert_eq!(numpy.len(), 400);
        assert_eq!(one_by_one(3_000_000_000, 400), numpy);
        assert_eq!(in_batches(3_000_000_000, 400, 400, 1), numpy);
    }

    #[test]
    fn threads_and_batches_leave_the_stream_as_it_is() {
        for bound in [2, 3, 7, 65_536, 1_000_000, (1 << 31) + 1, 3_000_000_000, u32::MAX] {
            let (long, short) = (one_by_one(bound, 300_001), 2_001);
            for num_threads in [1, 2, 16] {
                for batch in [300_001, 100_003, 77_777] {
                    assert!(in_batches(bound, 300_001, batch, num_threads) == long, "{bound} {num_threads} {batch}");
                }
            }
            for batch in [1, 7, 8, 9, 1023] {
                assert!(in_batches(bound, short, batch, 2) == long[..short], "{bound} {batch}");
            }
        }
    }
}
