//! Ranked lists in, tie profiles out: where the relevant items stand in what was listed.

use super::list::{Profiles, RelevantItem, TieGroup};
use super::marks::{Bits, Mark, Marks, Numbers};
use crate::error::{Error, Result};
use crate::input::{Column, Targets, Values};
use crate::kernel::column;
use crate::par::Par;

/// Lists handed to a worker at once.
const LISTS_PER_TASK: usize = 1024;

/// Ranked items of many lists.
#[derive(Debug, Clone, Copy)]
pub struct ItemLists<'a, I> {
    /// Items, best first, list after list.
    pub items: &'a [I],
    /// Their scores, falling within a list; without, the order is the order.
    pub scores: Option<Values<'a>>,
    /// Where each list starts among the items.
    pub starts: &'a [usize],
    /// How many items each list has.
    pub lengths: &'a [usize],
}

impl<I> ItemLists<'_, I> {
    /// Checks that the lists lie within the items and scores.
    pub(crate) fn check_sizes(&self, n_lists: usize) -> Result<()> {
        let ends = self.starts.iter().zip(self.lengths).map(|(start, length)| start.saturating_add(*length));
        if self.starts.len() != n_lists || self.lengths.len() != n_lists || ends.max().unwrap_or(0) > self.items.len() {
            return Err(Error::Shape(format!("{n_lists} lists do not fit the items listed")));
        }
        if self.scores.is_some_and(|scores| scores.len() != self.items.len()) {
            return Err(Error::Shape("there must be one score per listed item".into()));
        }
        Ok(())
    }

    /// The items of a list and their scores, which go through `buffer` if they are not of 64 bits.
    pub(crate) fn list<'b>(&'b self, list: usize, buffer: &'b mut Vec<f64>) -> (&'b [I], Option<&'b [f64]>) {
        let within = self.starts[list]..self.starts[list] + self.lengths[list];
        let scores = self.scores.as_ref().map(|scores| match scores {
            Column::Wide(scores) => &scores[within.clone()],
            Column::Narrow(_) => {
                buffer.clear();
                scores.copy(within.clone(), buffer);
                buffer
            }
        });
        (&self.items[within], scores)
    }
}

/// What to do about a tie at the end of a list, which items beyond it may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenTie {
    /// Refuse, if a value depends on it.
    Refuse,
    /// Put the relevant items behind everything that may be in the tie: the least it can be worth.
    Worst,
    /// Put the relevant items first, those not listed included: the most it can be worth.
    Best,
    /// Take the tie as complete.
    AsListed,
}

/// How lists are read.
#[derive(Debug, Clone, Copy)]
pub struct ListRules {
    /// What to do about a tie at the end of a list.
    pub open_tie: OpenTie,
    /// The deepest place any metric looks at; a tie beyond it cannot matter.
    pub cut_off: usize,
    /// Whether an item listed again is left out instead of refused.
    pub keep_first: bool,
    /// Whether it is checked that scores fall; that they are finite is checked in any case.
    pub check_scores: bool,
}

/// The tie profiles of ranked lists, and how many of them depend on a tie that is open at the end.
///
/// # Errors
/// The first list with an item that is unknown or listed twice, a NaN or rising score, or an open tie,
/// as the rules say; [`Error::Shape`] if sizes contradict one another.
pub fn profile_lists<I>(
    par: &mut Par<'_>,
    lists: &ItemLists<'_, I>,
    targets: &Targets<'_>,
    rules: ListRules,
) -> Result<(Profiles, u64)>
where
    I: Copy + Into<i64> + Sync,
{
    let n_lists = targets.len();
    lists.check_sizes(n_lists)?;
    let mut parts: Vec<(Profiles, u64)> =
        (0..n_lists.div_ceil(LISTS_PER_TASK)).map(|_| (Profiles::of(targets), 0)).collect();
    par.run(
        parts.iter_mut().zip((0..n_lists).step_by(LISTS_PER_TASK)),
        || (Finder::new(targets.n_items()), Vec::new()),
        |(finder, buffer), ((profiles, n_open), first)| {
            for list in first..(first + LISTS_PER_TASK).min(n_lists) {
                let (items, scores) = lists.list(list, buffer);
                *n_open += u64::from(finder.profile(list, items, scores, targets, rules, profiles)?);
            }
            Ok(())
        },
    )?;
    let (parts, n_open): (Vec<_>, Vec<u64>) = parts.into_iter().unzip();
    let mut whole = Profiles::of(targets);
    whole.append_all(parts);
    Ok((whole, n_open.iter().sum()))
}

/// Finds a list's relevant items among those listed, and items listed twice.
pub(crate) struct Finder {
    marks: AnyMarks,
    n_items: usize,
    found: Vec<(TieGroup, RelevantItem)>,
    missing: Vec<RelevantItem>,
    // Place and item of the relevant ones that are listed, and the items of those that are not.
    positions: Vec<(u32, u32)>,
    absent: Vec<u32>,
    // Positions of the items listed for the first time, if others were left out.
    kept: Vec<usize>,
    kept_scores: Vec<f64>,
}

enum AnyMarks {
    Numbers(Numbers),
    Bits(Bits),
}

/// Up to this many items numbers are faster than bits.
const FEW_ITEMS: usize = 1 << 20;

impl Finder {
    pub(crate) fn new(n_items: usize) -> Self {
        let few = n_items <= FEW_ITEMS;
        Self {
            marks: if few { AnyMarks::Numbers(Numbers::new(n_items)) } else { AnyMarks::Bits(Bits::new(n_items)) },
            n_items,
            found: Vec::new(),
            missing: Vec::new(),
            positions: Vec::new(),
            absent: Vec::new(),
            kept: Vec::new(),
            kept_scores: Vec::new(),
        }
    }

    /// Adds the profile of one list; whether its value depends on an open tie.
    fn profile<I: Copy + Into<i64>>(
        &mut self,
        list: usize,
        items: &[I],
        scores: Option<&[f64]>,
        targets: &Targets<'_>,
        rules: ListRules,
        profiles: &mut Profiles,
    ) -> Result<bool> {
        let (relevant, grades) = targets.list(list);
        self.find(list, items, relevant, rules.keep_first)?;
        let own = |item: u32| {
            let grade =
                if grades.is_empty() { 1.0 } else { relevant.binary_search(&item).map_or(1.0, |at| grades[at]) };
            RelevantItem { item, grade }
        };
        self.missing.clear();
        self.missing.extend(self.absent.iter().map(|&item| own(item)));
        let found = self.positions.iter().map(|&(place, item)| (place, own(item)));
        let Some(scores) = scores else {
            profiles.push_untied(found, &self.missing);
            return Ok(false);
        };
        self.found.clear();
        self.found.extend(found.map(|(better, own)| (TieGroup { better, tied: 1, relevant: 1 }, own)));
        check_scores(list, scores, rules.check_scores)?;
        let n_listed = if rules.keep_first { self.kept.len() } else { items.len() };
        let last = self.tie(scores, n_listed);
        let open = last.tied > 1
            && n_listed < targets.n_items()
            && (last.better as usize) < rules.cut_off
            && (!self.missing.is_empty() || self.found.last().is_some_and(|(at, _)| at.better == last.better));
        if open {
            match rules.open_tie {
                OpenTie::AsListed => {}
                OpenTie::Refuse => {
                    return Err(Error::OpenTie { list, tied: last.tied as usize, length: n_listed });
                }
                OpenTie::Worst | OpenTie::Best => {
                    let ends = (n_listed, Some(targets.n_items()));
                    close_tie(&mut self.found, &mut self.missing, last, ends, rules.open_tie == OpenTie::Best);
                }
            }
        }
        profiles.push(&mut self.found, &self.missing);
        Ok(open)
    }

    /// Refuses a list with items that are unknown or listed twice, and returns the positions that
    /// are left if only some are.
    pub(crate) fn check<I: Copy + Into<i64>>(
        &mut self,
        list: usize,
        items: &[I],
        keep_first: bool,
    ) -> Result<Option<&[usize]>> {
        self.find(list, items, &[], keep_first)?;
        Ok((keep_first && self.kept.len() < items.len()).then_some(&self.kept))
    }

    /// Fills `positions` with the places of the relevant items, rising, `absent` with those that are
    /// not listed, and with `keep_first` also `kept`.
    fn find<I: Copy + Into<i64>>(
        &mut self,
        list: usize,
        items: &[I],
        relevant: &[u32],
        keep_first: bool,
    ) -> Result<()> {
        self.positions.clear();
        self.absent.clear();
        self.kept.clear();
        let Self { marks, n_items, positions, absent, kept, .. } = self;
        let (n_items, places, kept) = (*n_items, (positions, absent), keep_first.then_some(kept));
        let located = match marks {
            AnyMarks::Numbers(marks) => locate(marks, items, relevant, places, kept),
            AnyMarks::Bits(marks) => locate(marks, items, relevant, places, kept),
        };
        located.map_err(|position| {
            let item: i64 = items[position].into();
            if usize::try_from(item).is_ok_and(|item| item < n_items) {
                let first = items.iter().position(|&other| other.into() == item).unwrap_or(0);
                Error::DuplicateItem { list, item, first, second: position }
            } else {
                Error::UnknownItem { list, position, item, n_items }
            }
        })
    }

    /// Replaces the places found by the tie groups they lie in, and returns the last group.
    fn tie(&mut self, scores: &[f64], n_listed: usize) -> TieGroup {
        let scores = if n_listed < scores.len() {
            self.kept_scores.clear();
            self.kept_scores.extend(self.kept.iter().map(|&position| scores[position]));
            &self.kept_scores
        } else {
            scores
        };
        let mut group = TieGroup { better: 0, tied: 0, relevant: 0 };
        let mut found = self.found.iter_mut().peekable();
        for of_group in scores.chunk_by(|a, b| a == b) {
            group = TieGroup { better: group.better + group.tied, tied: column(of_group.len()), relevant: 1 };
            while let Some((at, _)) = found.next_if(|(at, _)| at.better < group.better + group.tied) {
                *at = group;
            }
        }
        group
    }
}

/// Finds the places of the relevant items, rising, the relevant items that are not listed, and the
/// positions that are `kept`, if items listed again are left out.
///
/// The position of the first item that is unknown, or, unless they are left out, listed again.
fn locate<I: Copy + Into<i64>>(
    marks: &mut impl Marks,
    items: &[I],
    relevant: &[u32],
    (positions, absent): (&mut Vec<(u32, u32)>, &mut Vec<u32>),
    mut kept: Option<&mut Vec<usize>>,
) -> std::result::Result<(), usize> {
    let number = |item: I| u32::try_from(item.into()).ok();
    marks.start();
    relevant.iter().for_each(|&item| marks.seek(item));
    for (position, &item) in items.iter().enumerate() {
        let Some((item, before)) = number(item).and_then(|item| Some((item, marks.list(item)?))) else {
            return Err(position);
        };
        if before == Mark::Listed {
            if kept.is_none() {
                return Err(position);
            }
            continue;
        }
        if before == Mark::Relevant {
            let place = kept.as_ref().map_or(position, |kept| kept.len());
            positions.push((column(place), item));
        }
        if let Some(kept) = &mut kept {
            kept.push(position);
        }
    }
    absent.extend(relevant.iter().filter(|&&item| marks.mark(item) == Mark::Relevant));
    marks.end(items.iter().filter_map(|&item| number(item)).chain(relevant.iter().copied()));
    Ok(())
}

/// Puts the relevant items that may be in the last group, which may reach to the end of the
/// catalogue, where they are worth most or least: first by falling grade, or last of all items by
/// rising grade. Those that come to stand beyond the end of the list are not in it.
///
/// `found` is in rising order of `better`. Of a list of `n_listed` items out of an unknown number the
/// catalogue ends beyond every list.
pub(super) fn close_tie(
    found: &mut Vec<(TieGroup, RelevantItem)>,
    missing: &mut Vec<RelevantItem>,
    last: TieGroup,
    (n_listed, n_items): (usize, Option<usize>),
    favourable: bool,
) {
    let start = found.partition_point(|(at, _)| at.better < last.better);
    let mut tied: Vec<RelevantItem> = found.drain(start..).map(|(_, own)| own).collect();
    tied.append(missing);
    tied.sort_unstable_by(|own, other| own.grade.total_cmp(&other.grade));
    let mut first = n_items.unwrap_or(usize::MAX) - tied.len();
    if favourable {
        tied.reverse();
        first = last.better as usize;
    }
    let n_inside = n_listed.saturating_sub(first).min(tied.len());
    missing.extend_from_slice(&tied[n_inside..]);
    let place = |(place, &own)| (TieGroup { better: column(first + place), tied: 1, relevant: 1 }, own);
    found.extend(tied[..n_inside].iter().enumerate().map(place));
}

/// Refuses scores that are not finite, or, if they must fall, rise.
pub(crate) fn check_scores(list: usize, scores: &[f64], fall: bool) -> Result<()> {
    let refuse = |position: usize, rule| Err(Error::ListScore { list, position, value: scores[position], rule });
    if let Some(position) = scores.iter().position(|score| !score.is_finite()) {
        return refuse(position, "be finite; end a list before items that are no candidates, with lengths=");
    }
    let rise = || scores.windows(2).position(|pair| pair[0] < pair[1]);
    match fall.then(rise).flatten() {
        Some(before) => refuse(before + 1, "not rise from one item to the next; sort each list"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(items: &[i64], scores: Option<&[f64]>, relevant: &[u32], open_tie: OpenTie) -> Result<(Profiles, u64)> {
        let starts = [0, i64::try_from(relevant.len()).unwrap()];
        let targets = Targets::new(&starts, relevant, None, 9)?;
        let lists = ItemLists { items, scores: scores.map(Column::Wide), starts: &[0], lengths: &[items.len()] };
        Par::unwatched(2, |par| profile_lists(par, &lists, &targets, ListRules { open_tie, ..RULES }))
    }

    const RULES: ListRules =
        ListRules { open_tie: OpenTie::Refuse, cut_off: 100, keep_first: false, check_scores: true };

    #[test]
    fn an_item_listed_again_can_be_left_out_with_its_score() {
        let targets = Targets::new(&[0, 2], &[1, 5], None, 9).unwrap();
        let (items, scores) = ([1_i64, 1, 1, 5], [0.9_f32, 0.8, 0.5, 0.5]);
        let lists = ItemLists { items: &items, scores: Some(Column::Narrow(&scores)), starts: &[0], lengths: &[4] };
        let rules = ListRules { keep_first: true, ..RULES };
        let (profiles, open) = Par::unwatched(1, |par| profile_lists(par, &lists, &targets, rules)).unwrap();
        assert_eq!((profiles.list(0).groups, open), (&[group(0, 1, 1), group(1, 1, 1)][..], 0));
    }

    fn group(better: u32, tied: u32, relevant: u32) -> TieGroup {
        TieGroup { better, tied, relevant }
    }

    #[test]
    fn without_scores_the_order_is_the_order() {
        let (profiles, open) = profile(&[4, 2, 7], None, &[0, 4, 7], OpenTie::Refuse).unwrap();
        assert_eq!(profiles.list(0).groups, [group(0, 1, 1), group(2, 1, 1)]);
        assert_eq!((profiles.list(0).n_relevant, open), (3, 0));
    }

    #[test]
    fn large_catalogues_are_read_alike() {
        for n_items in [9, FEW_ITEMS, FEW_ITEMS + 1] {
            let mut finder = Finder::new(n_items);
            finder.find(0, &[4, 2, 7], &[2, 8], false).unwrap();
            assert_eq!((&finder.positions[..], &finder.absent[..]), (&[(1, 2)][..], &[8][..]));
            finder.find(1, &[2, 2, 4], &[2, 4], true).unwrap();
            assert_eq!((&finder.positions[..], &finder.kept[..]), (&[(0, 2), (1, 4)][..], &[0, 2][..]));
            let last = i64::try_from(n_items).unwrap() - 1;
            assert_eq!(finder.find(2, &[last, 0], &[], false), Ok(()));
            let unknown = Error::UnknownItem { list: 3, position: 0, item: last + 1, n_items };
            assert_eq!(finder.find(3, &[last + 1], &[], false), Err(unknown));
        }
    }

    #[test]
    fn equal_scores_are_ties() {
        let scores = [0.9, 0.5, 0.5, 0.5, 0.1];
        let (profiles, open) = profile(&[4, 2, 7, 1, 0], Some(&scores), &[0, 1, 2], OpenTie::Refuse).unwrap();
        assert_eq!(profiles.list(0).groups, [group(1, 3, 2), group(4, 1, 1)]);
        assert_eq!(open, 0);
    }

    #[test]
    fn an_open_tie_is_refused_bounded_or_taken_as_complete() {
        let (items, scores) = ([4, 2, 7], Some(&[0.9, 0.5, 0.5][..]));
        let by = |open_tie| {
            profile(&items, scores, &[0, 2], open_tie).map(|(profiles, open)| (profiles.list(0).groups.to_vec(), open))
        };
        assert_eq!(by(OpenTie::Refuse), Err(Error::OpenTie { list: 0, tied: 2, length: 3 }));
        assert_eq!(by(OpenTie::AsListed), Ok((vec![group(1, 2, 1)], 1)));
        assert_eq!(by(OpenTie::Best), Ok((vec![group(1, 1, 1), group(2, 1, 1)], 1)));
        assert_eq!(by(OpenTie::Worst), Ok((vec![], 1)));
        // All relevant items stand above the tie: nothing depends on it.
        assert_eq!(profile(&items, scores, &[4], OpenTie::Refuse).unwrap().1, 0);
    }

    #[test]
    fn what_is_wrong_with_a_list_is_named() {
        let refused = |items: &[i64], scores| profile(items, scores, &[0], OpenTie::AsListed).unwrap_err();
        assert_eq!(refused(&[1, 2, 1], None), Error::DuplicateItem { list: 0, item: 1, first: 0, second: 2 });
        assert_eq!(refused(&[0, 2, 0], None), Error::DuplicateItem { list: 0, item: 0, first: 0, second: 2 });
        for item in [-1, 9] {
            assert_eq!(refused(&[1, item], None), Error::UnknownItem { list: 0, position: 1, item, n_items: 9 });
        }
        assert!(matches!(refused(&[1, 2], Some(&[1.0, f64::NAN])), Error::ListScore { position: 1, .. }));
        assert!(matches!(refused(&[1, 2], Some(&[1.0, -f64::INFINITY])), Error::ListScore { position: 1, .. }));
        assert!(matches!(refused(&[1, 2], Some(&[1.0, 2.0])), Error::ListScore { position: 1, .. }));
        assert!(check_scores(0, &[1.0, 2.0], false).is_ok() && check_scores(0, &[1.0, f64::NAN], false).is_err());
    }
}
