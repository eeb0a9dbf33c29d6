//! What orders the candidates of a list: the model's scores under a transform, or popularity.

use super::popularity::{Listed, Popularity};
use super::{Block, Placement};
use crate::adjust::Transform;
use crate::aggregate::CatalogueSums;
use crate::error::Result;
use crate::input::{Row, check_finite};
use crate::kernel::{BlockPass, Kernel, Maxima, Prefilter, Prefiltered, TopK};

/// What orders the candidates of a list.
#[derive(Debug)]
pub enum Ranker {
    /// The scores, transformed.
    Model(Transform),
    /// Fixed scores over the same candidates.
    Popularity(Popularity),
}

/// Rankers made ready for a matrix of one type.
pub(super) struct Prepared<'a> {
    pub(super) rankers: Vec<Ready<'a>>,
    prefilters: Vec<Prefilter<'a>>,
}

/// A ranker made ready.
pub(super) enum Ready<'a> {
    Unchanged,
    /// With the position of its pre-filter.
    Filtered(&'a Transform, usize),
    Transformed(&'a Transform),
    Popularity(&'a Popularity),
}

impl<'a> Prepared<'a> {
    /// Rankers of the top `k` among `n_classes`.
    pub(super) fn new<T: Kernel>(rankers: &'a [Ranker], n_classes: usize, k: usize) -> Self {
        let mut prefilters = Vec::new();
        let ready = |ranker: &'a Ranker| match ranker {
            Ranker::Model(Transform::Identity) => Ready::Unchanged,
            Ranker::Model(transform @ Transform::Rates(rates)) => match T::prefilter(rates, n_classes, k) {
                Some(prefilter) => {
                    prefilters.push(prefilter);
                    Ready::Filtered(transform, prefilters.len() - 1)
                }
                None => Ready::Transformed(transform),
            },
            Ranker::Model(transform) => Ready::Transformed(transform),
            Ranker::Popularity(popularity) => Ready::Popularity(popularity),
        };
        Self { rankers: rankers.iter().map(ready).collect(), prefilters }
    }

    /// Whether a ranker reads the scores as they are.
    fn passes(&self) -> bool {
        self.rankers.iter().any(|ready| matches!(ready, Ready::Unchanged | Ready::Filtered(..)))
    }
}

/// One list to grade.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    /// Position among the graded lists.
    pub(super) index: usize,
    /// Row of the matrix.
    pub(super) row: usize,
    /// Column of the truth, if it is a candidate.
    pub(super) truth: Option<u32>,
    /// Whether the list counts for the catalogue.
    pub(super) exposed: bool,
}

/// Catalogue sums of one ranker over the lists of one worker.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) catalogue: CatalogueSums,
    pub(super) n_tied_at_cut: u64,
}

impl Sums {
    pub(super) fn new(n_classes: usize) -> Self {
        Self { catalogue: CatalogueSums::new(n_classes), n_tied_at_cut: 0 }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.catalogue.merge(&other.catalogue);
        self.n_tied_at_cut += other.n_tied_at_cut;
    }

    pub(super) fn into_block(self, placements: Vec<Placement>) -> Block {
        Block { placements, catalogue: self.catalogue, n_tied_at_cut: self.n_tied_at_cut }
    }
}

/// Buffers in which one worker ranks rows.
pub(super) struct Desk<T> {
    native: Ranking<T>,
    double: Ranking<f64>,
    scores: Vec<f64>,
    found: Vec<Prefiltered>,
    listed: Listed,
    // The largest score of the row, if all are finite and none is negative.
    largest: Option<T>,
}

impl<T: Kernel> Desk<T> {
    pub(super) fn new(n_classes: usize) -> Self {
        Self {
            native: Ranking::default(),
            double: Ranking::default(),
            scores: vec![0.0; n_classes],
            found: Vec::new(),
            listed: Listed::default(),
            largest: None,
        }
    }

    /// Reads a row once for all rankers.
    pub(super) fn read(&mut self, prepared: &Prepared<'_>, row: &Row<'_, T>, list: &List) {
        if !prepared.passes() {
            return;
        }
        let Prepared { prefilters, .. } = prepared;
        self.found.resize_with(prefilters.len(), Prefiltered::default);
        let pass = T::weighing_pass(row.scores, list.truth, &mut self.native.maxima, prefilters, &mut self.found);
        self.native.pass = pass;
        self.largest = match row.masked.is_empty() && pass.sum.is_finite() {
            true => (pass.least >= T::default()).then_some(pass.largest),
            false if prefilters.is_empty() => None,
            false => T::largest_of_non_negative(row.scores, !row.masked.is_empty()),
        };
    }

    /// Places the truth of the list that was read last and adds its top `k` to the sums.
    pub(super) fn rank(
        &mut self,
        (prepared, ready): (&Prepared<'_>, &Ready<'_>),
        row: &Row<'_, T>,
        list: &List,
        k: usize,
        sums: &mut Sums,
    ) -> Result<Placement> {
        let masked = !row.masked.is_empty();
        let transform = match ready {
            Ready::Unchanged => return self.native.rank(row.scores, masked, list, k, sums),
            Ready::Popularity(popularity) => {
                let fixed = popularity.row(list.index);
                if list.exposed {
                    let split = fixed.add_top(row.masked, k, &mut sums.catalogue, &mut self.listed);
                    sums.n_tied_at_cut += u64::from(split);
                }
                return Ok(list.truth.map_or(Placement::MISS, |truth| fixed.placement(truth, row.masked)));
            }
            Ready::Filtered(transform, at) => {
                let (prefilter, found) = (&prepared.prefilters[*at], &mut self.found[*at]);
                if let Some(largest) = self.largest
                    && T::rank_weighed(prefilter, row.scores, largest, k, found)
                {
                    return Ok(found.add_to(list, k, sums));
                }
                transform
            }
            Ready::Transformed(transform) => transform,
        };
        if let Err(refusal) = transform.apply_row(list.row, row.scores, &mut self.scores) {
            if !masked {
                check_finite(row.scores, list.row)?; // the transform takes -inf for a mask
            }
            return Err(refusal);
        }
        self.double.read(&self.scores, list);
        self.double.rank(&self.scores, masked, list, k, sums)
    }
}

impl Prefiltered {
    fn add_to(&self, list: &List, k: usize, sums: &mut Sums) -> Placement {
        if list.exposed {
            let slots = k - self.above.len();
            sums.catalogue.add_listed(&self.above, &self.members, slots);
            sums.n_tied_at_cut += u64::from(slots < self.members.len());
        }
        let (better, tied) = self.truth;
        list.truth.map_or(Placement::MISS, |_| Placement { better, tied })
    }
}

/// Buffers to rank one row by its own scores.
#[derive(Default)]
struct Ranking<T> {
    pass: BlockPass<T>,
    maxima: Vec<Maxima<T>>,
    top: TopK<T>,
}

impl<T: Kernel> Ranking<T> {
    fn read(&mut self, scores: &[T], list: &List) {
        self.pass = T::block_pass(scores, scores[list.truth.unwrap_or(0) as usize], &mut self.maxima);
    }

    /// Ranks the row that was read last.
    fn rank(&mut self, scores: &[T], masked: bool, list: &List, k: usize, sums: &mut Sums) -> Result<Placement> {
        let BlockPass { better, tied, sum, .. } = self.pass;
        if !masked && !sum.is_finite() {
            check_finite(scores, list.row)?;
        }
        if list.exposed {
            self.top.find(scores, &self.maxima, k, masked);
            sums.catalogue.add_top(scores, &self.top);
            sums.n_tied_at_cut += u64::from(self.top.is_split());
        }
        Ok(list.truth.map_or(Placement::MISS, |_| Placement { better, tied }))
    }
}
