//! Lists with any number of relevant items: the tie groups that hold them.

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
    grade_ends: Vec<usize>,
}

impl Profiles {
    /// No lists yet; with `graded`, every list that is added brings its grades.
    pub fn new(graded: bool) -> Self {
        Self { grades: graded.then(Vec::new), ..Self::default() }
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
        let grades = self.grades.as_ref().map_or(&[][..], |grades| {
            &grades[list.checked_sub(1).map_or(0, |before| self.grade_ends[before])..self.grade_ends[list]]
        });
        let start = list.checked_sub(1).map_or(0, |before| self.ends[before]);
        TieProfile { groups: &self.groups[start..self.ends[list]], n_relevant: self.n_relevant[list], grades }
    }

    /// Adds a list from the relevant items found among its candidates, in any order, each as its
    /// placement and grade, and the grades of those that are no candidates.
    pub fn push(&mut self, found: &mut [(TieGroup, f64)], missing: &[f64]) {
        // Within a group by falling grade: rounded sums must not depend on the order of the items.
        found.sort_unstable_by(|(at, grade), (other, others)| {
            at.better.cmp(&other.better).then_with(|| others.total_cmp(grade))
        });
        let start = self.groups.len();
        for (at, grade) in found.iter() {
            match self.groups[start..].last_mut() {
                Some(group) if group.better == at.better => group.relevant += at.relevant,
                _ => self.groups.push(*at),
            }
            if let Some(grades) = &mut self.grades {
                grades.push(*grade);
            }
        }
        if let Some(grades) = &mut self.grades {
            grades.extend_from_slice(missing);
            self.grade_ends.push(grades.len());
        }
        self.ends.push(self.groups.len());
        let n_relevant = found.iter().map(|(at, _)| at.relevant).sum::<u32>() + crate::kernel::column(missing.len());
        self.n_relevant.push(n_relevant);
    }

    /// Adds a list without ties from the places of its relevant items, rising, with their grades, and
    /// the grades of those that are no candidates.
    pub fn push_untied(&mut self, found: impl Iterator<Item = (u32, f64)>, missing: &[f64]) {
        let start = self.groups.len();
        for (better, grade) in found {
            self.groups.push(TieGroup { better, tied: 1, relevant: 1 });
            if let Some(grades) = &mut self.grades {
                grades.push(grade);
            }
        }
        if let Some(grades) = &mut self.grades {
            grades.extend_from_slice(missing);
            self.grade_ends.push(grades.len());
        }
        self.ends.push(self.groups.len());
        self.n_relevant.push(crate::kernel::column(self.groups.len() - start + missing.len()));
    }

    /// Adds the lists of another collection behind these.
    pub fn append(&mut self, mut other: Self) {
        let (groups, grades) = (self.groups.len(), self.grades.as_ref().map_or(0, Vec::len));
        self.ends.extend(other.ends.iter().map(|end| end + groups));
        self.grade_ends.extend(other.grade_ends.iter().map(|end| end + grades));
        self.groups.append(&mut other.groups);
        self.n_relevant.append(&mut other.n_relevant);
        if let (Some(mine), Some(theirs)) = (&mut self.grades, &mut other.grades) {
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

    fn at(better: u32, tied: u32) -> TieGroup {
        TieGroup { better, tied, relevant: 1 }
    }

    #[test]
    fn items_of_one_group_meet_there_with_their_grades() {
        let mut profiles = Profiles::new(true);
        profiles.push(&mut [(at(5, 1), 3.0), (at(1, 4), 1.0), (at(1, 4), 2.0)], &[9.0]);
        profiles.push(&mut [], &[]);
        profiles.push(&mut [(at(0, 1), 4.0)], &[]);
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

    #[test]
    fn broken_ties_put_relevant_items_first_or_last_in_their_group() {
        let mut profiles = Profiles::new(true);
        profiles.push(&mut [(at(1, 4), 1.0), (at(1, 4), 2.0)], &[9.0]);
        let mut broken = BrokenTies::default();
        let best = broken.of(profiles.list(0), true);
        assert_eq!((best.groups, best.grades), (&[at(1, 1), at(2, 1)][..], &[2.0, 1.0, 9.0][..]));
        let worst = broken.of(profiles.list(0), false);
        assert_eq!((worst.groups, worst.grades), (&[at(3, 1), at(4, 1)][..], &[1.0, 2.0, 9.0][..]));
    }
}
