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
        let [state_high, state_low, stream_high, stream_low] = seed_words.map(u128::from);
        Self {
            rng: Pcg64::new(state_high << 64 | state_low, stream_high << 64 | stream_low),
            range: Range { bound: u64::from(bound), threshold: bound.wrapping_neg() % bound },
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
            let work = |index: usize, out: &mut [u32], kept: &mut [usize; LANES]| {
                let mut rng = start.clone();
                rng.advance((index * TASK / 2) as u128);
                *kept = draw_lanes(range, &rng, out);
            };
            let tasks = self.draws.room(missing).chunks_mut(TASK).zip(&mut kept).enumerate();
            if missing <= TASK {
                tasks.for_each(|(index, (out, kept))| work(index, out, kept));
            } else {
                par.run(
                    tasks,
                    || (),
                    |(), (index, (out, kept))| {
                        work(index, out, kept);
                        Ok(())
                    },
                )?;
            }
            self.rng.advance((missing / 2) as u128);
            for (task, kept) in kept.into_iter().enumerate() {
                let lane_room = TASK.min(missing - task * TASK) / LANES;
                kept.into_iter().for_each(|len| self.draws.push(len, lane_room));
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
    bound: u64,
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
    /// Maps both halves of every word, writes the accepted indices to the front of `out` and
    /// returns their number.
    #[expect(clippy::inline_always, reason = "to be compiled for the instructions of its caller")]
    #[inline(always)]
    fn map(self, words: &[u64], out: &mut [u32]) -> usize {
        let mut least = u32::MAX;
        for (&word, pair) in words.iter().zip(out.as_chunks_mut::<2>().0) {
            let products = self.products(word);
            *pair = products.map(high);
            least = products.map(low).into_iter().fold(least, u32::min);
        }
        if least >= self.threshold {
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
        [low(word), high(word)].map(|half| u64::from(half).wrapping_mul(self.bound))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
fn low(word: u64) -> u32 {
    word as u32
}

fn high(word: u64) -> u32 {
    (word >> 32) as u32
}
