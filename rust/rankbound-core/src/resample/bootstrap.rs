//! The paired cluster bootstrap of ratios of sums.

use std::time::Instant;

use super::draws::Draws;
use super::pairwise::{LEAF, join, subtrees};
use super::panel::Panel;
use super::percentile::percentile_limits;
use super::stream::IndexStream;
use crate::error::{Error, Result};
use crate::par::{Par, TICK};

/// Draws of one task: enough to make the hand-over of tasks cheap.
const TASK: usize = 1 << 15;
/// Draws held at once for each thread, and at most: 2 MiB stay near the core that wrote them, and
/// outweigh starting the thread.
const BATCH_OF_THREAD: usize = 1 << 19;
const BATCH: usize = 1 << 22;

const _: () = assert!(LEAF <= TASK && TASK <= BATCH_OF_THREAD, "a task holds whole leaves, a batch whole tasks");

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
        let blocks = Blocks::new(first.len(), par.num_threads);
        let n_blocks = self.n_resamples * blocks.per_resample();
        let mut stream = IndexStream::new(self.seed_words, n_units);
        let mut ratios = vec![Vec::new(); self.series.len()];
        let mut pending = Vec::new();
        let mut last_tick = Instant::now();
        for start in (0..n_blocks).step_by(blocks.per_batch) {
            let end = n_blocks.min(start + blocks.per_batch);
            let mut finished = |tasks| (par.tick)(end.min(start + tasks * blocks.per_task) / blocks.per_resample());
            let n_draws = blocks.start(end) - blocks.start(start);
            let draws = stream.draw(&mut Par { num_threads: par.num_threads, tick: &mut |_| finished(0) }, n_draws)?;

            let mut sums = vec![0.0; (end - start) * columns.len()];
            let tasks = sums.chunks_mut(blocks.per_task * columns.len()).enumerate();
            let watched = &mut Par { num_threads: par.num_threads, tick: &mut finished };
            let sum_task = |(): &mut (), (task, sums): (usize, &mut [f64])| {
                for (block, sums) in (start + task * blocks.per_task..).zip(sums.chunks_mut(columns.len())) {
                    let position = blocks.start(block) - blocks.start(start);
                    sum_panels(&panels, draws, position, blocks.length(block), sums);
                }
                Ok(())
            };
            watched.run(tasks, || (), sum_task)?;

            // A batch may end inside a resample, whose first blocks then wait for the others.
            pending.append(&mut sums);
            let resamples = pending.chunks_exact(blocks.per_resample() * columns.len());
            let waiting = resamples.remainder().len();
            for resample in resamples {
                let sum = |column| blocks.join(resample.iter().skip(column).step_by(columns.len()).copied());
                // Without counts numpy would sum ones, which is exact.
                let count = self.counts.map_or(f64::from(n_units), |_| sum(self.series.len()));
                for (column, ratios) in ratios.iter_mut().enumerate() {
                    ratios.push(sum(column) / count);
                }
            }
            pending.drain(..pending.len() - waiting);

            // The parallel runs of a batch may all be too short to be watched.
            if last_tick.elapsed() >= TICK {
                last_tick = Instant::now();
                if (par.tick)(end / blocks.per_resample()).is_break() {
                    return Err(Error::Interrupted);
                }
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

/// Sums of every column over the `length` draws from `position` on.
fn sum_panels(panels: &[Panel], draws: &Draws, position: usize, length: usize, mut sums: &mut [f64]) {
    let cursor = draws.cursor(position);
    for panel in panels {
        let (of_panel, rest) = sums.split_at_mut(panel.n_series());
        panel.sums(&mut cursor.clone(), length, of_panel);
        sums = rest;
    }
}

/// All resamples in the order of their draws, cut into subtrees of numpy's sums: a long resample is
/// summed by several threads, and the indices held at once do not grow with the number of units.
struct Blocks {
    n_units: usize,
    /// Where the blocks of a resample start, and its end.
    bounds: Vec<usize>,
    per_task: usize,
    per_batch: usize,
}

impl Blocks {
    fn new(n_units: usize, num_threads: usize) -> Self {
        let mut bounds = vec![0];
        subtrees(n_units, TASK, &mut bounds);
        let per_task = (TASK / n_units).max(1);
        let batch = BATCH.min(num_threads.max(1) * BATCH_OF_THREAD);
        let per_batch = (batch / n_units.min(TASK)).next_multiple_of(per_task);
        Self { n_units, bounds, per_task, per_batch }
    }

    fn per_resample(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Position in the stream of the first draw of a block.
    fn start(&self, block: usize) -> usize {
        block / self.per_resample() * self.n_units + self.bounds[block % self.per_resample()]
    }

    fn length(&self, block: usize) -> usize {
        self.start(block + 1) - self.start(block)
    }

    fn join(&self, mut sums: impl Iterator<Item = f64>) -> f64 {
        // numpy adds the row to an initial 0.0, so that no sum is -0.0.
        0.0 + join(self.n_units, TASK, &mut sums)
    }
}
