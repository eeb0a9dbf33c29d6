//! Runs in, tie profiles out: long tables of (query, item, score), in any order of their rows.
//!
//! Nothing is sorted: where a relevant item stands is counted.

use std::cmp::Ordering;

use super::list::{Profiles, RelevantItem, TieGroup};
use super::lists::{OpenTie, close_tie};
use crate::error::{Error, PairProblem, Result};
use crate::input::{IdTable, Ids, RowsByQuery, Targets, Values};
use crate::kernel::{Kernel, column};
use crate::par::Par;

/// Queries handed to a worker at once.
const QUERIES_PER_TASK: usize = 1024;

/// In a query's table of items: the item has been listed.
const LISTED: u32 = u32::MAX - 1;

/// A long table of what was retrieved.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Query of each row.
    pub queries: Ids<'a>,
    /// Item of each row.
    pub items: Ids<'a>,
    /// Its score, or its rank.
    pub values: Values<'a>,
}

/// What a run is graded against: see [`crate::input::Qrels`].
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Relevant items of each query, as places in `item_ids`.
    pub targets: Targets<'a>,
    /// Judged queries, distinct.
    pub query_ids: &'a [i64],
    /// Items that are relevant to any query, distinct.
    pub item_ids: &'a [i64],
}

/// How items with equal scores are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieBreak {
    /// Not at all: they tie.
    Expected,
    /// As `trec_eval` does: scores are compared in single precision, then ids, the largest first.
    LargestId,
    /// The same, ids being compared as decimal text.
    LargestIdAsText,
    /// The values are ranks, lowest first, and none occurs twice in a query.
    Rank,
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
/// `cut_off` is the deepest place any metric looks at; an open tie beyond it cannot matter.
///
/// # Errors
/// [`Error::Pair`] for the first query, judged ones before others, with an item listed twice, a NaN,
/// a rank taken twice, or (as `open_tie` says) an open tie; [`Error::Shape`] if sizes contradict one
/// another.
pub fn profile_runs(
    par: &mut Par<'_>,
    run: &Run<'_>,
    judged: &Judged<'_>,
    tie_break: TieBreak,
    open_tie: OpenTie,
    cut_off: usize,
) -> Result<(Profiles, RunCounts)> {
    let Judged { targets, query_ids, item_ids } = judged;
    if run.items.len() != run.queries.len() || run.values.len() != run.queries.len() {
        return Err(Error::Shape("run: columns differ in length".into()));
    }
    if targets.len() != query_ids.len() || targets.n_items() != item_ids.len() {
        return Err(Error::Shape("qrels: ids and targets differ in length".into()));
    }
    let rows = RowsByQuery::new(par, &run.queries, query_ids)?;
    let items = IdTable::new(&[run.items, Ids::Wide(item_ids)]);
    let empty = || (Profiles::of(targets), RunCounts { n_missing: 0, n_ignored: 0, n_open: 0, longest: 0 });
    let mut parts: Vec<_> = (0..rows.len().div_ceil(QUERIES_PER_TASK)).map(|_| empty()).collect();
    par.run(
        parts.iter_mut().zip((0..rows.len()).step_by(QUERIES_PER_TASK)),
        || Reader::new(items.clone()),
        |reader, ((profiles, counts), first)| {
            for query in first..(first + QUERIES_PER_TASK).min(rows.len()) {
                let (id, relevant, grades) = query_ids.get(query).map_or_else(
                    || (rows.others[query - query_ids.len()], &[][..], &[][..]),
                    |&id| (id, targets.list(query).0, targets.list(query).1),
                );
                reader.load(run, &rows, query);
                reader.find(relevant.iter().map(|&item| item_ids[item as usize])).map_err(|refused| refused.of(id))?;
                if tie_break == TieBreak::Rank {
                    reader.check_ranks().map_err(|refused| refused.of(id))?;
                }
                if query < query_ids.len() {
                    let length = reader.items.len();
                    counts.longest = counts.longest.max(length);
                    counts.n_missing += usize::from(length == 0);
                    reader.place(relevant, grades, tie_break);
                    let open = tie_break == TieBreak::Expected
                        && reader.close(open_tie, cut_off).map_err(|refused| refused.of(id))?;
                    counts.n_open += u64::from(open);
                    profiles.push(&mut reader.found, &reader.missing);
                }
            }
            Ok(())
        },
    )?;
    let (mut whole, mut totals) = empty();
    totals.n_ignored = rows.others.len();
    for (profiles, counts) in parts {
        whole.append(profiles);
        totals.n_missing += counts.n_missing;
        totals.n_open += counts.n_open;
        totals.longest = totals.longest.max(counts.longest);
    }
    Ok((whole, totals))
}

/// An item that makes its query unusable.
struct Refused {
    item: i64,
    problem: PairProblem,
}

impl Refused {
    fn of(self, query: i64) -> Error {
        Error::Pair { query, item: self.item, problem: self.problem }
    }
}

/// Reads one query after another.
struct Reader {
    items: Vec<i64>,
    values: Vec<f64>,
    // Items of the query: LISTED, or the place among the relevant ones of one not met yet.
    seen: IdTable,
    // The row of each relevant item, if it was listed.
    rows: Vec<Option<usize>>,
    thresholds: Vec<f64>,
    counts: Vec<[u32; 2]>,
    found: Vec<(TieGroup, RelevantItem)>,
    missing: Vec<RelevantItem>,
}

impl Reader {
    fn new(seen: IdTable) -> Self {
        Self {
            items: Vec::new(),
            values: Vec::new(),
            seen,
            rows: Vec::new(),
            thresholds: Vec::new(),
            counts: Vec::new(),
            found: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Copies the rows of a query.
    fn load(&mut self, run: &Run<'_>, rows: &RowsByQuery, query: usize) {
        self.items.clear();
        self.values.clear();
        for stretch in rows.stretches(query) {
            run.items.copy(stretch.clone(), &mut self.items);
            run.values.copy(stretch, &mut self.values);
        }
    }

    /// Finds the rows of the relevant items, and what cannot be ranked.
    fn find(&mut self, relevant: impl ExactSizeIterator<Item = i64>) -> std::result::Result<(), Refused> {
        self.rows.clear();
        self.rows.resize(relevant.len(), None);
        self.seen.reset(self.items.len() + relevant.len());
        for (place, item) in relevant.enumerate() {
            self.seen.insert(item, column(place));
        }
        for (row, (&item, value)) in self.items.iter().zip(&self.values).enumerate() {
            if !value.is_finite() {
                return Err(Refused { item, problem: PairProblem::Nan });
            }
            match self.seen.insert(item, LISTED) {
                None => {}
                Some(LISTED) => return Err(Refused { item, problem: PairProblem::Twice }),
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
            Some(pair) => {
                Err(Refused { item: self.items[pair[1]], problem: PairProblem::SameRank(self.values[pair[0]]) })
            }
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
            TieBreak::LargestId | TieBreak::LargestIdAsText => {
                self.values.iter_mut().for_each(|value| *value = f64::from(*value as f32));
            }
            TieBreak::Rank => self.values.iter_mut().for_each(|value| *value = -*value),
        }
        self.thresholds.clear();
        self.thresholds.extend(self.rows.iter().flatten().map(|&row| self.values[row]));
        f64::count_above(&self.values, &self.thresholds, &mut self.counts);
        self.found.clear();
        let listed = self.rows.iter().enumerate().filter_map(|(place, &row)| Some((place, row?)));
        for ((place, row), &[mut better, mut tied]) in listed.zip(&self.counts) {
            if tie_break != TieBreak::Expected && tied > 1 {
                better += self.n_larger_ids(row, tie_break);
                tied = 1;
            }
            self.found.push((TieGroup { better, tied, relevant: 1 }, own(place)));
        }
    }

    /// Items with the same score and a larger id.
    fn n_larger_ids(&self, row: usize, tie_break: TieBreak) -> u32 {
        let (item, value) = (self.items[row], self.values[row]);
        let order = if tie_break == TieBreak::LargestIdAsText { compare_as_text } else { |a: i64, b: i64| a.cmp(&b) };
        let same = self.items.iter().zip(&self.values).filter(|(_, other)| **other == value);
        column(same.filter(|(other, _)| order(**other, item).is_gt()).count())
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
                return Err(Refused { item: self.items[row], problem: PairProblem::OpenTie(tied) });
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

/// The order of two integers as decimal text: 10 before 9, and every negative before both.
fn compare_as_text(a: i64, b: i64) -> Ordering {
    // The minus sign comes before the digits; behind equal signs the digits decide.
    let signs = (b < 0).cmp(&(a < 0));
    let [(a, n_a), (b, n_b)] = [a, b].map(|id| {
        let digits = id.unsigned_abs();
        (digits, digits.checked_ilog10().unwrap_or(0))
    });
    let aligned = |digits: u64, n: u32| u128::from(digits) * 10_u128.pow(n_a.max(n_b) - n);
    signs.then_with(|| aligned(a, n_a).cmp(&aligned(b, n_b))).then(n_a.cmp(&n_b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Row = (i64, i64, f64);

    /// Judged are query 3 with items -2 and 10, query 5 with none and query 8 with item 9.
    fn profile(rows: &[Row], tie_break: TieBreak, open_tie: OpenTie) -> Result<(Profiles, RunCounts)> {
        let queries: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let items: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let values: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let run = Run { queries: Ids::Wide(&queries), items: Ids::Wide(&items), values: Values::Wide(&values) };
        let targets = Targets::new(&[0, 2, 2, 3], &[0, 2, 1], Some(&[2.0, 1.0, 3.0]), 3)?;
        let judged = Judged { targets, query_ids: &[3, 5, 8], item_ids: &[-2, 9, 10] };
        Par::unwatched(2, |par| profile_runs(par, &run, &judged, tie_break, open_tie, 100))
    }

    fn group(better: u32, tied: u32, relevant: u32) -> TieGroup {
        TieGroup { better, tied, relevant }
    }

    #[test]
    fn rows_of_a_query_may_stand_anywhere() {
        let rows = [(8, 9, 0.5), (3, 10, 0.1), (7, 9, 1.0), (8, 1, 0.5), (3, 4, 0.2), (8, 2, 0.7)];
        let (profiles, counts) = profile(&rows, TieBreak::Expected, OpenTie::AsListed).unwrap();
        assert_eq!(profiles.list(0).groups, [group(1, 1, 1)]);
        assert_eq!((profiles.list(0).grades, profiles.list(1).n_relevant), (&[1.0, 2.0][..], 0));
        assert_eq!(profiles.list(2).groups, [group(1, 2, 1)]);
        assert_eq!(counts, RunCounts { n_missing: 1, n_ignored: 1, n_open: 1, longest: 3 });
    }

    #[test]
    fn trec_eval_breaks_ties_in_single_precision_by_falling_id() {
        let rows = [(3, 9, 0.5 + 1e-12), (3, 10, 0.5), (3, -2, 0.5), (3, 100, 0.5)];
        let by = |tie_break| profile(&rows, tie_break, OpenTie::AsListed).unwrap().0.list(0).groups.to_vec();
        // Text falls 9, 100, 10, -2; numbers fall 100, 10, 9, -2.
        assert_eq!(by(TieBreak::LargestIdAsText), [group(2, 1, 1), group(3, 1, 1)]);
        assert_eq!(by(TieBreak::LargestId), [group(1, 1, 1), group(3, 1, 1)]);
        assert_eq!(by(TieBreak::Expected), [group(1, 3, 2)]);
    }

    #[test]
    fn ranks_rise_and_none_is_taken_twice() {
        let rows = [(3, 9, 1.0), (3, 10, 3.0), (3, -2, 2.0)];
        let (profiles, _) = profile(&rows, TieBreak::Rank, OpenTie::AsListed).unwrap();
        assert_eq!(profiles.list(0).groups, [group(1, 1, 1), group(2, 1, 1)]);
        let twice = profile(&[(3, 9, 1.0), (3, 10, 1.0)], TieBreak::Rank, OpenTie::AsListed).unwrap_err();
        assert_eq!(twice, Error::Pair { query: 3, item: 10, problem: PairProblem::SameRank(1.0) });
    }

    #[test]
    fn an_open_tie_is_refused_bounded_or_taken_as_complete() {
        let rows = [(3, 4, 0.9), (3, 10, 0.5), (3, 7, 0.5), (8, 9, 1.0)];
        let by = |open_tie| {
            let (profiles, counts) = profile(&rows, TieBreak::Expected, open_tie)?;
            let list = profiles.list(0);
            Ok((list.groups.to_vec(), list.grades.to_vec(), counts.n_open))
        };
        assert_eq!(by(OpenTie::AsListed), Ok((vec![group(1, 2, 1)], vec![1.0, 2.0], 1)));
        assert_eq!(by(OpenTie::Best), Ok((vec![group(1, 1, 1), group(2, 1, 1)], vec![2.0, 1.0], 1)));
        assert_eq!(by(OpenTie::Worst), Ok((vec![], vec![1.0, 2.0], 1)));
        assert_eq!(by(OpenTie::Refuse), Err(Error::Pair { query: 3, item: 10, problem: PairProblem::OpenTie(2) }));
        // All relevant items stand above the tie: nothing depends on it.
        let complete = [(3, 10, 0.9), (3, -2, 0.8), (3, 7, 0.5), (3, 8, 0.5)];
        assert_eq!(profile(&complete, TieBreak::Expected, OpenTie::Refuse).unwrap().1.n_open, 0);
    }

    #[test]
    fn what_cannot_be_ranked_is_named_in_queries_that_are_not_judged_too() {
        for query in [3, 4, 5] {
            let twice =
                profile(&[(query, 1, 1.0), (8, 1, 1.0), (query, 1, 2.0)], TieBreak::Expected, OpenTie::AsListed);
            assert_eq!(twice.unwrap_err(), Error::Pair { query, item: 1, problem: PairProblem::Twice });
            let nan = profile(&[(8, 1, 1.0), (query, 10, f64::NAN)], TieBreak::Expected, OpenTie::AsListed);
            assert_eq!(nan.unwrap_err(), Error::Pair { query, item: 10, problem: PairProblem::Nan });
        }
    }

    proptest! {
        /// Shuffled rows of few scores, so that ties are common.
        #[test]
        fn groups_are_what_counting_finds(
            scores in prop::collection::vec((0_i64..3, 0_i64..12, 0_u8..5), 0..60), by_id: bool,
        ) {
            let mut rows: Vec<Row> = Vec::new();
            for (query, item, score) in scores {
                let query = [3, 8, 5][usize::try_from(query).unwrap()];
                if !rows.iter().any(|row| (row.0, row.1) == (query, item)) {
                    rows.push((query, item, f64::from(score)));
                }
            }
            let tie_break = if by_id { TieBreak::LargestId } else { TieBreak::Expected };
            let (profiles, _) = profile(&rows, tie_break, OpenTie::AsListed).unwrap();
            for (list, query, relevant) in [(0, 3, &[-2, 10][..]), (1, 5, &[]), (2, 8, &[9])] {
                let own: Vec<&Row> = rows.iter().filter(|row| row.0 == query).collect();
                let mut expected: Vec<TieGroup> = Vec::new();
                for row in own.iter().filter(|row| relevant.contains(&row.1)) {
                    let count = |matches: &dyn Fn(&Row) -> bool| column(own.iter().filter(|row| matches(row)).count());
                    let larger = |other: &Row| other.2 > row.2 || (by_id && other.2 == row.2 && other.1 > row.1);
                    let better = count(&larger);
                    let tied = if by_id { 1 } else { count(&|other| other.2 == row.2) };
                    expected.push(group(better, tied, 1));
                }
                expected.sort_unstable_by_key(|at| at.better);
                prop_assert_eq!(profiles.list(list).groups, expected);
                prop_assert_eq!(profiles.list(list).n_relevant as usize, relevant.len());
            }
        }

        #[test]
        fn integers_compare_as_their_text(a: i64, b: i64, shift_a in 0_u32..64, shift_b in 0_u32..64) {
            let (a, b) = (a >> shift_a, b >> shift_b);
            for (a, b) in [(a, b), (a, a), (a, a / 10), (i64::MIN, b), (0, b)] {
                prop_assert_eq!(compare_as_text(a, b), a.to_string().cmp(&b.to_string()));
            }
        }
    }
}
