//! What orders the candidates of a list: the model's scores under a transform, or popularity.

use super::popularity::{Listed, Popularity};
use super::{Block, Placement};
use crate::adjust::Transform;
use crate::aggregate::{CatalogueSums, Fixed};
use crate::error::Result;
use crate::input::{Row, Score, check_finite};
use crate::kernel::{BlockPass, Kernel, Maxima, Prefilter, Prefiltered, TopK};
use crate::metric::RankWeights;

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
    /// Cut-off of the catalogue sums.
    pub(super) k: usize,
    /// What each rank above it gives to the exposure of its item.
    weights: RankWeights,
    /// The disparity of a top K without ties.
    untied: Fixed,
}

/// A ranker made ready.
pub(super) enum Ready<'a> {
    Unchanged,
    /// With the position of its pre-filter.
    Filtered(&'a Transform, usize),
    Transformed(&'a Transform),
    /// With the disparity of each row of scores, all classes being candidates.
    Popularity(&'a Popularity, Vec<Fixed>),
}

impl<'a> Prepared<'a> {
    /// Rankers of the top `k` among `n_classes`.
    pub(super) fn new<T: Kernel>(rankers: &'a [Ranker], n_classes: usize, k: usize) -> Self {
        let mut prefilters = Vec::new();
        let weights = RankWeights::ndcg(k, n_classes);
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
            Ranker::Popularity(popularity) => Ready::Popularity(popularity, popularity.disparities(&weights)),
        };
        let rankers = rankers.iter().map(ready).collect();
        let untied = disparity(&weights, std::iter::repeat_n(1, k));
        Self { rankers, prefilters, k, weights, untied }
    }

    /// The disparity of a top K by the scores above its cut, in any order, and how many tie at it.
    fn disparity<T: Score>(&self, above: &mut [T], tied: usize) -> Fixed {
        // Few scores seldom tie, and are found to differ in fewer steps than a sort takes.
        let differs = |at: usize| above[..at].iter().fold(true, |differs, other| differs & (*other != above[at]));
        if tied == 1 && above.len() <= FEW && (1..above.len()).all(differs) {
            return self.untied;
        }
        above.sort_unstable_by(|a, b| b.partial_cmp(a).expect("scores are ordered: NaN was refused"));
        let groups = above.chunk_by(|a, b| a == b).map(<[T]>::len);
        disparity(&self.weights, groups.chain((tied > 0).then_some(tied)))
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
    pub(super) disparity: Fixed,
}

impl Sums {
    pub(super) fn new(n_classes: usize) -> Self {
        Self { catalogue: CatalogueSums::new(n_classes), n_tied_at_cut: 0, disparity: Fixed::default() }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.catalogue.merge(&other.catalogue);
        self.n_tied_at_cut += other.n_tied_at_cut;
        self.disparity += other.disparity;
    }

    pub(super) fn into_block(self, placements: Vec<Placement>) -> Block {
        let Self { catalogue, n_tied_at_cut, disparity } = self;
        Block { placements, catalogue, n_tied_at_cut, disparity }
    }

    /// Adds what is known of a top K beside its classes: how many tie at its cut, the places left for
    /// them, and its disparity.
    fn add_ties(&mut self, (tied, slots): (usize, usize), disparity: Fixed) {
        self.n_tied_at_cut += u64::from(slots < tied);
        self.disparity += disparity;
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

    /// Places the truth of the list that was read last and adds its top K to the sums.
    pub(super) fn rank(
        &mut self,
        (prepared, ready): (&Prepared<'_>, &Ready<'_>),
        row: &Row<'_, T>,
        list: &List,
        sums: &mut Sums,
    ) -> Result<Placement> {
        let masked = !row.masked.is_empty();
        let transform = match ready {
            Ready::Unchanged => return self.native.rank(prepared, row.scores, masked, list, sums),
            Ready::Popularity(popularity, disparities) => {
                let (at, fixed) = popularity.row(list.index);
                if list.exposed {
                    let (ties, sizes) = fixed.add_top(row.masked, prepared.k, &mut sums.catalogue, &mut self.listed);
                    let of_candidates = |sizes: &[usize]| disparity(&prepared.weights, sizes.iter().copied());
                    sums.add_ties(ties, if masked { of_candidates(sizes) } else { disparities[at] });
                }
                return Ok(list.truth.map_or(Placement::MISS, |truth| fixed.placement(truth, row.masked)));
            }
            Ready::Filtered(transform, at) => {
                let (prefilter, found) = (&prepared.prefilters[*at], &mut self.found[*at]);
                if let Some(largest) = self.largest
                    && T::rank_weighed(prefilter, row.scores, largest, prepared.k, found)
                {
                    return Ok(found.add_to(prepared, list, sums));
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
        self.double.rank(prepared, &self.scores, masked, list, sums)
    }
}

impl Prefiltered {
    fn add_to(&mut self, prepared: &Prepared<'_>, list: &List, sums: &mut Sums) -> Placement {
        if list.exposed {
            let slots = prepared.k - self.above.len();
            sums.catalogue.add_listed(&self.above, &self.members, slots);
            let tied = self.members.len();
            sums.add_ties((tied, slots), prepared.disparity(&mut self.above_values, tied));
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
    above: Vec<T>,
}

impl<T: Kernel> Ranking<T> {
    fn read(&mut self, scores: &[T], list: &List) {
        self.pass = T::block_pass(scores, scores[list.truth.unwrap_or(0) as usize], &mut self.maxima);
    }

    /// Ranks the row that was read last.
    fn rank(
        &mut self,
        prepared: &Prepared<'_>,
        scores: &[T],
        masked: bool,
        list: &List,
        sums: &mut Sums,
    ) -> Result<Placement> {
        let BlockPass { better, tied, sum, .. } = self.pass;
        if !masked && !sum.is_finite() {
            check_finite(scores, list.row)?;
        }
        if list.exposed {
            self.top.find(scores, &self.maxima, prepared.k, masked);
            sums.catalogue.add_top(scores, &self.top);
            self.above.clear();
            self.above.extend(self.top.above.iter().map(|&column| scores[column as usize]));
            let (tied, slots) = self.top.cut.map_or((0, 0), |cut| (cut.size as usize, cut.slots as usize));
            sums.add_ties((tied, slots), prepared.disparity(&mut self.above, tied));
        }
        Ok(list.truth.map_or(Placement::MISS, |_| Placement { better, tied }))
    }
}

/// Up to this many scores are compared with each other before they are sorted.
const FEW: usize = 32;

/// The disparity of a top K by the sizes of its tie groups, best first.
pub(super) fn disparity(weights: &RankWeights, sizes: impl Iterator<Item = usize>) -> Fixed {
    Fixed::from_f64(weights.disparity(sizes))
}
