//! What orders the candidates of a list: the model's scores under a transform, or popularity.

use super::popularity::{Listed, Popularity};
use super::{Block, Placement};
use crate::adjust::{Rates, Transform};
use crate::aggregate::CatalogueSums;
use crate::error::Result;
use crate::input::{Row, check_finite};
use crate::kernel::{Kernel, Maxima, Prefilter, Prefiltered, TopK};

/// What orders the candidates of a list.
#[derive(Debug)]
pub enum Ranker {
    /// The scores, transformed.
    Model(Transform),
    /// Fixed scores over the same candidates.
    Popularity(Popularity),
}

/// A ranker made ready for a matrix of one type.
pub(super) enum Ready<'a> {
    Unchanged,
    Filtered { transform: &'a Transform, rates: &'a Rates, prefilter: Prefilter },
    Transformed(&'a Transform),
    Popularity(&'a Popularity),
}

impl<'a> Ready<'a> {
    pub(super) fn new(ranker: &'a Ranker, n_classes: usize) -> Self {
        match ranker {
            Ranker::Model(Transform::Identity) => Self::Unchanged,
            Ranker::Model(transform @ Transform::Rates(rates)) => match Prefilter::new(rates, n_classes) {
                Some(prefilter) => Self::Filtered { transform, rates, prefilter },
                None => Self::Transformed(transform),
            },
            Ranker::Model(transform) => Self::Transformed(transform),
            Ranker::Popularity(popularity) => Self::Popularity(popularity),
        }
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
    found: Prefiltered,
    listed: Listed,
    // The list whose largest score is known, with the score if none is negative.
    largest: Option<(usize, Option<T>)>,
}

impl<T: Kernel> Desk<T> {
    pub(super) fn new(n_classes: usize) -> Self {
        Self {
            native: Ranking::default(),
            double: Ranking::default(),
            scores: vec![0.0; n_classes],
            found: Prefiltered::default(),
            listed: Listed::default(),
            largest: None,
        }
    }

    /// Places the truth of a list and adds the top `k` to the sums.
    pub(super) fn rank(
        &mut self,
        ready: &Ready<'_>,
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
            Ready::Filtered { transform, rates, prefilter } => {
                if let Some(largest) = self.largest_of_non_negative(row, list)
                    && T::prefilter(prefilter, rates, row.scores, largest, list.truth, k, &mut self.found)
                {
                    return Ok(self.found.add_to(list, k, sums));
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
        self.double.rank(&self.scores, masked, list, k, sums)
    }
}

impl<T: Kernel> Desk<T> {
    /// The largest score of a list whose scores are finite and not negative; looked for once.
    fn largest_of_non_negative(&mut self, row: &Row<'_, T>, list: &List) -> Option<T> {
        match (self.largest, self.native.last) {
            (Some((index, largest)), _) if index == list.index => largest,
            // The pass over the unchanged scores has seen it all.
            (_, Some((index, least))) if index == list.index => {
                let maxima = self.native.maxima.as_flattened().iter();
                let largest = maxima.fold(least, |a, &b| if b > a { b } else { a });
                (least >= T::default()).then_some(largest)
            }
            _ => {
                let largest = T::largest_of_non_negative(row.scores, !row.masked.is_empty());
                self.largest = Some((list.index, largest));
                largest
            }
        }
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
    /// The list ranked last, if none of its columns is masked and no sum overflowed; its least score.
    last: Option<(usize, T)>,
    maxima: Vec<Maxima<T>>,
    top: TopK<T>,
}

impl<T: Kernel> Ranking<T> {
    fn rank(&mut self, scores: &[T], masked: bool, list: &List, k: usize, sums: &mut Sums) -> Result<Placement> {
        let truth = scores[list.truth.unwrap_or(0) as usize];
        let pass = T::block_pass(scores, truth, &mut self.maxima);
        self.last = (!masked && pass.sum.is_finite()).then_some((list.index, pass.least));
        if !masked && !pass.sum.is_finite() {
            check_finite(scores, list.row)?;
        }
        if list.exposed {
            T::find_top(&mut self.top, scores, &self.maxima, k, masked);
            sums.catalogue.add_top(scores, &self.top);
            sums.n_tied_at_cut += u64::from(self.top.is_split());
        }
        Ok(list.truth.map_or(Placement::MISS, |_| Placement { better: pass.better, tied: pass.tied }))
    }
}
