//! Score matrix in, placements and catalogue sums out, in one pass over each row.

use ndarray::ArrayView2;

use super::ranker::{Desk, List, Prepared, Sums};
use super::{Placement, Ranker};
use crate::aggregate::{CatalogueSums, Fixed};
use crate::error::{Error, Result};
use crate::input::{Element, Masks, Row, RowReader};
use crate::kernel::{Kernel, column};
use crate::par::Par;

/// Scores handed to a worker at once: enough to hide the hand-over, few enough to share evenly.
const SCORES_PER_TASK: usize = 1 << 18;

/// Which rows are graded, against what.
#[derive(Debug, Clone, Copy)]
pub struct Grading<'a> {
    /// Row of the matrix of each graded list.
    pub rows: &'a [usize],
    /// Column of each list's truth; `None` if it is no column.
    pub truths: &'a [Option<u32>],
    /// Whether each list counts for the catalogue; all do if not given. Lists served together are
    /// counted once.
    pub exposed: Option<&'a [bool]>,
}

/// How a scan is made.
#[derive(Debug, Clone, Copy)]
pub struct ScanOptions<'a> {
    /// Cut-off of the catalogue sums, at least 1.
    pub k: usize,
    /// Scores that are not candidates.
    pub masks: Masks<'a>,
}

/// What a scan finds for one ranker.
#[derive(Debug, Clone)]
pub struct Block {
    /// Placement of each list's truth.
    pub placements: Vec<Placement>,
    /// Exposure and coverage by the top K.
    pub catalogue: CatalogueSums,
    /// Lists whose top K depends on the order of equal scores.
    pub n_tied_at_cut: u64,
    /// Disparity of the exposure of each list that counts for the catalogue, discounted by
    /// `1 / log2(1 + rank)`: their sum.
    pub disparity: Fixed,
}

/// What a scan finds.
#[derive(Debug, Clone)]
pub struct Scan {
    /// One entry per ranker, in their order.
    pub blocks: Vec<Block>,
    /// Number of candidates of each list.
    pub n_candidates: Vec<u32>,
    /// The catalogue sums of a ranker without preference over the same candidates.
    pub uniform: CatalogueSums,
    /// Lists whose truth is a column but masked; they are misses.
    pub n_masked_truth: u64,
}

/// Reads each graded row once and lets every ranker order its candidates.
///
/// # Errors
/// The first score, in the order of the lists, that cannot be ranked; [`Error::Shape`] if sizes
/// contradict one another; [`Error::Parameter`] for a cut-off of 0; [`Error::Interrupted`].
#[expect(clippy::missing_panics_doc, reason = "there is always a worker")]
pub fn scan<E>(
    par: &mut Par<'_>,
    matrix: &ArrayView2<'_, E>,
    grading: &Grading<'_>,
    rankers: &[Ranker],
    options: &ScanOptions<'_>,
) -> Result<Scan>
where
    E: Element,
    E::Native: Kernel,
{
    let n_classes = matrix.ncols();
    check_sizes(matrix.nrows(), n_classes, grading, rankers, options)?;
    let k = options.k.min(n_classes);
    let (n_lists, n_rankers) = (grading.rows.len(), rankers.len());
    let prepared = Prepared::new::<E::Native>(rankers, n_classes, k);
    let mut placements = vec![Placement::MISS; n_lists * n_rankers];
    let mut n_candidates = vec![0; n_lists];
    let per_task = lists_per_task(n_classes);
    let tasks = placements
        .chunks_mut(per_task * n_rankers)
        .zip(n_candidates.chunks_mut(per_task))
        .zip((0..n_lists).step_by(per_task));
    let workers = par.run(
        tasks,
        || Worker::<E::Native>::new(n_classes, n_rankers),
        |worker, ((placements, n_candidates), first)| {
            worker.reader.load(matrix, &grading.rows[first..first + n_candidates.len()])?;
            let outputs = placements.chunks_mut(n_rankers).zip(n_candidates);
            for (position, (placements, n_candidates)) in outputs.enumerate() {
                let index = first + position;
                let place = (position, index, grading.rows[index]);
                let row = worker.reader.row(matrix, place, &options.masks)?;
                *n_candidates = column(n_classes - row.masked.len());
                worker.tally.grade(&row, index, grading, &prepared, placements)?;
            }
            Ok(())
        },
    )?;
    let mut tallies = workers.into_iter().map(|worker| worker.tally);
    let first = tallies.next().expect("at least one worker");
    let tally = tallies.fold(first, |sum, other| sum.merge(&other));
    let blocks =
        tally.sums.into_iter().enumerate().map(|(ranker, sums)| {
            sums.into_block(placements.iter().skip(ranker).step_by(n_rankers).copied().collect())
        });
    Ok(Scan { blocks: blocks.collect(), n_candidates, uniform: tally.uniform, n_masked_truth: tally.n_masked_truth })
}

/// How many lists a worker takes at once.
pub fn lists_per_task(n_classes: usize) -> usize {
    (SCORES_PER_TASK / n_classes.max(1)).clamp(1, 4096)
}

fn check_sizes(
    n_rows: usize,
    n_classes: usize,
    grading: &Grading<'_>,
    rankers: &[Ranker],
    options: &ScanOptions<'_>,
) -> Result<()> {
    let n_lists = grading.rows.len();
    let refuse = |message: String| Err(Error::Shape(message));
    if n_rows == 0 || n_classes == 0 || u32::try_from(n_classes).is_err() {
        return refuse(format!("proba of {n_rows} rows and {n_classes} columns cannot be ranked"));
    }
    if options.k == 0 {
        return Err(Error::Parameter("k must be at least 1, got 0".into()));
    }
    if let Some(exclude) = &options.masks.exclude {
        exclude.check_sizes(n_lists, (n_rows, n_classes))?;
    }
    if grading.truths.len() != n_lists || grading.exposed.is_some_and(|exposed| exposed.len() != n_lists) {
        return refuse(format!("{n_lists} rows to grade, but another number of truths or flags"));
    }
    if let Some(row) = grading.rows.iter().find(|row| **row >= n_rows) {
        return refuse(format!("row {row} is to be graded, but proba has {n_rows} rows"));
    }
    if let Some(truth) = grading.truths.iter().flatten().find(|truth| **truth as usize >= n_classes) {
        return refuse(format!("truth {truth} is no column: proba has {n_classes} columns"));
    }
    for ranker in rankers {
        let n_own = match ranker {
            Ranker::Model(transform) => transform.n_classes().unwrap_or(n_classes),
            Ranker::Popularity(popularity) if popularity.n_lists() != n_lists => {
                return refuse(format!("popularity of {} lists for {n_lists}", popularity.n_lists()));
            }
            Ranker::Popularity(popularity) if popularity.k() != options.k => {
                return refuse(format!("popularity of the top {} in a scan of the top {}", popularity.k(), options.k));
            }
            Ranker::Popularity(popularity) => popularity.n_classes(),
        };
        if n_own != n_classes {
            return refuse(format!("a ranker of {n_own} classes cannot rank {n_classes} columns"));
        }
    }
    if rankers.is_empty() { refuse("there is no ranker".into()) } else { Ok(()) }
}

struct Worker<T> {
    reader: RowReader<T>,
    tally: Tally<T>,
}

impl<T: Kernel> Worker<T> {
    fn new(n_classes: usize, n_rankers: usize) -> Self {
        let tally = Tally {
            sums: vec![Sums::new(n_classes); n_rankers],
            uniform: CatalogueSums::new(n_classes),
            n_masked_truth: 0,
            desk: Desk::new(n_classes),
        };
        Self { reader: RowReader::default(), tally }
    }
}

/// What one worker has added up.
struct Tally<T> {
    sums: Vec<Sums>,
    uniform: CatalogueSums,
    n_masked_truth: u64,
    desk: Desk<T>,
}

impl<T: Kernel> Tally<T> {
    /// Lets every ranker order the candidates of one list.
    fn grade(
        &mut self,
        row: &Row<'_, T>,
        index: usize,
        grading: &Grading<'_>,
        prepared: &Prepared<'_>,
        placements: &mut [Placement],
    ) -> Result<()> {
        let named = grading.truths[index];
        let truth = named.filter(|truth| row.masked.binary_search(truth).is_err());
        self.n_masked_truth += u64::from(named.is_some() && truth.is_none());
        let exposed = grading.exposed.is_none_or(|exposed| exposed[index]);
        if exposed {
            self.uniform.add_uniform(row.masked, prepared.k);
        }
        let list = List { index, row: grading.rows[index], truth, exposed };
        self.desk.read(prepared, row, &list);
        for ((ready, sums), placement) in prepared.rankers.iter().zip(&mut self.sums).zip(placements) {
            *placement = self.desk.rank((prepared, ready), row, &list, sums)?;
        }
        Ok(())
    }

    fn merge(mut self, other: &Self) -> Self {
        self.sums.iter_mut().zip(&other.sums).for_each(|(mine, theirs)| mine.merge(theirs));
        self.uniform.merge(&other.uniform);
        self.n_masked_truth += other.n_masked_truth;
        self
    }
}
