//! Rankers that ignore the model: one fixed score per class, or per class and segment.

use super::Placement;
use super::ranker::disparity;
use crate::aggregate::{CatalogueSums, Fixed};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, TopK, column};
use crate::metric::RankWeights;

/// Fixed scores by which lists are ranked, such as training counts per class.
#[derive(Debug)]
pub struct Popularity {
    rows: Vec<FixedRow>,
    segments: Vec<u32>,
    k: usize,
}

/// One row of fixed scores with its unmasked ranking, found once for all lists.
#[derive(Debug)]
pub(crate) struct FixedRow {
    scores: Vec<f64>,
    /// Classes by falling score.
    order: Vec<u32>,
    placements: Vec<Placement>,
    top: TopK<f64>,
    /// The same top K, class by class.
    listed: Listed,
}

/// Members of a group that are added faster by whole blocks than one by one.
const LARGE: usize = 256;

/// The top K of a list, class by class.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Those above the last group, best first.
    above: Vec<u32>,
    /// The last group, and the places left for it.
    members: Vec<u32>,
    slots: usize,
    /// The sizes of all groups, best first.
    sizes: Vec<usize>,
}

impl Popularity {
    /// Takes a table of finite scores, one row per segment, and the segment of each list, for scans
    /// with cut-off `k`.
    ///
    /// # Errors
    /// [`Error::Shape`] if a row has another length than `n_classes` or a list names no row;
    /// [`Error::Parameter`] for a score that is not finite or a `k` of 0.
    pub fn new(table: &[f64], n_classes: usize, k: usize, segments: Vec<u32>) -> Result<Self> {
        if n_classes == 0 || !table.len().is_multiple_of(n_classes) {
            return Err(Error::Shape(format!("popularity of {} scores for {n_classes} classes", table.len())));
        }
        if k == 0 {
            return Err(Error::Parameter("k must be at least 1, got 0".into()));
        }
        if let Some(at) = table.iter().position(|score| !score.is_finite()) {
            let (value, class) = (table[at], at % n_classes);
            return Err(Error::Parameter(format!("popularity has {value} for class {class}; it must be finite")));
        }
        let rows: Vec<_> = table.chunks(n_classes).map(|scores| FixedRow::new(scores, k.min(n_classes))).collect();
        if let Some(segment) = segments.iter().find(|segment| **segment as usize >= rows.len()) {
            return Err(Error::Shape(format!("segment {segment} has no popularity: there are {} rows", rows.len())));
        }
        Ok(Self { rows, segments, k })
    }

    /// Number of lists it can rank.
    pub fn n_lists(&self) -> usize {
        self.segments.len()
    }

    /// The cut-off of the scans it was made for.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.rows.first().map_or(0, |row| row.scores.len())
    }

    /// The row of scores that ranks a list, and its number.
    pub(super) fn row(&self, list: usize) -> (usize, &FixedRow) {
        let at = self.segments[list] as usize;
        (at, &self.rows[at])
    }

    /// The disparity of each row of scores.
    pub(super) fn disparities(&self, weights: &RankWeights) -> Vec<Fixed> {
        self.rows.iter().map(|row| disparity(weights, row.listed.sizes.iter().copied())).collect()
    }
}

impl FixedRow {
    pub(crate) fn new(scores: &[f64], k: usize) -> Self {
        let mut order: Vec<u32> = (0..column(scores.len())).collect();
        order.sort_unstable_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
        let mut placements = vec![Placement::MISS; scores.len()];
        let mut better = 0;
        // -0 and 0 are neighbours in the order, and equal.
        for group in order.chunk_by(|&a, &b| scores[a as usize] == scores[b as usize]) {
            let tied = column(group.len());
            group.iter().for_each(|&class| placements[class as usize] = Placement { better, tied });
            better += tied;
        }
        let (mut maxima, mut top) = (Vec::new(), TopK::default());
        f64::block_pass(scores, scores[0], &mut maxima);
        top.find(scores, &maxima, k, false);
        let mut row = Self { scores: scores.to_vec(), order, placements, top, listed: Listed::default() };
        let mut listed = Listed::default();
        row.list(&[], k, &mut listed);
        row.listed = listed;
        row
    }

    /// Where a class stands among the classes that are not masked.
    pub(crate) fn placement(&self, class: u32, masked: &[u32]) -> Placement {
        let Placement { better, tied } = self.placements[class as usize];
        let score = self.scores[class as usize];
        let count = |belongs: &dyn Fn(f64) -> bool| {
            column(masked.iter().filter(|&&other| belongs(self.scores[other as usize])).count())
        };
        Placement { better: better - count(&|other| other > score), tied: tied - count(&|other| other == score) }
    }

    /// Adds the top `k` of the classes that are not masked; returns how many tie at its cut and the
    /// places left for them, and the sizes of its tie groups.
    pub(super) fn add_top<'l>(
        &'l self,
        masked: &[u32],
        k: usize,
        catalogue: &mut CatalogueSums,
        buffer: &'l mut Listed,
    ) -> ((usize, usize), &'l [usize]) {
        let listed = if masked.is_empty() {
            &self.listed
        } else {
            self.list(masked, k, buffer);
            buffer
        };
        let Listed { above, members, slots, sizes } = listed;
        if masked.is_empty() && members.len() > LARGE {
            catalogue.add_top(&self.scores, &self.top);
        } else {
            catalogue.add_listed(above, members, *slots);
        }
        ((members.len(), *slots), sizes)
    }

    /// Lists the top `k` of the classes that are not masked.
    fn list(&self, masked: &[u32], k: usize, Listed { above, members, slots, sizes }: &mut Listed) {
        above.clear();
        sizes.clear();
        members.clear();
        let mut start = 0;
        while start < self.order.len() && above.len() + members.len() < k {
            above.append(members);
            let size = self.placements[self.order[start] as usize].tied as usize;
            let group = &self.order[start..start + size];
            members.extend(group.iter().filter(|class| masked.binary_search(class).is_err()));
            sizes.extend((!members.is_empty()).then_some(members.len()));
            start += size;
        }
        *slots = members.len().min(k - above.len());
    }
}
