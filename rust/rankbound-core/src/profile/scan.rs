//! Score matrix in, placements and catalogue sums out, in one pass over each row.

use ndarray::ArrayView2;

use super::Placement;
use crate::adjust::Transform;
use crate::aggregate::CatalogueSums;
use crate::error::{Error, Result};
use crate::input::{Element, Masks, Row, RowReader, check_finite};
use crate::kernel::{Kernel, TopK};
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

/// What a scan finds for one transform of the scores.
#[derive(Debug, Clone)]
pub struct Block {
    /// Placement of each list's truth.
    pub placements: Vec<Placement>,
    /// Exposure and coverage by the top K.
    pub catalogue: CatalogueSums,
    /// Lists whose top K depends on the order of equal scores.
    pub n_tied_at_cut: u64,
}

/// What a scan finds.
#[derive(Debug, Clone)]
pub struct Scan {
    /// One entry per transform, in their order.
    pub blocks: Vec<Block>,
    /// Number of candidates of each list.
    pub n_candidates: Vec<u32>,
    /// The catalogue sums of a ranker without preference over the same candidates.
    pub uniform: CatalogueSums,
    /// Lists whose truth is a column but masked; they are misses.
    pub n_masked_truth: u64,
}

/// Reads each graded row once and ranks it under every transform.
///
/// # Errors
/// The first score, in row order, that cannot be ranked; [`Error::Shape`] if sizes contradict one
/// another; [`Error::Interrupted`].
pub fn scan<E>(
    par: &mut Par<'_>,
    matrix: &ArrayView2<'_, E>,
    grading: &Grading<'_>,
    transforms: &[Transform],
    options: &ScanOptions<'_>,
) -> Result<Scan>
where
    E: Element,
    E::Native: Kernel,
{
    let n_classes = matrix.ncols();
    check_sizes(matrix.nrows(), n_classes, grading)?;
    let n_lists = grading.rows.len();
    let mut placements = vec![Placement::MISS; n_lists * transforms.len()];
    let mut n_candidates = vec![0; n_lists];
    let per_task = (SCORES_PER_TASK / n_classes).clamp(1, 4096);
    let tasks = placements
        .chunks_mut((per_task * transforms.len()).max(1))
        .zip(n_candidates.chunks_mut(per_task))
        .zip((0..n_lists).step_by(per_task));
    let workers = par.run(
        tasks,
        || Worker::<E::Native>::new(n_classes, transforms.len()),
        |worker, ((placements, n_candidates), first)| {
            let lists = first..first + n_candidates.len();
            worker.reader.load(matrix, &grading.rows[lists.clone()])?;
            let outputs = placements.chunks_mut(transforms.len()).zip(n_candidates);
            for ((position, list), (placements, n_candidates)) in lists.enumerate().zip(outputs) {
                let row = worker.reader.row(matrix, position, grading.rows[list], &options.masks)?;
                *n_candidates = (n_classes - row.masked.len()) as u32;
                let list = List {
                    row: grading.rows[list],
                    truth: grading.truths[list],
                    exposed: grading.exposed.is_none_or(|exposed| exposed[list]),
                };
                worker.sums.grade(&row, &list, transforms, options.k, placements)?;
            }
            Ok(())
        },
    )?;
    let sums = workers.into_iter().map(|worker| worker.sums).reduce(Sums::merge).expect("at least one worker");
    let blocks = sums.tops.into_iter().enumerate().map(|(index, (catalogue, n_tied_at_cut))| Block {
        placements: placements.iter().skip(index).step_by(transforms.len()).copied().collect(),
        catalogue,
        n_tied_at_cut,
    });
    Ok(Scan { blocks: blocks.collect(), n_candidates, uniform: sums.uniform, n_masked_truth: sums.n_masked_truth })
}

fn check_sizes(n_rows: usize, n_classes: usize, grading: &Grading<'_>) -> Result<()> {
    if n_rows == 0 || n_classes == 0 || u32::try_from(n_classes).is_err() {
        return Err(Error::Shape(format!("proba of {n_rows} rows and {n_classes} columns cannot be ranked")));
    }
    let n_lists = grading.rows.len();
    if grading.truths.len() != n_lists || grading.exposed.is_some_and(|exposed| exposed.len() != n_lists) {
        return Err(Error::Shape(format!("{n_lists} rows to grade, but another number of truths or flags")));
    }
    if let Some(row) = grading.rows.iter().find(|row| **row >= n_rows) {
        return Err(Error::Shape(format!("row {row} is to be graded, but proba has {n_rows} rows")));
    }
    if let Some(truth) = grading.truths.iter().flatten().find(|truth| **truth as usize >= n_classes) {
        return Err(Error::Shape(format!("truth {truth} is no column: proba has {n_classes} columns")));
    }
    Ok(())
}

/// One list to grade.
struct List {
    row: usize,
    truth: Option<u32>,
    exposed: bool,
}

struct Worker<T> {
    reader: RowReader<T>,
    sums: Sums<T>,
}

impl<T: Kernel> Worker<T> {
    fn new(n_classes: usize, n_transforms: usize) -> Self {
        Self { reader: RowReader::default(), sums: Sums::new(n_classes, n_transforms) }
    }
}

/// What one worker has added up, with its buffers.
struct Sums<T> {
    tops: Vec<(CatalogueSums, u64)>,
    uniform: CatalogueSums,
    n_masked_truth: u64,
    native: Ranker<T>,
    transformed: Ranker<f64>,
    scores: Vec<f64>,
}

impl<T: Kernel> Sums<T> {
    fn new(n_classes: usize, n_transforms: usize) -> Self {
        Self {
            tops: vec![(CatalogueSums::new(n_classes), 0); n_transforms],
            uniform: CatalogueSums::new(n_classes),
            n_masked_truth: 0,
            native: Ranker::default(),
            transformed: Ranker::default(),
            scores: vec![0.0; n_classes],
        }
    }

    /// Ranks one row under every transform.
    fn grade(
        &mut self,
        row: &Row<'_, T>,
        list: &List,
        transforms: &[Transform],
        k: usize,
        placements: &mut [Placement],
    ) -> Result<()> {
        let is_masked = |truth: &u32| row.masked.binary_search(truth).is_ok();
        self.n_masked_truth += u64::from(list.truth.as_ref().is_some_and(is_masked));
        let truth = list.truth.filter(|truth| !is_masked(truth));
        if list.exposed {
            self.uniform.add_uniform(row.masked, k);
        }
        let masked = !row.masked.is_empty();
        for ((transform, top), placement) in transforms.iter().zip(&mut self.tops).zip(placements) {
            let top = list.exposed.then_some(top);
            *placement = if matches!(transform, Transform::Identity) {
                self.native.rank(row.scores, truth, k, masked, list.row, top)?
            } else {
                transform.apply_row(list.row, row.scores, &mut self.scores)?;
                self.transformed.rank(&self.scores, truth, k, masked, list.row, top)?
            };
        }
        Ok(())
    }

    fn merge(mut self, other: Self) -> Self {
        for ((mine, my_ties), (theirs, their_ties)) in self.tops.iter_mut().zip(&other.tops) {
            mine.merge(theirs);
            *my_ties += their_ties;
        }
        self.uniform.merge(&other.uniform);
        self.n_masked_truth += other.n_masked_truth;
        self
    }
}

/// Buffers to rank one row.
#[derive(Default)]
struct Ranker<T> {
    maxima: Vec<T>,
    top: TopK<T>,
}

impl<T: Kernel> Ranker<T> {
    /// Places the truth and, if wanted, adds the row's top K to the sums.
    fn rank(
        &mut self,
        scores: &[T],
        truth: Option<u32>,
        k: usize,
        masked: bool,
        row: usize,
        sums: Option<&mut (CatalogueSums, u64)>,
    ) -> Result<Placement> {
        let score = scores[truth.unwrap_or(0) as usize];
        let pass = T::block_pass(scores, score, &mut self.maxima);
        if !masked && !pass.sum.is_finite() {
            check_finite(scores, row)?;
        }
        if let Some((catalogue, n_tied_at_cut)) = sums {
            T::find_top(&mut self.top, scores, &self.maxima, k, masked);
            catalogue.add_top(scores, &self.top);
            *n_tied_at_cut += u64::from(self.top.cut.is_some_and(|cut| cut.slots < cut.size));
        }
        Ok(truth.map_or(Placement::MISS, |_| Placement { better: pass.better, tied: pass.tied }))
    }
}
