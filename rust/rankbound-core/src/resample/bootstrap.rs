//! The paired cluster bootstrap of ratios of sums.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::pairwise::{join, subtrees};
use super::panel::Panel;
use super::percentile::percentile_limits;
use super::stream::{CHUNK, IndexStream};
use crate::error::{Error, Result};
use crate::par::Par;

/// Draws that are summed together at most: few beside a chunk, which hands on those of a block it
/// does not complete.
const BLOCK: usize = 1 << 12;

/// A paired percentile bootstrap over units: all series see the same draws.
///
/// A unit (a user, an entity, or a single list) is drawn with all its lists. A replicate of a series
/// is `sum(series[draws]) / sum(counts[draws])`, equal in every bit to what
/// `scipy.stats.bootstrap((series, counts), ratio, paired=True, vectorized=True, rng=default_rng(seed))`
/// holds in `bootstrap_distribution`, where `ratio` divides the two `sum(axis=-1)`.
#[derive(Debug, Clone, Copy)]
pub struct Bootstrap<'a> {
    /// Sums of each metric over each unit's lists, one slice a metric.
    pub series: &'a [&'a [f64]],
    /// Number of lists of each unit; `None` if each has one.
    pub counts: Option<&'a [f64]>,
    /// numpy's `SeedSequence(seed).generate_state(4, uint64)`.
    pub seed_words: [u64; 4],
    /// Number of resamples.
    pub n_resamples: usize,
}

impl Bootstrap<'_> {
    /// The replicates of every series, in the order of the draws.
    ///
    /// The tick of `par` is told the number of finished resamples.
    ///
    /// # Errors
    /// [`Error::Shape`] if the series have fewer than 2 units, more than numpy draws from 32 bits,
    /// or different lengths; [`Error::Interrupted`].
    pub fn ratios(&self, par: &mut Par<'_>) -> Result<Vec<Vec<f64>>> {
        let Some(first) = self.series.first() else { return Ok(Vec::new()) };
        let n_units = self.check(first.len())?;
        let columns: Vec<&[f64]> = self.series.iter().copied().chain(self.counts).collect();
        let panels = Panel::lay_out(&columns);
        let blocks = Blocks::new(first.len(), self.n_resamples);
        let sums = blocks.sums(par, &IndexStream::new(self.seed_words, n_units), &panels, columns.len())?;
        let ratios_of = |resample: &[f64]| {
            let sum = |column| blocks.join(resample.iter().skip(column).step_by(columns.len()).copied());
            // Without counts numpy would sum ones, which is exact.
            let count = self.counts.map_or(f64::from(n_units), |_| sum(self.series.len()));
            (0..self.series.len()).map(|column| sum(column) / count).collect::<Vec<_>>()
        };
        let mut ratios = vec![Vec::with_capacity(self.n_resamples); self.series.len()];
        for resample in sums.chunks_exact(blocks.per_resample() * columns.len()) {
            for (ratios, ratio) in ratios.iter_mut().zip(ratios_of(resample)) {
                ratios.push(ratio);
            }
        }
        Ok(ratios)
    }

    /// Percentile limits of every series, then of every gap `(a, b)`: the replicates of series `a`
    /// minus those of series `b`, draw by draw.
    ///
    /// # Errors
    /// As [`Bootstrap::ratios`], and [`Error::Shape`] if a gap names no series.
    pub fn limits(&self, par: &mut Par<'_>, gaps: &[(usize, usize)], confidence_level: f64) -> Result<Vec<(f64, f64)>> {
        let n_series = self.series.len();
        if let Some((a, b)) = gaps.iter().find(|(a, b)| a.max(b) >= &n_series) {
            return Err(Error::Shape(format!("gaps names the series ({a}, {b}), but there are {n_series}")));
        }
        let ratios = self.ratios(par)?;
        let of_gap =
            |&(a, b): &(usize, usize)| -> Vec<f64> { ratios[a].iter().zip(&ratios[b]).map(|(a, b)| a - b).collect() };
        let of_series = ratios.iter().map(|replicates| percentile_limits(replicates, confidence_level));
        Ok(of_series.chain(gaps.iter().map(|gap| percentile_limits(&of_gap(gap), confidence_level))).collect())
    }

    /// The number of units, if all arguments have that many.
    fn check(&self, n_units: usize) -> Result<u32> {
        for (index, series) in self.series.iter().enumerate() {
            if series.len() != n_units {
                let found = series.len();
                return Err(Error::Shape(format!("series {index} has {found} units, series 0 has {n_units}")));
            }
        }
        if let Some(found) = self.counts.map(<[f64]>::len).filter(|&found| found != n_units) {
            return Err(Error::Shape(format!("counts has {found} units, series 0 has {n_units}")));
        }
        u32::try_from(n_units)
            .ok()
            .filter(|&n_units| n_units >= 2)
            .ok_or_else(|| Error::Shape(format!("series has {n_units} units: a bootstrap needs 2 to {}", u32::MAX)))
    }
}

/// All resamples in the order of their draws, cut into subtrees of numpy's sums.
struct Blocks {
    n_units: usize,
    n_resamples: usize,
    /// Where the blocks of a resample start, and its end.
    bounds: Vec<usize>,
}

/// A chunk of the stream. Which draws its indices are is known when the chunk before has been drawn,
/// which a worker does before it sums.
struct Chunk {
    index: usize,
    before: Receiver<Carry>,
    after: SyncSender<Carry>,
}

/// What a chunk leaves to the next.
struct Carry {
    /// The first block that is not complete.
    block: usize,
    /// Its draws so far.
    draws: Vec<u32>,
}

impl Blocks {
    fn new(n_units: usize, n_resamples: usize) -> Self {
        let mut bounds = vec![0];
        subtrees(n_units, BLOCK, &mut bounds);
        Self { n_units, n_resamples, bounds }
    }

    fn per_resample(&self) -> usize {
        self.bounds.len() - 1
    }

    fn len(&self) -> usize {
        self.n_resamples * self.per_resample()
    }

    fn length(&self, block: usize) -> usize {
        let place = block % self.per_resample();
        self.bounds[place + 1] - self.bounds[place]
    }

    /// The sums of every column over the draws of every block.
    fn sums(&self, par: &mut Par<'_>, stream: &IndexStream, panels: &[Panel], n_columns: usize) -> Result<Vec<f64>> {
        let is_drawn = AtomicBool::new(self.n_resamples == 0);
        let (start, mut before) = sync_channel(1);
        let _ = start.send(Carry { block: 0, draws: Vec::new() });
        let chunks = (0..).take_while(|_| !is_drawn.load(Ordering::Relaxed)).map(|index| {
            let (after, next) = sync_channel(1);
            Chunk { index, before: std::mem::replace(&mut before, next), after }
        });
        let make = || (vec![0; BLOCK + CHUNK], Vec::new());
        let work = |(buffer, sums): &mut (Vec<u32>, Vec<(usize, Vec<f64>)>), chunk: Chunk| {
            let (before, drawn) = buffer.split_at_mut(BLOCK);
            let end = BLOCK + stream.draw(chunk.index, drawn);
            // A chunk that failed hands nothing on.
            let Carry { block: first, draws } = chunk.before.recv().map_err(|_| Error::Interrupted)?;
            let start = BLOCK - draws.len();
            before[start..].copy_from_slice(&draws);
            let mut rest = &buffer[start..end];
            let complete = (first..self.len()).map_while(|block| rest.split_off(..self.length(block)));
            let complete: Vec<&[u32]> = complete.collect();
            let block = first + complete.len();
            if block == self.len() {
                is_drawn.store(true, Ordering::Relaxed);
            }
            // Nobody waits behind the last block.
            let _ = chunk.after.send(Carry { block, draws: rest[..rest.len().min(BLOCK)].to_vec() });
            let mut of_blocks = vec![0.0; complete.len() * n_columns];
            for (draws, mut of_block) in complete.into_iter().zip(of_blocks.chunks_exact_mut(n_columns)) {
                for panel in panels {
                    panel.sums(draws, of_block.split_off_mut(..panel.n_series()).unwrap_or_default());
                }
            }
            sums.push((first, of_blocks));
            Ok(())
        };
        let (n_units, n_resamples) = (self.n_units, self.n_resamples);
        let workers =
            par.told_as(|chunks| n_resamples.min(chunks * CHUNK / n_units), |par| par.run(chunks, make, work))?;
        let mut sums = vec![0.0; self.len() * n_columns];
        for (first, of_blocks) in workers.into_iter().flat_map(|(_, sums)| sums) {
            sums[first * n_columns..][..of_blocks.len()].copy_from_slice(&of_blocks);
        }
        Ok(sums)
    }

    fn join(&self, mut sums: impl Iterator<Item = f64>) -> f64 {
        // numpy adds the row to an initial 0.0, so that no sum is -0.0.
        0.0 + join(self.n_units, BLOCK, &mut sums)
    }
}
