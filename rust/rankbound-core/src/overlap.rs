//! How far two rankings of the same list agree at the top, as an expectation over their ties.

use crate::error::{Error, Result};
use crate::par::Par;

/// Lists of one task.
const TASK: usize = 256;
/// What fills the rest of a row whose list is shorter.
pub const PADDING: i64 = -1;

/// Ranked lists of equal width, one after the other.
///
/// Each begins with distinct items, best first, and ends in [`PADDING`]; scores, if there are any, do
/// not increase, and equal ones tie.
#[derive(Debug, Clone, Copy)]
pub struct TopLists<'a> {
    /// Items, `width` to a list.
    pub items: &'a [i64],
    /// Their scores; without any, the order of the items is strict.
    pub scores: Option<&'a [f64]>,
    /// Length of a row.
    pub width: usize,
}

/// An item, the number of items ahead of its tie group, and the size of that.
type Placed = (i64, usize, usize);

impl TopLists<'_> {
    /// The items of a list, by item; `None` if the places of the first `k` are unknown: the list may have
    /// been cut within a group of ties that reaches among them.
    fn placed(&self, list: usize, k: usize) -> Option<Vec<Placed>> {
        let row = list * self.width..(list + 1) * self.width;
        let items = &self.items[row.clone()];
        let length = items.iter().position(|&item| item == PADDING).unwrap_or(self.width);
        let mut placed = Vec::with_capacity(length);
        let mut start = 0;
        while start < length {
            let size = self.scores.map_or(1, |scores| {
                let scores = &scores[row.clone()][start..length];
                scores.iter().take_while(|&&score| score == scores[0]).count()
            });
            let is_open = self.scores.is_some() && start + size == self.width;
            if is_open && start < k {
                return None;
            }
            placed.extend(items[start..start + size].iter().map(|&item| (item, start, size)));
            start += size;
        }
        placed.sort_unstable();
        Some(placed)
    }

    fn check(&self, n_lists: usize) -> Result<()> {
        let n_scores = self.scores.map_or(self.items.len(), <[f64]>::len);
        if self.items.len() == n_lists * self.width && n_scores == self.items.len() {
            return Ok(());
        }
        let n_items = self.items.len();
        Err(Error::Shape(format!("{n_items} items and {n_scores} scores for {n_lists} lists of {}", self.width)))
    }
}

/// Share of the top `k` that both rankings of each list have, and their rank-biased overlap.
///
/// Both are linear in the number of shared items at each depth, whose expectation is the sum of the
/// items' chances to be that high in both. Rank-biased overlap is extrapolated from depth `k`: the
/// agreement found there is taken to go on (Webber, Moffat & Zobel 2010; for ties, Corsi & Urbano
/// 2024). NaN if a list is empty in both or its top `k` is unknown.
///
/// # Errors
/// [`Error::Shape`] if the lists have other numbers of items; [`Error::Parameter`] for a `k` of 0;
/// [`Error::Interrupted`].
pub fn overlap(
    par: &mut Par<'_>,
    [a, b]: [TopLists<'_>; 2],
    n_lists: usize,
    k: usize,
    persistence: f64,
) -> Result<(Vec<f64>, Vec<f64>)> {
    if k == 0 {
        return Err(Error::Parameter("k is 0, but must be at least 1".into()));
    }
    a.check(n_lists)?;
    b.check(n_lists)?;
    let (mut shared, mut rank_biased) = (vec![f64::NAN; n_lists], vec![f64::NAN; n_lists]);
    let tasks = shared.chunks_mut(TASK).zip(rank_biased.chunks_mut(TASK)).enumerate();
    let work = |agreement: &mut Vec<f64>, (task, (shared, rank_biased)): (usize, (&mut [f64], &mut [f64]))| {
        for (list, (shared, rank_biased)) in (task * TASK..).zip(shared.iter_mut().zip(rank_biased)) {
            let (Some(of_a), Some(of_b)) = (a.placed(list, k), b.placed(list, k)) else { continue };
            if of_a.is_empty() && of_b.is_empty() {
                continue;
            }
            count_shared(&of_a, &of_b, agreement);
            let (mut at_depths, mut weight) = (0.0, 1.0);
            for (count, depth) in agreement.iter().zip(1_u32..) {
                at_depths += weight * count / f64::from(depth);
                weight *= persistence;
            }
            *shared = agreement[k - 1] / k as f64;
            *rank_biased = *shared * weight + (1.0 - persistence) * at_depths;
        }
        Ok(())
    };
    par.run(tasks, || vec![0.0; k], work)?;
    Ok((shared, rank_biased))
}

/// Writes the expected number of shared items at depths 1, 2, ...
fn count_shared(a: &[Placed], b: &[Placed], counts: &mut [f64]) {
    counts.fill(0.0);
    let mut others = b.iter().peekable();
    for &(item, start, size) in a {
        while others.next_if(|other| other.0 < item).is_some() {}
        if let Some(&(_, other_start, other_size)) = others.next_if(|other| other.0 == item) {
            let first = start.max(other_start);
            for (depth, count) in (first + 1..).zip(counts.iter_mut().skip(first)) {
                *count += chance(depth, start, size) * chance(depth, other_start, other_size);
            }
        }
    }
}

/// The chance of an item to be among the first `depth`, if a group of `size` ties from `start` on.
fn chance(depth: usize, start: usize, size: usize) -> f64 {
    (depth - start).min(size) as f64 / size as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(a: TopLists<'_>, b: TopLists<'_>, k: usize) -> (f64, f64) {
        let of_one = Par::unwatched(2, |par| overlap(par, [a, b], 1, k, 0.5)).unwrap();
        (of_one.0[0], of_one.1[0])
    }

    fn strict(items: &[i64]) -> TopLists<'_> {
        TopLists { items, scores: None, width: items.len() }
    }

    #[test]
    fn strict_orders_by_hand() {
        let same = strict(&[3, 1, 2]);
        assert_eq!(found(same, same, 3), (1.0, 1.0));
        assert_eq!(found(same, strict(&[7, 8, 9]), 3), (0.0, 0.0));
        // Shared at depths 1, 2, 3: 0, 1, 3; 1/8 + (0 + 1/2 * 1/2 + 1/4) / 2 = 3/8.
        assert_eq!(found(same, strict(&[1, 2, 3]), 3), (1.0, 0.375));
        // Places that a short list leaves empty share nothing.
        assert_eq!(found(same, strict(&[3, PADDING, PADDING]), 3).0, 1.0 / 3.0);
        let empty = strict(&[PADDING, PADDING, PADDING]);
        assert_eq!(found(same, empty, 3), (0.0, 0.0));
        assert!(found(empty, empty, 3).0.is_nan());
    }

    #[test]
    fn ties_are_averaged() {
        // Two tie for the first place: half of the time it is the other list's.
        let tied = TopLists { items: &[1, 2, 3], scores: Some(&[2.0, 2.0, 1.0]), width: 3 };
        assert_eq!(found(tied, strict(&[1, 5, 6]), 1).0, 0.5);
        assert_eq!(found(tied, tied, 1).0, 0.5);
        assert_eq!(found(tied, tied, 2).0, 1.0);
        // Whether further items tie with the last is unknown, unless the list is known to end.
        assert!(found(tied, tied, 3).0.is_nan());
        let ended = TopLists { items: &[1, 2, 3, PADDING], scores: Some(&[2.0, 2.0, 1.0, 0.0]), width: 4 };
        assert_eq!(found(ended, ended, 3).0, 1.0);
    }
}
