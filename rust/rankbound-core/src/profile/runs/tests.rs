use proptest::prelude::*;

use super::*;
use crate::input::{Column, TextList, Texts};

type Row = (i64, i64, f64);

/// Judged are query 3 with items -2 and 10, query 5 with none and query 8 with item 9; ids as texts
/// give the same as ids that are integers.
fn profile(rows: &[Row], tie_break: TieBreak, open_tie: OpenTie) -> Result<(Profiles, RunCounts)> {
    let values: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let targets = Targets::new(&[0, 2, 2, 3], &[0, 2, 1], Some(&[2.0, 1.0, 3.0]), 3)?;
    let columns = [
        rows.iter().map(|row| row.0).collect(),
        rows.iter().map(|row| row.1).collect(),
        vec![3, 5, 8],
        vec![-2, 9, 10],
    ];
    let texts = columns.each_ref().map(|ids: &Vec<i64>| {
        let texts: Vec<String> = ids.iter().map(i64::to_string).collect();
        texts.iter().map(String::as_bytes).collect::<TextList>()
    });
    let integers = columns.each_ref().map(|ids| Ids::Integers(Column::Wide(ids)));
    let texts = texts.each_ref().map(|list| Ids::Texts(Texts::joined(&list.bytes, &list.starts).unwrap()));
    let [of_integers, of_texts] = [integers, texts].map(|[queries, items, query_ids, item_ids]| {
        let run = Run { queries, items, values: Values::Wide(&values) };
        let judged = Judged { targets, query_ids, item_ids };
        let rules = RunRules { tie_break, open_tie, cut_off: 100 };
        Par::unwatched(2, |par| profile_runs(par, &run, &judged, rules))
    });
    assert_eq!(of_integers, of_texts);
    of_integers
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
    // Text falls 9, 100, 10, -2.
    assert_eq!(by(TieBreak::LargestId), [group(2, 1, 1), group(3, 1, 1)]);
    assert_eq!(by(TieBreak::Expected), [group(1, 3, 2)]);
}

#[test]
fn ranks_rise_and_none_is_taken_twice() {
    let rows = [(3, 9, 1.0), (3, 10, 3.0), (3, -2, 2.0)];
    let (profiles, _) = profile(&rows, TieBreak::Rank, OpenTie::AsListed).unwrap();
    assert_eq!(profiles.list(0).groups, [group(1, 1, 1), group(2, 1, 1)]);
    let twice = profile(&[(3, 9, 1.0), (3, 10, 1.0)], TieBreak::Rank, OpenTie::AsListed).unwrap_err();
    assert_eq!(twice, Error::Pair { row: 1, problem: PairProblem::SameRank(1.0) });
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
    assert_eq!(by(OpenTie::Refuse), Err(Error::Pair { row: 1, problem: PairProblem::OpenTie(2) }));
    // All relevant items stand above the tie: nothing depends on it.
    let complete = [(3, 10, 0.9), (3, -2, 0.8), (3, 7, 0.5), (3, 8, 0.5)];
    assert_eq!(profile(&complete, TieBreak::Expected, OpenTie::Refuse).unwrap().1.n_open, 0);
}

#[test]
fn what_cannot_be_ranked_is_named_in_queries_that_are_not_judged_too() {
    for query in [3, 4, 5] {
        let twice = profile(&[(query, 1, 1.0), (8, 1, 1.0), (query, 1, 2.0)], TieBreak::Expected, OpenTie::AsListed);
        assert_eq!(twice.unwrap_err(), Error::Pair { row: 2, problem: PairProblem::Twice });
        let nan = profile(&[(8, 1, 1.0), (query, 10, f64::NAN)], TieBreak::Expected, OpenTie::AsListed);
        assert_eq!(nan.unwrap_err(), Error::Pair { row: 1, problem: PairProblem::Nan });
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
                let larger = |other: &Row| {
                    other.2 > row.2 || (by_id && other.2 == row.2 && other.1.to_string() > row.1.to_string())
                };
                let better = count(&larger);
                let tied = if by_id { 1 } else { count(&|other| other.2 == row.2) };
                expected.push(group(better, tied, 1));
            }
            expected.sort_unstable_by_key(|at| at.better);
            prop_assert_eq!(profiles.list(list).groups, expected);
            prop_assert_eq!(profiles.list(list).n_relevant as usize, relevant.len());
        }
    }
}
