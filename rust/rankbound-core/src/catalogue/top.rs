//! The top K of one list as tie groups of items, from a row of scores or from a ranked list.

use crate::error::{Error, Result};
use crate::input::Score;
use crate::kernel::{BLOCK, TopK, column};
use crate::profile::{Finder, check_scores};

/// What is in the top K of a list by every order of its ties, and what shares the places left.
#[derive(Debug, Default)]
pub(super) struct Top {
    /// Items above the group that holds place K, best first.
    pub(super) above: Vec<u32>,
    /// Where each of their tie groups ends.
    ends: Vec<usize>,
    /// The group that holds place K; empty if the list is shorter.
    pub(super) members: Vec<u32>,
    /// Places left for that group: all of its members, or fewer.
    pub(super) slots: usize,
}

/// A tie group of a top K.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'a> {
    /// Items above the group (`b`).
    pub(super) better: usize,
    /// Its items (`t` of them).
    pub(super) items: &'a [u32],
    /// Places of the top K that it takes (`s`).
    pub(super) slots: usize,
}

impl Group<'_> {
    /// Probability of each item of being in the top K.
    pub(super) fn inclusion(self) -> f64 {
        self.slots as f64 / self.items.len() as f64
    }
}

impl Top {
    /// Items of the top K: K, or fewer if the list is shorter.
    pub(super) fn len(&self) -> usize {
        self.above.len() + self.slots
    }

    /// The tie groups, best first.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let above = starts.zip(&self.ends).map(|(&start, &end)| Group {
            better: start,
            items: &self.above[start..end],
            slots: end - start,
        });
        let at_cut = Group { better: self.above.len(), items: &self.members, slots: self.slots };
        above.chain((self.slots > 0).then_some(at_cut))
    }

    fn clear(&mut self) {
        self.above.clear();
        self.ends.clear();
        self.members.clear();
        self.slots = 0;
    }

    /// Takes the top K that was found in a row of scores.
    pub(super) fn take<T: Score>(&mut self, top: &TopK<T>, row: &[T]) {
        self.clear();
        let score = |item: u32| row[item as usize];
        self.above.extend_from_slice(&top.above);
        self.above.sort_unstable_by(|&a, &b| {
            score(b).partial_cmp(&score(a)).expect("scores are ordered: NaN was refused").then(a.cmp(&b))
        });
        let groups = self.above.chunk_by(|&a, &b| score(a) == score(b));
        self.ends.extend(groups.scan(0, |end, group| {
            *end += group.len();
            Some(*end)
        }));
        let Some(cut) = top.cut else { return };
        self.slots = cut.slots as usize;
        for &(block, _) in &top.tied_blocks {
            let places = block * BLOCK..row.len().min((block + 1) * BLOCK);
            self.members.extend(places.filter(|&at| row[at] == cut.value).map(column));
        }
    }
}

/// How ranked lists are read.
#[derive(Debug, Clone, Copy)]
pub struct TopRules {
    /// The cut-off, at least 1.
    pub k: usize,
    /// Whether a tie at the end of a list is taken as complete instead of refused.
    pub as_listed: bool,
    /// Whether an item listed again is left out instead of refused.
    pub keep_first: bool,
    /// Whether it is checked that scores fall; that they are finite is checked in any case.
    pub check_scores: bool,
}

/// Reads the top K of ranked lists.
pub(super) struct ListReader {
    finder: Finder,
    items: Vec<u32>,
    scores: Vec<f64>,
    n_items: usize,
}

impl ListReader {
    pub(super) fn new(n_items: usize) -> Self {
        Self { finder: Finder::new(n_items), items: Vec::new(), scores: Vec::new(), n_items }
    }

    /// Takes the top K of a ranked list; without scores its order is the order.
    pub(super) fn read<I: Copy + Into<i64>>(
        &mut self,
        top: &mut Top,
        list: usize,
        items: &[I],
        scores: Option<&[f64]>,
        rules: TopRules,
    ) -> Result<()> {
        top.clear();
        let kept = self.finder.check(list, items, rules.keep_first)?;
        self.items.clear();
        self.scores.clear();
        let code = |item: I| u32::try_from(item.into()).expect("known items are codes");
        match kept {
            None => self.items.extend(items.iter().map(|&item| code(item))),
            Some(kept) => self.items.extend(kept.iter().map(|&at| code(items[at]))),
        }
        let Some(scores) = scores else {
            let (first, rest) = self.items.split_at(self.items.len().min(rules.k - 1));
            top.above.extend_from_slice(first);
            top.ends.extend(1..=first.len());
            top.members.extend(rest.first());
            top.slots = top.members.len();
            return Ok(());
        };
        check_scores(list, scores, rules.check_scores)?;
        match kept {
            None => self.scores.extend_from_slice(scores),
            Some(kept) => self.scores.extend(kept.iter().map(|&at| scores[at])),
        }
        let mut end = 0;
        for group in self.scores.chunk_by(|a, b| a == b) {
            let start = end;
            end += group.len();
            let open = end == self.items.len() && end - start > 1 && end < self.n_items;
            if open && !rules.as_listed {
                return Err(Error::OpenTop { list, k: rules.k, tied: end - start, length: end });
            }
            if end >= rules.k {
                top.members.extend_from_slice(&self.items[start..end]);
                top.slots = rules.k - start;
                break;
            }
            top.above.extend_from_slice(&self.items[start..end]);
            top.ends.push(end);
        }
        Ok(())
    }
}
