//! Scores or ranked lists in, exposure of the items and values of the lists out, in one pass.

use ndarray::ArrayView2;

use super::measure::{Buffers, ListMeasure, Shown};
use super::top::{ListReader, Top, TopRules};
use crate::aggregate::{CatalogueSums, ExposureSums, Fixed, GroupSums};
use crate::error::{Error, Result};
use crate::input::{Element, Masks, RowReader, Score, Targets, check_finite};
use crate::kernel::{Kernel, TopK};
use crate::metric::RankWeights;
use crate::par::Par;
use crate::profile::{ItemLists, lists_per_task};

/// Ranked lists handed to a worker at once.
const LISTS_PER_TASK: usize = 1024;

/// What is wanted of some lists.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The cut-off, at least 1.
    pub k: usize,
    /// The lists that count, as rows of the input.
    pub rows: &'a [usize],
    /// What is measured of each list.
    pub measures: &'a [&'a ListMeasure],
    /// Relevant items per row of the input, if there are any.
    pub targets: Option<Targets<'a>>,
    /// What each rank gives to the exposure; without, 1 for each of the top K.
    pub rank_weights: Option<&'a RankWeights>,
    /// Whether relevant items are looked for, class by class.
    pub class_hits: bool,
    /// Whether relevant items that are no candidates are left out instead of counted as missed.
    pub drop_masked: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Values of every list, measure after measure.
    pub values: Vec<Vec<f64>>,
    /// Exposure of the items by these lists.
    pub exposure: ExposureSums,
    /// Per item, the probabilities that its lists show it where it is relevant; no items unless
    /// wanted.
    pub class_hits: GroupSums,
    /// Lists whose top K depends on the order of equal scores.
    pub n_tied_at_cut: u64,
}

/// Measures rows of a score matrix.
///
/// # Errors
/// The first score, in the order of the rows, that cannot be ranked; [`Error::Shape`] if sizes
/// contradict one another; [`Error::Interrupted`].
pub fn scan_scores<E>(
    par: &mut Par<'_>,
    matrix: &ArrayView2<'_, E>,
    masks: &Masks<'_>,
    request: &Request<'_>,
) -> Result<Found>
where
    E: Element,
    E::Native: Kernel,
{
    let (n_rows, n_items) = matrix.dim();
    if let Some(exclude) = &masks.exclude {
        exclude.check_sizes(n_rows, (n_rows, n_items))?;
    }
    let k = request.k.min(n_items);
    let make = || (RowReader::<E::Native>::default(), Vec::new(), TopK::default());
    run(par, request, n_rows, n_items, lists_per_task(n_items), make, |(reader, maxima, best), tally, rows, values| {
        reader.load(matrix, rows)?;
        for (position, &index) in rows.iter().enumerate() {
            let row = reader.row(matrix, (position, index, index), masks)?;
            let pass = E::Native::block_pass(row.scores, row.scores[0], maxima);
            if row.masked.is_empty() && !pass.sum.is_finite() {
                check_finite(row.scores, index)?;
            }
            best.find(row.scores, maxima, k, !row.masked.is_empty());
            tally.exposure.add_top(row.scores, best);
            tally.n_tied_at_cut += u64::from(best.is_split());
            if request.reads_items() {
                tally.top.take(best, row.scores);
                tally.measure(request, index, row.masked, values, position);
            }
        }
        Ok(())
    })
}

/// Measures ranked lists over a catalogue of `n_items`.
///
/// # Errors
/// The first list with an item that is unknown or listed twice, a NaN or rising score, or an open tie
/// in its top K, as the rules say; [`Error::Shape`] if sizes contradict one another.
pub fn scan_lists<I>(
    par: &mut Par<'_>,
    lists: &ItemLists<'_, I>,
    n_items: usize,
    rules: TopRules,
    request: &Request<'_>,
) -> Result<Found>
where
    I: Copy + Into<i64> + Sync,
{
    let n_lists = lists.starts.len();
    lists.check_sizes(n_lists)?;
    let make = || (ListReader::new(n_items), Vec::new());
    run(par, request, n_lists, n_items, LISTS_PER_TASK, make, |(reader, buffer), tally, rows, values| {
        for (position, &list) in rows.iter().enumerate() {
            let (items, scores) = lists.list(list, buffer);
            reader.read(&mut tally.top, list, items, scores, rules)?;
            let Top { above, members, slots, .. } = &tally.top;
            tally.exposure.add_listed(above, members, *slots);
            tally.n_tied_at_cut += u64::from(*slots < members.len());
            tally.measure(request, list, &[], values, position);
        }
        Ok(())
    })
}

impl Request<'_> {
    fn n_columns(&self) -> usize {
        self.measures.iter().map(|measure| measure.n_columns()).sum()
    }

    /// Whether anything but exposure by the top K is wanted.
    fn reads_items(&self) -> bool {
        !self.measures.is_empty() || self.rank_weights.is_some() || self.class_hits
    }

    fn check(&self, n_lists: usize, n_items: usize) -> Result<()> {
        let refuse = |message: String| Err(Error::Shape(message));
        if self.k == 0 {
            return Err(Error::Parameter("k must be at least 1, got 0".into()));
        }
        if n_items == 0 || u32::try_from(n_items).is_err() {
            return refuse(format!("a catalogue of {n_items} items cannot be measured"));
        }
        if let Some(row) = self.rows.iter().find(|row| **row >= n_lists) {
            return refuse(format!("row {row} is to be measured, but there are {n_lists}"));
        }
        if let Some(measure) = self.measures.iter().find(|measure| measure.n_items() != n_items) {
            return refuse(format!("a measure of {} items cannot measure lists over {n_items}", measure.n_items()));
        }
        match self.targets {
            Some(targets) if (targets.len(), targets.n_items()) != (n_lists, n_items) => refuse(format!(
                "targets has {} rows of {} items, but the lists are {n_lists} over {n_items}",
                targets.len(),
                targets.n_items()
            )),
            None if self.class_hits || self.measures.iter().any(|measure| measure.needs_targets()) => {
                refuse("there are no targets to look for".into())
            }
            _ => Ok(()),
        }
    }
}

/// What one worker has added up, with its buffers.
struct Tally {
    exposure: CatalogueSums,
    weighted: Vec<Fixed>,
    class_hits: GroupSums,
    n_tied_at_cut: u64,
    top: Top,
    buffers: Buffers,
    // Relevant items of the list that are not shown.
    missed: Vec<u32>,
}

impl Tally {
    fn new(request: &Request<'_>, n_items: usize) -> Self {
        Self {
            exposure: CatalogueSums::new(n_items),
            weighted: vec![Fixed::default(); if request.rank_weights.is_some() { n_items } else { 0 }],
            class_hits: GroupSums::empty(if request.class_hits { n_items } else { 0 }),
            n_tied_at_cut: 0,
            top: Top::default(),
            buffers: Buffers::default(),
            missed: Vec::new(),
        }
    }

    /// Measures the top K that was read last and writes the values of its list.
    fn measure(&mut self, request: &Request<'_>, row: usize, masked: &[u32], values: &mut [f64], position: usize) {
        let relevant = request.targets.map_or((&[][..], &[][..]), |targets| targets.list(row));
        let shown = Shown { top: &self.top, relevant, masked };
        let n_columns = request.n_columns();
        let mut rest = &mut values[position * n_columns..][..n_columns];
        for measure in request.measures {
            let (own, others) = rest.split_at_mut(measure.n_columns());
            measure.write(&shown, &mut self.buffers, own);
            rest = others;
        }
        if let Some(weights) = request.rank_weights {
            for group in self.top.groups() {
                let weight = Fixed::from_f64(weights.mean(group.better, group.items.len()));
                group.items.iter().for_each(|&item| self.weighted[item as usize] += weight);
            }
        }
        if request.class_hits {
            self.add_hits(relevant.0, if request.drop_masked { masked } else { &[] });
        }
    }

    /// Adds the probability of being shown of each relevant item that is not left out.
    fn add_hits(&mut self, relevant: &[u32], left_out: &[u32]) {
        self.missed.clear();
        self.missed.extend(relevant.iter().filter(|item| left_out.binary_search(item).is_err()));
        for group in self.top.groups() {
            for &item in group.items {
                if let Ok(at) = self.missed.binary_search(&item) {
                    self.class_hits.add_probability(item as usize, group.inclusion());
                    self.missed.remove(at);
                }
            }
        }
        self.missed.iter().for_each(|&item| self.class_hits.add_probability(item as usize, 0.0));
    }

    fn merge(mut self, other: &Self) -> Result<Self> {
        self.exposure.merge(&other.exposure);
        self.weighted.iter_mut().zip(&other.weighted).for_each(|(mine, theirs)| *mine += *theirs);
        self.class_hits.merge(&other.class_hits)?;
        self.n_tied_at_cut += other.n_tied_at_cut;
        Ok(self)
    }
}

/// Hands the rows of a request to workers, each of which has a reader, and puts together what they
/// find.
fn run<R: Send>(
    par: &mut Par<'_>,
    request: &Request<'_>,
    n_lists: usize,
    n_items: usize,
    per_task: usize,
    make: impl Fn() -> R + Sync,
    read: impl Fn(&mut R, &mut Tally, &[usize], &mut [f64]) -> Result<()> + Sync,
) -> Result<Found> {
    request.check(n_lists, n_items)?;
    let n_columns = request.n_columns();
    let mut values = vec![0.0; request.rows.len() * n_columns];
    let mut rest = &mut values[..];
    let mut tasks = Vec::new();
    for rows in request.rows.chunks(per_task) {
        let (own, others) = std::mem::take(&mut rest).split_at_mut(rows.len() * n_columns);
        tasks.push((rows, own));
        rest = others;
    }
    let workers = par.run(
        tasks.into_iter(),
        || (make(), Tally::new(request, n_items)),
        |(reader, tally), (rows, values)| read(reader, tally, rows, values),
    )?;
    let empty = Tally::new(request, n_items);
    let tally = workers.iter().try_fold(empty, |sum, (_, tally)| sum.merge(tally))?;
    let mut exposure = tally.exposure.sums();
    if request.rank_weights.is_some() {
        exposure.set_expected(tally.weighted);
    }
    Ok(Found {
        values: (0..n_columns).map(|at| values.iter().skip(at).step_by(n_columns).copied().collect()).collect(),
        exposure,
        class_hits: tally.class_hits,
        n_tied_at_cut: tally.n_tied_at_cut,
    })
}
