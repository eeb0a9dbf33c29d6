//! Every metric of every list, and what they add up to.

use super::{ListMetric, ListValue};
use crate::aggregate::ListSums;
use crate::error::Result;
use crate::par::Par;
use crate::profile::{BrokenTies, Profiles, TieProfile};

/// Lists handed to a worker at once.
const LISTS_PER_TASK: usize = 256;

/// The values of metrics for lists.
#[derive(Debug)]
pub struct Evaluation {
    /// Per metric, the expected value of each list; NaN for a list without relevant items.
    pub values: Vec<Vec<f64>>,
    /// Per metric, the sums over the lists that have relevant items.
    pub sums: Vec<ListSums>,
}

/// Evaluates every metric of every list.
///
/// # Errors
/// [`Error::AccumulatorRange`] for a value too large to be summed; [`Error::Interrupted`].
pub fn evaluate(par: &mut Par<'_>, profiles: &Profiles, metrics: &[ListMetric]) -> Result<Evaluation> {
    let depth = profiles.depth();
    let prepared: Vec<Box<dyn ListValue>> = metrics.iter().map(|metric| metric.prepare(depth)).collect();
    // Zeroed page by page when a worker first writes there.
    let mut values: Vec<Vec<f64>> = metrics.iter().map(|_| vec![0.0; profiles.len()]).collect();
    let mut columns: Vec<_> = values.iter_mut().map(|column| column.chunks_mut(LISTS_PER_TASK)).collect();
    let tasks = (0..profiles.len()).step_by(LISTS_PER_TASK).map(|first| {
        let outputs: Vec<&mut [f64]> = columns.iter_mut().filter_map(Iterator::next).collect();
        (first, (first + LISTS_PER_TASK).min(profiles.len()), outputs)
    });
    let empty = || metrics.iter().map(|metric| ListSums::new(matches!(metric, ListMetric::LogRbp { .. }))).collect();
    let workers = par.run(
        tasks,
        || Worker { sums: empty(), broken: BrokenTies::default(), lists: Vec::new() },
        |worker, (first, last, mut outputs)| {
            worker.lists.clear();
            worker.lists.extend((first..last).map(|list| {
                let list = profiles.list(list);
                (list, list.has_ties())
            }));
            let chunk = Chunk { first, lists: &worker.lists };
            for ((metric, sums), output) in prepared.iter().zip(&mut worker.sums).zip(&mut outputs) {
                metric.add(&chunk, sums, &mut worker.broken, output)?;
            }
            Ok(())
        },
    )?;
    let mut sums: Vec<ListSums> = empty();
    for worker in &workers {
        sums.iter_mut().zip(&worker.sums).try_for_each(|(mine, theirs)| mine.merge(theirs))?;
    }
    Ok(Evaluation { values, sums })
}

struct Worker<'a> {
    sums: Vec<ListSums>,
    broken: BrokenTies,
    lists: Vec<(TieProfile<'a>, bool)>,
}

/// Some lists in a row.
pub(super) struct Chunk<'a> {
    pub(super) first: usize,
    /// Each list, and whether it has ties.
    pub(super) lists: &'a [(TieProfile<'a>, bool)],
}
