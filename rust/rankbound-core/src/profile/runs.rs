//! Runs in, tie profiles out: long tables of (query, item, score), in any order of their rows.
//!
//! Nothing is sorted: where a relevant item stands is counted.

use std::cmp::Ordering;
use std::ops::Range;

use super::list::{Profiles, RelevantItem, TieGroup};
use super::lists::{OpenTie, close_tie};
use crate::error::{Error, PairProblem, Result};
use crate::input::{Id, IdColumn, IdTable, Ids, RowsByQuery, Targets, Values};
use crate::kernel::{Kernel, column};
use crate::par::Par;

/// Queries handed to a worker at once.
const QUERIES_PER_TASK: usize = 1024;

/// In a query's table of items: the item has been listed.
const LISTED: u32 = u32::MAX - 1;

/// A long table of what was retrieved.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// Query of each row.
    pub queries: Ids<'a>,
    /// Item of each row.
    pub items: Ids<'a>,
    /// Its score, or its rank.
    pub values: Values<'a>,
}

/// What a run is graded against: see [`crate::input::Qrels`].
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    /// Relevant items of each query, as places in `item_ids`.
    pub targets: Targets<'a>,
    /// Judged queries, distinct, of the run's kind.
    pub query_ids: Ids<'a>,
    /// Items that are relevant to any query, distinct, of the run's kind.
    pub item_ids: Ids<'a>,
}

/// How items with equal scores are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieBreak {
    /// Not at all: they tie.
    Expected,
    /// As `trec_eval` does: scores are compared in single precision, then ids as texts, the largest first.
    LargestId,
    /// The values are ranks, lowest first, and none occurs twice in a query.
    Rank,
}

/// How runs are read.
#[derive(Debug, Clone, Copy)]
pub struct RunRules {
    /// How items with equal scores are ordered.
    pub tie_break: TieBreak,
    /// What to do about a tie at the end of a list.
    pub open_tie: OpenTie,
    /// The deepest place any metric looks at; a tie beyond it cannot matter.
    pub cut_off: usize,
}

/// What a run holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunCounts {
    /// Judged queries without a row.
    pub n_missing: usize,
    /// Queries of the run that are not judged.
    pub n_ignored: usize,
    /// Queries that depend on a tie that is open at their end.
    pub n_open: u64,
    /// Most rows of a judged query.
    pub longest: usize,
}

/// The tie profiles of the judged queries of a run.
///
/// # Errors
/// [`Error::Pair`] for the first query, judged ones before others, with an item listed twice, a NaN,
/// a rank taken twice, or (as the rules say) an open tie; [`Error::Shape`] if sizes or kinds of ids
/// contradict one another.
pub fn profile_runs(
    par: &mut Par<'_>,
    run: &Run<'_>,
    judged: &Judged<'_>,
    rules: RunRules,
) -> Result<(Profiles, RunCounts)> {
    let Judged { targets, query_ids, item_ids } = judged;
    if run.items.len() != run.queries.len() || run.values.len() != run.queries.len() {
        return Err(Error::Shape("run: columns differ in length".into()));
    }
    if targets.len() != query_ids.len() || targets.n_items() != item_ids.len() {
        return Err(Error::Shape("qrels: ids and targets differ in length".into()));
    }
    let rows = match (&run.queries, query_ids) {
        (Ids::Integers(queries), Ids::Integers(known)) => RowsByQuery::new(par, queries, &known.all()),
        (Ids::Texts(queries), Ids::Texts(known)) => RowsByQuery::new(par, queries, &known.all()),
        _ => Err(of_two_kinds()),
    }?;
    match (&run.items, item_ids) {
        (Ids::Integers(items), Ids::Integers(known)) => {
            profile_items(par, &rows, items, &run.values, targets, &known.all(), rules)
        }
        (Ids::Texts(items), Ids::Texts(known)) => {
            profile_items(par, &rows, items, &run.values, targets, &known.all(), rules)
        }
        _ => Err(of_two_kinds()),
    }
}

fn of_two_kinds() -> Error {
    Error::Shape("run and qrels: ids of different kinds".into())
}

/// [`profile_runs`] once the rows of each query are known; the first queries are the judged ones.
fn profile_items<C: IdColumn>(
    par: &mut Par<'_>,
    rows: &RowsByQuery,
    items: &C,
    values: &Values<'_>,
    targets: &Targets<'_>,
    item_ids: &[C::Id],
    rules: RunRules,
) -> Result<(Profiles, RunCounts)> {
    let table = items.table(item_ids);
    let empty = || (Profiles::of(targets), RunCounts { n_missing: 0, n_ignored: 0, n_open: 0, longest: 0 });
    let mut parts: Vec<_> = (0..rows.len().div_ceil(QUERIES_PER_TASK)).map(|_| empty()).collect();
    par.run(
        parts.iter_mut().zip((0..rows.len()).step_by(QUERIES_PER_TASK)),
        || Reader::new(table.clone()),
        |reader, ((profiles, counts), first)| {
            for query in first..(first + QUERIES_PER_TASK).min(rows.len()) {
                let is_judged = query < targets.len();
                let (relevant, grades) = if is_judged { targets.list(query) } else { (&[][..], &[][..]) };
                let name = |refused: Refused| refused.of(rows, query);
                reader.load(items, values, rows.stretches(query));
                reader.find(relevant.iter().map(|&item| item_ids[item as usize])).map_err(name)?;
                if rules.tie_break == TieBreak::Rank {
                    reader.check_ranks().map_err(name)?;
                }
                if is_judged {
                    let length = reader.items.len();
                    counts.longest = counts.longest.max(length);
                    counts.n_missing += usize::from(length == 0);
                    reader.place(relevant, grades, rules.tie_break);
                    let open = rules.tie_break == TieBreak::Expected
                        && reader.close(rules.open_tie, rules.cut_off).map_err(name)?;
                    counts.n_open += u64::from(open);
                    profiles.push(&mut reader.found, &reader.missing);
                }
            }
            Ok(())
        },
    )?;
    let (mut whole, mut totals) = empty();
    totals.n_ignored = rows.len() - targets.len();
    let (parts, counts): (Vec<_>, Vec<RunCounts>) = parts.into_iter().unzip();
    whole.append_all(parts);
    for counts in counts {
        totals.n_missing += counts.n_missing;
        totals.n_open += counts.n_open;
        totals.longest = totals.longest.max(counts.longest);
    }
    Ok((whole, totals))
}

/// A row that makes its query unusable.
struct Refused {
    // Its place among the rows of the query.
    row: usize,
    problem: PairProblem,
}

impl Refused {
    fn of(self, rows: &RowsByQuery, query: usize) -> Error {
        Error::Pair { row: rows.row(query, self.row), problem: self.problem }
    }
}

/// Reads one query after another.
struct Reader<I: Id> {
    items: Vec<I>,
    values: Vec<f64>,
    relevant: Vec<I>,
    // Items of the query: LISTED, or the place among the relevant ones of one not met yet.
    seen: I::Table,
    // The row of each relevant item, if it was listed.
    rows: Vec<Option<usize>>,
    thresholds: Vec<f64>,
    counts: Vec<[u32; 2]>,
    found: Vec<(TieGroup, RelevantItem)>,
    missing: Vec<RelevantItem>,
}

impl<I: Id> Reader<I> {
    fn new(seen: I::Table) -> Self {
        Self {
            items: Vec::new(),
            values: Vec::new(),
            relevant: Vec::new(),
            seen,
            rows: Vec::new(),
            thresholds: Vec::new(),
            counts: Vec::new(),
            found: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Copies the rows of a query.
    fn load(
        &mut self,
        items: &impl IdColumn<Id = I>,
        values: &Values<'_>,
        stretches: impl Iterator<Item = Range<usize>>,
    ) {
        self.items.clear();
        self.values.clear();
        for stretch in stretches {
            items.copy(stretch.clone(), &mut self.items);
            values.copy(stretch, &mut self.values);
        }
    }

    /// Finds the rows of the relevant items, and what cannot be ranked.
    fn find(&mut self, relevant: impl Iterator<Item = I>) -> std::result::Result<(), Refused> {
        // They lie far apart in memory: fetched at once, all take hardly longer than one.
        self.relevant.clear();
        self.relevant.extend(relevant);
        self.rows.clear();
        self.rows.resize(self.relevant.len(), None);
        self.seen.reset(self.items.len() + self.relevant.len());
        for (place, &item) in self.relevant.iter().enumerate() {
            self.seen.insert(item, column(place));
        }
        for (row, (&item, value)) in self.items.iter().zip(&self.values).enumerate() {
            if !value.is_finite() {
                return Err(Refused { row, problem: PairProblem::Nan });
            }
            match self.seen.insert(item, LISTED) {
                None => {}
                Some(LISTED) => return Err(Refused { row, problem: PairProblem::Twice }),
                Some(place) => self.rows[place as usize] = Some(row),
            }
        }
        Ok(())
    }

    /// Refuses ranks that occur twice.
    fn check_ranks(&self) -> std::result::Result<(), Refused> {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_unstable_by(|&a, &b| self.values[a].total_cmp(&self.values[b]).then(a.cmp(&b)));
        match order.windows(2).find(|pair| self.values[pair[0]] == self.values[pair[1]]) {
            Some(pair) => Err(Refused { row: pair[1], problem: PairProblem::SameRank(self.values[pair[0]]) }),
            None => Ok(()),
        }
    }

    /// Fills `found` with the relevant items and their tie groups, and `missing` with those that were
    /// not listed.
    fn place(&mut self, relevant: &[u32], grades: &[f64], tie_break: TieBreak) {
        let own =
            |place: usize| RelevantItem { item: relevant[place], grade: grades.get(place).copied().unwrap_or(1.0) };
        self.missing.clear();
        self.missing.extend((0..self.rows.len()).filter(|&place| self.rows[place].is_none()).map(own));
        match tie_break {
            TieBreak::Expected => {}
            // `trec_eval` 9 stores scores as C floats (`TEXT_RESULTS.sim`).
            #[expect(clippy::cast_possible_truncation, reason = "it rounds to nearest, as C does")]
            TieBreak::LargestId => {
                self.values.iter_mut().for_each(|value| *value = f64::from(*value as f32));
            }
            TieBreak::Rank => self.values.iter_mut().for_each(|value| *value = -*value),
        }
        self.thresholds.clear();
        self.thresholds.extend(self.rows.iter().flatten().map(|&row| self.values[row]));
        f64::count_above(&self.values, &self.thresholds, &mut self.counts);
        let is_tied = tie_break != TieBreak::Expected && self.counts.iter().any(|[_, tied]| *tied > 1);
        let ranks = if is_tied { self.rank_by_id() } else { Vec::new() };
        self.found.clear();
        let listed = self.rows.iter().enumerate().filter_map(|(place, &row)| Some((place, row?)));
        for ((place, row), &[better, tied]) in listed.zip(&self.counts) {
            let (better, tied) = ranks.get(row).map_or((better, tied), |&rank| (rank, 1));
            self.found.push((TieGroup { better, tied, relevant: 1 }, own(place)));
        }
    }

    /// The rank of each row, from 0, if equal scores are ordered by falling id.
    fn rank_by_id(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_unstable_by(|&a, &b| {
            // Scores are finite; 0 and -0 are equal.
            let scores = self.values[b].partial_cmp(&self.values[a]).unwrap_or(Ordering::Equal);
            scores.then_with(|| self.items[b].compare_as_text(self.items[a]))
        });
        let mut ranks = vec![0; order.len()];
        order.iter().enumerate().for_each(|(rank, &row)| ranks[row] = column(rank));
        ranks
    }

    /// Deals with the last tie, which items that were not retrieved may share; whether it matters.
    fn close(&mut self, open_tie: OpenTie, cut_off: usize) -> std::result::Result<bool, Refused> {
        let Some(lowest) = self.values.iter().copied().reduce(f64::min) else { return Ok(false) };
        let tied = column(self.values.iter().filter(|value| **value == lowest).count());
        let last = TieGroup { better: column(self.values.len()) - tied, tied, relevant: 1 };
        let holds_relevant = self.found.iter().any(|(at, _)| at.better == last.better);
        if tied == 1 || last.better as usize >= cut_off || (self.missing.is_empty() && !holds_relevant) {
            return Ok(false);
        }
        match open_tie {
            OpenTie::AsListed => {}
            OpenTie::Refuse => {
                let row = self.values.iter().position(|value| *value == lowest).unwrap_or(0);
                return Err(Refused { row, problem: PairProblem::OpenTie(tied) });
            }
            OpenTie::Worst | OpenTie::Best => {
                self.found.sort_unstable_by_key(|(at, _)| at.better);
                let ends = (self.items.len(), None);
                close_tie(&mut self.found, &mut self.missing, last, ends, open_tie == OpenTie::Best);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
