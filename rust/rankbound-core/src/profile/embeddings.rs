//! Vectors in, tie profiles out: scores are made in blocks that stay in cache and counted there.

use super::list::{Profiles, RelevantItem, TieGroup};
use crate::error::{Error, Result};
use crate::input::{Embeddings, Exclusion, Targets};
use crate::kernel::{
    Coder, Codes, Kernel, LANES, ROWS, SCORES_PER_BLOCK, Thresholds, count_block, score, score_panels,
};
use crate::par::Par;

/// How the work is cut up. No result depends on it.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Items copied side by side at once, for all workers; a multiple of [`LANES`].
    items_per_chunk: usize,
    /// Items that stay in a worker's cache while many queries pass over them, likewise.
    items_per_block: usize,
    /// Queries of a task.
    queries_per_task: usize,
}

impl Cut {
    /// 16 MB of items for all workers, and 256 KB of them for each: a third-level and a second-level
    /// cache hold as much. Tasks last some 10 ms, unless there are too few queries to share.
    fn new(n_queries: usize, n_dimensions: usize, num_threads: usize) -> Self {
        let items = |values: usize| (values / n_dimensions).max(LANES) / LANES * LANES;
        Self {
            items_per_chunk: items(1 << 22),
            items_per_block: items(1 << 16).min(SCORES_PER_BLOCK),
            queries_per_task: n_queries.div_ceil(4 * num_threads.max(1)).clamp(1, 16 * ROWS).next_multiple_of(ROWS),
        }
    }
}

/// The tie profiles of queries over all items, and how many relevant items are no candidates. The
/// tick is told how many queries are done.
///
/// An item scores its bias plus the similarity: one chain of fused multiply-adds in `f32` that
/// starts from the bias (0 without one) and goes over the dimensions in their order. Vectors are
/// divided by their lengths beforehand for [`Similarity::Cosine`]; for [`Similarity::L2`] each step
/// takes off the square of the rounded difference. Identical items always tie.
///
/// # Errors
/// The first value, in the order of the rows, that is not finite; a zero vector that has no
/// direction; a score that is not finite; [`Error::AllMasked`] for a query without candidates;
/// [`Error::Shape`] if sizes contradict one another; [`Error::Interrupted`].
pub fn profile_embeddings(
    par: &mut Par<'_>,
    embeddings: Embeddings<'_>,
    targets: Targets<'_>,
    exclude: Option<Exclusion<'_>>,
    drop_masked: bool,
) -> Result<(Profiles, u64)> {
    let (n_queries, n_items) = (embeddings.queries.dim().0, embeddings.items.dim().0);
    if (targets.len(), targets.n_items()) != (n_queries, n_items) {
        return Err(Error::Shape(format!(
            "targets has {} rows of {} items, but there are {n_queries} queries and {n_items} items",
            targets.len(),
            targets.n_items()
        )));
    }
    if let Some(exclude) = &exclude {
        exclude.check_sizes(n_queries, (n_queries, n_items))?;
    }
    par.told_as(|_| 0, |par| embeddings.check(par))?;
    let cut = Cut::new(n_queries, embeddings.n_dimensions(), par.num_threads);
    profile_cut(par, &Job { embeddings, targets, exclude }, drop_masked, cut)
}

fn profile_cut(par: &mut Par<'_>, job: &Job<'_, '_, '_>, drop_masked: bool, cut: Cut) -> Result<(Profiles, u64)> {
    let n_queries = job.targets.len();
    let mut shares: Vec<Share> = (0..n_queries)
        .step_by(cut.queries_per_task)
        .map(|first| Share::new(first, n_queries.min(first + cut.queries_per_task)))
        .collect();
    par.told_as(|_| 0, |par| par.run(shares.iter_mut(), || (), |(), share| share.score_relevant(job)))?;
    let chunks = (0..job.targets.n_items()).step_by(cut.items_per_chunk);
    let (n_shares, n_chunks) = (shares.len(), chunks.len());
    let mut panels = Vec::new();
    for (chunk, first) in chunks.enumerate() {
        let end = job.targets.n_items().min(first + cut.items_per_chunk);
        // Queries count as done in so far as items have passed them.
        let done = |tasks: usize| ((chunk * n_shares + tasks) * cut.queries_per_task / n_chunks).min(n_queries);
        par.told_as(|_| done(0), |par| job.pack_items(par, (first, end), &mut panels))?;
        par.told_as(done, |par| {
            let workspace = || Workspace::new(cut.items_per_block);
            par.run(shares.iter_mut(), workspace, |workspace, share| share.count(job, (first, end), &panels, workspace))
        })?;
    }
    let mut profiles = Profiles::of(&job.targets);
    let n_masked = shares.into_iter().map(|share| share.finish(job, drop_masked, &mut profiles)).sum();
    Ok((profiles, n_masked))
}

/// What is scored and counted.
struct Job<'a, 't, 'e> {
    embeddings: Embeddings<'a>,
    targets: Targets<'t>,
    exclude: Option<Exclusion<'e>>,
}

impl Job<'_, '_, '_> {
    /// Puts the items that are no candidates for a query into `excluded`, rising.
    fn fill_excluded(&self, query: usize, excluded: &mut Vec<u32>) {
        if let Some(exclude) = &self.exclude {
            exclude.fill((query, query), excluded);
        }
    }

    /// Puts the excluded ones of a query's items from `start` below every threshold.
    fn mask(&self, query: usize, start: usize, scores: &mut [f32]) {
        if let Some(exclude) = &self.exclude {
            let items = start..start + scores.len();
            exclude.visit((query, query), items, |item| scores[item - start] = f32::NEG_INFINITY);
        }
    }

    /// The first candidate of a query among items from `start` whose score is not finite.
    fn non_finite(&self, query: usize, start: usize, scores: &[f32]) -> Option<(usize, f32)> {
        if f32::all_finite(scores) {
            return None;
        }
        let odd = scores.iter().enumerate().filter(|(_, score)| !score.is_finite());
        odd.map(|(at, &score)| (start + at, score)).find(|&(item, _)| !self.is_excluded(query, item))
    }

    fn is_excluded(&self, query: usize, item: usize) -> bool {
        self.exclude.is_some_and(|exclude| exclude.has((query, query), item))
    }

    /// Copies items into panels of [`LANES`], each their biases and then dimension after dimension.
    /// Places without an item score -inf, below every threshold.
    fn pack_items(
        &self,
        par: &mut Par<'_>,
        (first, end): (usize, usize),
        panels: &mut Vec<[f32; LANES]>,
    ) -> Result<()> {
        let Embeddings { items, similarity, .. } = self.embeddings;
        let n_dimensions = self.embeddings.n_dimensions();
        panels.resize((end - first).div_ceil(LANES) * (1 + n_dimensions), [0.0; LANES]);
        par.run(
            (first..end).step_by(LANES).zip(panels.chunks_exact_mut(1 + n_dimensions)),
            || vec![0.0; n_dimensions],
            |vector, (first, panel)| {
                for lane in 0..LANES {
                    let item = first + lane;
                    if item < end {
                        items.load(item, similarity, vector);
                        panel[0][lane] = self.embeddings.bias(item);
                    } else {
                        vector.fill(0.0);
                        panel[0][lane] = f32::NEG_INFINITY;
                    }
                    panel[1..].iter_mut().zip(&*vector).for_each(|(values, &value)| values[lane] = value);
                }
                Ok(())
            },
        )?;
        Ok(())
    }
}

/// Queries that one worker takes at a time, and what is known about each.
struct Share {
    first: usize,
    end: usize,
    /// Scores of the relevant candidates, query after query.
    thresholds: Vec<f32>,
    /// Per threshold, the candidates above it and those that equal it.
    counts: Vec<[u32; 2]>,
    /// Per query, how scores are coded and where its thresholds end.
    coders: Vec<(Option<Coder>, usize)>,
}

impl Share {
    fn new(first: usize, end: usize) -> Self {
        Self { first, end, thresholds: Vec::new(), counts: Vec::new(), coders: Vec::new() }
    }

    fn score_relevant(&mut self, job: &Job<'_, '_, '_>) -> Result<()> {
        let Embeddings { queries, items, similarity, .. } = job.embeddings;
        let n_items = job.targets.n_items();
        let [mut query_vector, mut item_vector] = [(); 2].map(|()| vec![0.0; job.embeddings.n_dimensions()]);
        let mut excluded = Vec::new();
        for query in self.first..self.end {
            job.fill_excluded(query, &mut excluded);
            if excluded.len() == n_items {
                return Err(Error::AllMasked { row: query, n_classes: n_items });
            }
            queries.load(query, similarity, &mut query_vector);
            let start = self.thresholds.len();
            for item in job.targets.list(query).0.iter().filter(|&item| excluded.binary_search(item).is_err()) {
                let item = *item as usize;
                items.load(item, similarity, &mut item_vector);
                self.thresholds.push(score(similarity, &query_vector, &item_vector, job.embeddings.bias(item)));
            }
            self.coders.push((Coder::new(&self.thresholds[start..]), self.thresholds.len()));
        }
        self.counts.resize(self.thresholds.len(), [0, 0]);
        Ok(())
    }

    /// Counts a chunk of items for every query of the share.
    fn count(
        &mut self,
        job: &Job<'_, '_, '_>,
        (first, end): (usize, usize),
        panels: &[[f32; LANES]],
        workspace: &mut Workspace,
    ) -> Result<()> {
        let items_per_block = workspace.scores[0].len() * LANES;
        let panels_per_block = workspace.scores[0].len() * (1 + job.embeddings.n_dimensions());
        let mut refused: Option<(usize, usize, f32)> = None;
        workspace.load_queries(&job.embeddings, self.first..self.end);
        for (start, panels) in (first..end).step_by(items_per_block).zip(panels.chunks(panels_per_block)) {
            let items = start..end.min(start + items_per_block);
            for (group, row) in (self.first..self.end).step_by(ROWS).enumerate() {
                workspace.score(&job.embeddings, group, panels);
                for (query, scores) in (row..self.end.min(row + ROWS)).zip(&mut workspace.scores) {
                    let scores = &mut scores.as_flattened_mut()[..items.len()];
                    if let Some((item, value)) = job.non_finite(query, start, scores) {
                        let earlier = refused.is_none_or(|(other, at, _)| (query, item) < (other, at));
                        refused = if earlier { Some((query, item, value)) } else { refused };
                    }
                    job.mask(query, start, scores);
                    count_block(scores, &mut self.thresholds_of(query), &mut workspace.codes);
                }
            }
        }
        refused.map_or(Ok(()), |(query, item, value)| Err(Error::ScoreOverflow { query, item, value }))
    }

    fn thresholds_of(&mut self, query: usize) -> Thresholds<'_> {
        let at = query - self.first;
        let (coder, end) = self.coders[at];
        let start = at.checked_sub(1).map_or(0, |before| self.coders[before].1);
        Thresholds { values: &self.thresholds[start..end], coder, counts: &mut self.counts[start..end] }
    }

    /// Adds the profiles and returns how many relevant items are no candidates.
    fn finish(self, job: &Job<'_, '_, '_>, drop_masked: bool, profiles: &mut Profiles) -> u64 {
        let mut counts = self.counts.into_iter();
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        let mut n_masked = 0;
        for query in self.first..self.end {
            let (relevant, grades) = job.targets.list(query);
            found.clear();
            missing.clear();
            for (at, &item) in relevant.iter().enumerate() {
                let own = RelevantItem { item, grade: grades.get(at).copied().unwrap_or(1.0) };
                if job.is_excluded(query, item as usize) {
                    n_masked += 1;
                    missing.push(own);
                } else if let Some([better, tied]) = counts.next() {
                    found.push((TieGroup { better, tied, relevant: 1 }, own));
                }
            }
            if drop_masked {
                missing.clear();
            }
            profiles.push(&mut found, &missing);
        }
        n_masked
    }
}

/// What one worker computes with.
struct Workspace {
    /// Groups of [`ROWS`] queries, dimension after dimension.
    queries: Vec<[f32; ROWS]>,
    /// Scores of such a group with a block of items.
    scores: [Vec<[f32; LANES]>; ROWS],
    codes: Codes,
}

impl Workspace {
    fn new(items_per_block: usize) -> Self {
        let scores = std::array::from_fn(|_| vec![[0.0; LANES]; items_per_block / LANES]);
        Self { queries: Vec::new(), scores, codes: [0; SCORES_PER_BLOCK] }
    }

    fn load_queries(&mut self, embeddings: &Embeddings<'_>, rows: std::ops::Range<usize>) {
        let n_dimensions = embeddings.n_dimensions();
        let mut vector = vec![0.0; n_dimensions];
        self.queries.clear();
        self.queries.resize(rows.len().div_ceil(ROWS) * n_dimensions, [0.0; ROWS]);
        for (at, row) in rows.enumerate() {
            embeddings.queries.load(row, embeddings.similarity, &mut vector);
            let panel = &mut self.queries[at / ROWS * n_dimensions..];
            panel.iter_mut().zip(&vector).for_each(|(values, &value)| values[at % ROWS] = value);
        }
    }

    fn score(&mut self, embeddings: &Embeddings<'_>, group: usize, panels: &[[f32; LANES]]) {
        let n_dimensions = embeddings.n_dimensions();
        let queries = &self.queries[group * n_dimensions..(group + 1) * n_dimensions];
        score_panels(embeddings.similarity, queries, panels, &mut self.scores.each_mut().map(Vec::as_mut_slice));
    }
}

#[cfg(test)]
mod tests;
