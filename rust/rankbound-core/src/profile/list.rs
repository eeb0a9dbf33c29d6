//! Lists with any number of relevant items: the tie groups that hold them.

use crate::error::{Error, Result};
use crate::input::Targets;
use crate::kernel::column;

/// A tie group of a list that holds at least one relevant item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TieGroup {
    /// Candidates that score strictly higher (`b`).
    pub better: u32,
    /// Candidates in the group (`t`).
    pub tied: u32,
    /// Relevant ones among them (`r`), at least 1.
    pub relevant: u32,
}

/// A relevant item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelevantItem {
    /// The item.
    pub item: u32,
    /// Its grade; 1 if grades do not matter.
    pub grade: f64,
}

/// One list: its tie groups from the top down, and what its relevant items are worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TieProfile<'a> {
    /// Groups in rising order of `better`.
    pub groups: &'a [TieGroup],
    /// Relevant items of the list (`R`), those that are no candidates included.
    pub n_relevant: u32,
    /// Grades of all relevant items, group after group and falling within one, then those of items
    /// that are no candidates; empty if every grade is 1.
    pub grades: &'a [f64],
}

impl<'a> TieProfile<'a> {
    /// Each group with the grades in it.
    pub fn graded_groups(self) -> impl Iterator<Item = (TieGroup, &'a [f64])> {
        let mut rest = self.grades;
        self.groups.iter().map(move |&group| {
            let (own, others) = rest.split_at((group.relevant as usize).min(rest.len()));
            rest = others;
            (group, own)
        })
    }

    /// Whether the order of equal scores can matter to any metric.
    pub fn has_ties(self) -> bool {
        self.groups.iter().any(|group| group.tied > 1)
    }
}

/// The tie profiles of many lists, one after another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profiles {
    // Where each list's groups end.
    ends: Vec<usize>,
    groups: Vec<TieGroup>,
    n_relevant: Vec<u32>,
    // Each list's grades, as many as it has relevant items; none if no list is graded.
    grades: Option<Vec<f64>>,
    // The items that have them, if any group of items is to be looked at.
    items: Option<Vec<u32>>,
    // Where the grades and items of each list end, if there are any.
    relevant_ends: Vec<usize>,
}

impl Profiles {
    /// No lists yet; they will have the grades of the targets, and their items if the targets keep them.
    pub fn of(targets: &Targets<'_>) -> Self {
        Self {
            grades: targets.is_graded().then(Vec::new),
            items: targets.keeps_items().then(Vec::new),
            ..Self::default()
        }
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no list.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Relevant items of each list.
    pub fn n_relevant(&self) -> &[u32] {
        &self.n_relevant
    }

    /// The groups of all lists, and where those of each list end.
    pub fn groups(&self) -> (&[TieGroup], &[usize]) {
        (&self.groups, &self.ends)
    }

    /// The largest grade; 1 if the lists are not graded.
    pub fn largest_grade(&self) -> f64 {
        self.grades.as_ref().map_or(1.0, |grades| grades.iter().copied().fold(0.0, f64::max))
    }

    /// The last place that a group with relevant items takes, and the most relevant items of a list:
    /// no metric reads a rank beyond both.
    pub fn depth(&self) -> usize {
        let last = self.groups.iter().map(|group| group.better as usize + group.tied as usize).max();
        let relevant = self.n_relevant.iter().map(|&count| count as usize).max();
        last.unwrap_or(0).max(relevant.unwrap_or(0))
    }

    /// One list.
    ///
    /// # Panics
    /// If there is no such list.
    pub fn list(&self, list: usize) -> TieProfile<'_> {
        let grades = self.grades.as_ref().map_or(&[][..], |grades| &grades[self.relevant_range(list)]);
        let start = list.checked_sub(1).map_or(0, |before| self.ends[before]);
        TieProfile { groups: &self.groups[start..self.ends[list]], n_relevant: self.n_relevant[list], grades }
    }

    /// The profiles against the relevant items whose code is `code` alone; all others stay candidates.
    ///
    /// # Errors
    /// [`Error::Shape`] if the profiles do not know their items, or an item has no code.
    pub fn of_group(&self, codes: &[i32], code: i32) -> Result<Self> {
        let Some(items) = &self.items else { return Err(Error::Shape("the profiles do not know their items".into())) };
        if let Some(item) = items.iter().find(|item| codes.len() <= **item as usize) {
            return Err(Error::Shape(format!("item {item} has no group: there are {} codes", codes.len())));
        }
        let mut of = Self { grades: self.grades.as_ref().map(|_| Vec::new()), ..Self::default() };
        for list in 0..self.len() {
            let mut keep = |places: std::ops::Range<usize>| {
                let kept = places.filter(|&at| codes[items[at] as usize] == code);
                kept.map(|at| of.grades.iter_mut().zip(&self.grades).for_each(|(own, all)| own.push(all[at]))).count()
            };
            let range = self.relevant_range(list);
            let mut at = range.start;
            let mut n_relevant = 0;
            for &group in self.list(list).groups {
                let next = at + group.relevant as usize;
                let relevant = column(keep(at..next));
                if relevant > 0 {
                    of.groups.push(TieGroup { relevant, ..group });
                }
                n_relevant += relevant;
                at = next;
            }
            n_relevant += column(keep(at..range.end));
            of.end_list(n_relevant);
        }
        Ok(of)
    }

    fn relevant_range(&self, list: usize) -> std::ops::Range<usize> {
        list.checked_sub(1).map_or(0, |before| self.relevant_ends[before])..self.relevant_ends[list]
    }

    /// Adds a list from the relevant items found among its candidates, in any order, each with its
    /// placement, and those that are no candidates.
    pub fn push(&mut self, found: &mut [(TieGroup, RelevantItem)], missing: &[RelevantItem]) {
        // Within a group by falling grade: rounded sums must not depend on the order of the items.
        found.sort_unstable_by(|(at, own), (other, others)| {
            at.better.cmp(&other.better).then_with(|| others.grade.total_cmp(&own.grade))
        });
        let start = self.groups.len();
        for (at, own) in found.iter() {
            match self.groups[start..].last_mut() {
                Some(group) if group.better == at.better => group.relevant += at.relevant,
                _ => self.groups.push(*at),
            }
            self.push_item(*own);
        }
        missing.iter().for_each(|own| self.push_item(*own));
        self.end_list(found.iter().map(|(at, _)| at.relevant).sum::<u32>() + column(missing.len()));
    }

    /// Adds a list without ties from its relevant items, each with its place, rising, and those that
    /// are no candidates.
    pub fn push_untied(&mut self, found: impl Iterator<Item = (u32, RelevantItem)>, missing: &[RelevantItem]) {
        let start = self.groups.len();
        for (better, own) in found {
            self.groups.push(TieGroup { better, tied: 1, relevant: 1 });
            self.push_item(own);
        }
        missing.iter().for_each(|own| self.push_item(*own));
        self.end_list(column(self.groups.len() - start + missing.len()));
    }

    fn push_item(&mut self, own: RelevantItem) {
        if let Some(grades) = &mut self.grades {
            grades.push(own.grade);
        }
        if let Some(items) = &mut self.items {
            items.push(own.item);
        }
    }

    fn end_list(&mut self, n_relevant: u32) {
        self.ends.push(self.groups.len());
        self.n_relevant.push(n_relevant);
        if self.grades.is_some() || self.items.is_some() {
            self.relevant_ends.push(self.relevant_ends.last().unwrap_or(&0) + n_relevant as usize);
        }
    }

    /// Adds the lists of other collections behind these.
    pub fn append_all(&mut self, parts: Vec<Self>) {
        // Growing would move what is there again and again.
        let sum = |count: fn(&Self) -> usize| parts.iter().map(count).sum::<usize>();
        self.ends.reserve_exact(sum(Self::len));
        self.groups.reserve_exact(sum(|part| part.groups.len()));
        self.n_relevant.reserve_exact(sum(Self::len));
        self.relevant_ends.reserve_exact(sum(|part| part.relevant_ends.len()));
        if let Some(grades) = &mut self.grades {
            grades.reserve_exact(sum(|part| part.grades.as_ref().map_or(0, Vec::len)));
        }
        if let Some(items) = &mut self.items {
            items.reserve_exact(sum(|part| part.items.as_ref().map_or(0, Vec::len)));
        }
        for part in parts {
            self.append(part);
        }
    }

    /// Adds the lists of another collection behind these.
    fn append(&mut self, mut other: Self) {
        let (groups, relevant) = (self.groups.len(), self.relevant_ends.last().copied().unwrap_or(0));
        self.ends.extend(other.ends.iter().map(|end| end + groups));
        self.relevant_ends.extend(other.relevant_ends.iter().map(|end| end + relevant));
        self.groups.append(&mut other.groups);
        self.n_relevant.append(&mut other.n_relevant);
        if let (Some(mine), Some(theirs)) = (&mut self.grades, &mut other.grades) {
            mine.append(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.items, &mut other.items) {
            mine.append(theirs);
        }
    }
}

/// A list whose ties are broken for or against its relevant items, in buffers to be used again.
#[derive(Debug, Default)]
pub struct BrokenTies {
    groups: Vec<TieGroup>,
    grades: Vec<f64>,
}

impl BrokenTies {
    /// Every relevant item on a place of its own: within its group on the first places by falling
    /// grade, or, not `favourable`, on the last by rising grade. That is the best and the worst
    /// case of every metric here.
    pub fn of<'b>(&'b mut self, list: TieProfile<'_>, favourable: bool) -> TieProfile<'b> {
        self.groups.clear();
        self.grades.clear();
        for (group, grades) in list.graded_groups() {
            let first = if favourable { group.better } else { group.better + group.tied - group.relevant };
            let places = first..first + group.relevant;
            self.groups.extend(places.map(|better| TieGroup { better, tied: 1, relevant: 1 }));
            let start = self.grades.len();
            self.grades.extend_from_slice(grades);
            self.grades[start..].sort_unstable_by(f64::total_cmp);
            if favourable {
                self.grades[start..].reverse();
            }
        }
        let found = self.grades.len();
        self.grades.extend_from_slice(list.grades.get(found..).unwrap_or_default());
        TieProfile { groups: &self.groups, n_relevant: list.n_relevant, grades: &self.grades }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::graded_profiles;

    fn at(better: u32, tied: u32) -> TieGroup {
        TieGroup { better, tied, relevant: 1 }
    }

    fn of(item: u32, grade: f64) -> RelevantItem {
        RelevantItem { item, grade }
    }

    fn three_lists() -> Profiles {
        let mut profiles = graded_profiles();
        profiles.push(&mut [(at(5, 1), of(3, 3.0)), (at(1, 4), of(1, 1.0)), (at(1, 4), of(2, 2.0))], &[of(8, 9.0)]);
        profiles.push(&mut [], &[]);
        profiles.push(&mut [(at(0, 1), of(2, 4.0))], &[]);
        profiles
    }

    #[test]
    fn items_of_one_group_meet_there_with_their_grades() {
        let profiles = three_lists();
        let list = profiles.list(0);
        assert_eq!(list.groups, [TieGroup { better: 1, tied: 4, relevant: 2 }, at(5, 1)]);
        assert_eq!((list.n_relevant, list.grades), (4, &[2.0, 1.0, 3.0, 9.0][..]));
        assert_eq!(profiles.list(1).n_relevant, 0);
        assert_eq!(profiles.list(2).grades, [4.0]);
        assert_eq!((profiles.depth(), profiles.largest_grade()), (6, 9.0));
        let mut twice = profiles.clone();
        twice.append(profiles.clone());
        assert_eq!((twice.list(3), twice.list(5)), (profiles.list(0), profiles.list(2)));
    }

    /// Groups of items after the fact, against lists that had those relevant items alone.
    #[test]
    fn a_group_of_items_has_the_profiles_of_its_items_alone() {
        let mut profiles = three_lists();
        profiles.append(three_lists());
        let codes = [0, 0, 7, 7, 0, 0, 0, 0, 7];
        let group = profiles.of_group(&codes, 7).unwrap();
        let mut alone = Profiles::of(&Targets::new(&[0], &[], Some(&[]), 9).unwrap());
        for _ in 0..2 {
            alone.push(&mut [(at(5, 1), of(3, 3.0)), (at(1, 4), of(2, 2.0))], &[of(8, 9.0)]);
            alone.push(&mut [], &[]);
            alone.push(&mut [(at(0, 1), of(2, 4.0))], &[]);
        }
        assert_eq!(group, alone);
        let nobody = profiles.of_group(&codes, 1).unwrap();
        assert_eq!((nobody.n_relevant(), nobody.groups().0.len()), (&[0; 6][..], 0));
        assert!(profiles.of_group(&codes[..8], 7).is_err() && group.of_group(&codes, 7).is_err());
    }

    #[test]
    fn broken_ties_put_relevant_items_first_or_last_in_their_group() {
        let mut profiles = graded_profiles();
        profiles.push(&mut [(at(1, 4), of(0, 1.0)), (at(1, 4), of(1, 2.0))], &[of(2, 9.0)]);
        let mut broken = BrokenTies::default();
        let best = broken.of(profiles.list(0), true);
        assert_eq!((best.groups, best.grades), (&[at(1, 1), at(2, 1)][..], &[2.0, 1.0, 9.0][..]));
        let worst = broken.of(profiles.list(0), false);
        assert_eq!((worst.groups, worst.grades), (&[at(3, 1), at(4, 1)][..], &[1.0, 2.0, 9.0][..]));
    }
}
