use half::f16;
use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::input::{Similarity, Vectors};
use crate::kernel::column;
use crate::testing::{Dice, graded};

/// The scores as they are defined, one at a time.
#[expect(clippy::cast_possible_truncation, reason = "the rounding that is meant")]
fn defined_score(similarity: Similarity, query: &[f32], item: &[f32], bias: f32) -> f32 {
    let length = |vector: &[f32]| vector.iter().fold(0.0, |sum, &at| sum + f64::from(at) * f64::from(at)).sqrt();
    let (query_length, item_length) = (length(query), length(item));
    let mut sum = bias;
    for (&q, &x) in query.iter().zip(item) {
        sum = match similarity {
            Similarity::Inner => q.mul_add(x, sum),
            Similarity::L2 => f32::mul_add(-(q - x), q - x, sum),
            Similarity::Cosine => {
                let [q, x] = [f64::from(q) / query_length, f64::from(x) / item_length].map(|at| at as f32);
                q.mul_add(x, sum)
            }
        };
    }
    sum
}

/// Rows of rising items, as CSR arrays.
#[derive(Debug)]
struct Lists(Vec<i64>, Vec<u32>);

impl Lists {
    fn new(rows: &[Vec<u32>]) -> Self {
        let ends = rows.iter().scan(0, |end, row| {
            *end += i64::try_from(row.len()).unwrap();
            Some(*end)
        });
        Self(std::iter::once(0).chain(ends).collect(), rows.concat())
    }

    fn targets(&self, n_items: usize) -> Targets<'_> {
        Targets::new(&self.0, &self.1, None, n_items).unwrap()
    }

    fn exclusion(&self, n_items: usize) -> Exclusion<'_> {
        Exclusion::new(&self.0, &self.1, self.0.len() - 1, n_items).unwrap()
    }
}

/// An input whose items repeat one another, and how to cut it up.
#[derive(Debug)]
struct Case {
    queries: Array2<f32>,
    items: Array2<f32>,
    item_bias: Option<Vec<f32>>,
    relevant: Vec<Vec<u32>>,
    excluded: Vec<Vec<u32>>,
}

impl Case {
    fn new(dice: &mut Dice) -> Self {
        let (n_queries, n_items) = (1 + dice.below(20), 2 + dice.below(150));
        let n_dimensions = 1 + dice.below(20);
        // Coarse values make ties by chance, fine ones leave those of equal items.
        let levels = [5, 1 << 20][dice.below(2)];
        let mut draw = || {
            // Never a zero vector.
            let value = dice.below(levels) as f32 / levels as f32 - 0.4;
            if value == 0.0 { -0.3 } else { value }
        };
        let queries = Array2::from_shape_simple_fn((n_queries, n_dimensions), &mut draw);
        let mut items = Array2::from_shape_simple_fn((n_items, n_dimensions), &mut draw);
        let mut biases: Vec<f32> = (0..n_items).map(|_| draw()).collect();
        for copy in 0..n_items {
            let original = dice.below(n_items);
            if dice.percent(30) {
                let row = items.row(original).to_owned();
                items.row_mut(copy).assign(&row);
                biases[copy] = biases[original];
            }
        }
        let lists = |dice: &mut Dice, percent: usize| {
            let row = |dice: &mut Dice| (1..column(n_items)).filter(|_| dice.percent(percent)).collect();
            (0..n_queries).map(|_| row(dice)).collect::<Vec<_>>()
        };
        let (relevant, excluded) = (lists(dice, 12), lists(dice, 20));
        Self { queries, items, item_bias: dice.percent(50).then_some(biases), relevant, excluded }
    }

    fn embeddings(&self, similarity: Similarity) -> Embeddings<'_> {
        Embeddings {
            queries: Vectors::F32(self.queries.view()),
            items: Vectors::F32(self.items.view()),
            item_bias: self.item_bias.as_deref(),
            similarity,
        }
    }

    /// Profiles by counting defined scores.
    fn expected(&self, similarity: Similarity, drop_masked: bool) -> Profiles {
        let mut profiles = Profiles::default();
        for (query, relevant) in self.relevant.iter().enumerate() {
            let scores: Vec<Option<f32>> = (0..self.items.nrows())
                .map(|item| {
                    let bias = self.item_bias.as_ref().map_or(0.0, |bias| bias[item]);
                    let [q, x] = [self.queries.row(query), self.items.row(item)].map(|row| row.to_vec());
                    let candidate = !self.excluded[query].contains(&column(item));
                    candidate.then(|| defined_score(similarity, &q, &x, bias))
                })
                .collect();
            let (mut found, mut missing) = (vec![], vec![]);
            for &item in relevant {
                let Some(own) = scores[item as usize] else {
                    missing.extend((!drop_masked).then_some(graded(1.0)));
                    continue;
                };
                let count = |matches: fn(&f32, &f32) -> bool| {
                    column(scores.iter().flatten().filter(|&score| matches(score, &own)).count())
                };
                found.push((TieGroup { better: count(f32::gt), tied: count(f32::eq), relevant: 1 }, graded(1.0)));
            }
            profiles.push(&mut found, &missing);
        }
        profiles
    }
}

const SIMILARITIES: [Similarity; 3] = [Similarity::Inner, Similarity::Cosine, Similarity::L2];

proptest! {
    /// Bit for bit the defined scores, wherever a query and an item fall.
    #[test]
    fn groups_are_those_of_the_defined_scores_however_the_work_is_cut(
        seed: u64, chunk in 1_usize..6, block in 1_usize..6, per_task in 1_usize..14, num_threads in 1_usize..4,
        drop_masked: bool, is_marked: bool,
    ) {
        let case = Case::new(&mut Dice::new(seed));
        let n_items = case.items.nrows();
        let (relevant, excluded) = (Lists::new(&case.relevant), Lists::new(&case.excluded));
        let marks = Array2::from_shape_fn((case.excluded.len(), n_items), |(query, item)| {
            u8::from(case.excluded[query].contains(&column(item)))
        });
        let marks = [marks.view()];
        let exclude =
            if is_marked { Exclusion::nothing(n_items).with_marks(&marks) } else { excluded.exclusion(n_items) };
        let cut = Cut {
            items_per_chunk: chunk * LANES, items_per_block: block * LANES, queries_per_task: per_task,
        };
        for similarity in SIMILARITIES {
            let job = Job {
                embeddings: case.embeddings(similarity),
                targets: relevant.targets(n_items),
                exclude: Some(exclude),
            };
            let expected = case.expected(similarity, drop_masked);
            let n_masked: usize =
                case.relevant.iter().zip(&case.excluded).map(|(a, b)| a.iter().filter(|&at| b.contains(at)).count()).sum();
            let found = Par::unwatched(num_threads, |par| profile_cut(par, &job, drop_masked, cut));
            prop_assert_eq!(found, Ok((expected.clone(), n_masked as u64)));
            let whole = Par::unwatched(num_threads, |par| {
                profile_embeddings(par, job.embeddings, job.targets, job.exclude, drop_masked)
            });
            prop_assert_eq!(whole, Ok((expected, n_masked as u64)));
        }
    }

    /// Whatever the values: identical items are in one tie group, alone if nothing else is identical.
    #[test]
    fn identical_items_tie_wherever_they_are(seed: u64, n_items in 40_usize..1200, n_dimensions in 1_usize..90) {
        let mut dice = Dice::new(seed);
        let mut draw = || dice.below(1 << 24) as f32 / 8_388_608.0 - 1.0;
        let query = Array2::from_shape_simple_fn((7, n_dimensions), &mut draw);
        let mut items = Array2::from_shape_simple_fn((n_items, n_dimensions), &mut draw);
        let copies: Vec<u32> = (0..column(n_items)).step_by(7).collect();
        let original = items.row(0).to_owned();
        copies.iter().for_each(|&copy| items.row_mut(copy as usize).assign(&original));
        let relevant = Lists::new(&vec![copies.clone(); 7]);
        for similarity in SIMILARITIES {
            let embeddings = Embeddings {
                queries: Vectors::F32(query.view()), items: Vectors::F32(items.view()), item_bias: None, similarity,
            };
            let targets = relevant.targets(n_items);
            let found = Par::unwatched(2, |par| profile_embeddings(par, embeddings, targets, None, false)).unwrap().0;
            for list in 0..7 {
                prop_assert_eq!(found.list(list).groups.len(), 1);
                prop_assert!(found.list(list).groups[0].tied as usize >= copies.len());
            }
        }
    }
}

#[test]
fn half_precision_and_any_layout_score_like_their_widened_copies() {
    let mut dice = Dice::new(4);
    let case = Case::new(&mut dice);
    let halves = case.items.map(|&value| f16::from_f32(value));
    let widened = Case { items: halves.map(|half| half.to_f32()), ..case };
    let n_items = widened.items.nrows();
    let relevant = Lists::new(&widened.relevant);
    let columns = crate::testing::Layout::Columns.store(&widened.queries);
    for similarity in SIMILARITIES {
        let lent = widened.embeddings(similarity);
        let other = Embeddings { queries: Vectors::F32(columns.view()), items: Vectors::F16(halves.view()), ..lent };
        let [lent, other] = [lent, other].map(|embeddings| {
            Par::unwatched(1, |par| profile_embeddings(par, embeddings, relevant.targets(n_items), None, false))
                .unwrap()
        });
        assert_eq!(lent, other);
    }
}

/// Two queries of which the second overflows with items 3 and 40, and the first with 40.
fn overflowing() -> Case {
    let mut items = Array2::from_elem((50, 2), 1.0);
    items.row_mut(3).fill(1e20);
    items.row_mut(40).fill(-1e37);
    Case {
        queries: ndarray::array![[1e2, 1.0], [1e19, 1.0]],
        items,
        item_bias: None,
        relevant: vec![vec![5], vec![]],
        excluded: vec![vec![], vec![]],
    }
}

#[test]
fn the_first_query_whose_score_overflows_is_named_unless_the_item_is_excluded() {
    let mut case = overflowing();
    let run = |case: &Case, num_threads| {
        let (relevant, excluded) = (Lists::new(&case.relevant), Lists::new(&case.excluded));
        let embeddings = case.embeddings(Similarity::Inner);
        let cut = |queries_per_task| Cut { items_per_chunk: 64, items_per_block: 16, queries_per_task };
        let job = Job { embeddings, targets: relevant.targets(50), exclude: Some(excluded.exclusion(50)) };
        let [a, b] = [1, 12].map(|n| Par::unwatched(num_threads, |par| profile_cut(par, &job, false, cut(n))));
        assert_eq!(a, b);
        a.map(|_| ())
    };
    let refusal = |query, item, value| Err(Error::ScoreOverflow { query, item, value });
    for num_threads in [1, 3] {
        case.excluded = vec![vec![], vec![]];
        assert_eq!(run(&case, num_threads), refusal(0, 40, f32::NEG_INFINITY));
        case.excluded[0] = vec![3, 40];
        assert_eq!(run(&case, num_threads), refusal(1, 3, f32::INFINITY));
        case.excluded[1] = vec![3];
        assert_eq!(run(&case, num_threads), refusal(1, 40, f32::NEG_INFINITY));
        case.excluded[1] = vec![3, 40];
        assert_eq!(run(&case, num_threads), Ok(()));
    }
}

#[test]
fn what_cannot_be_scored_is_refused() {
    let case = overflowing();
    let relevant = Lists::new(&case.relevant);
    let run = |embeddings: Embeddings<'_>, n_items, excluded: Option<&[u32]>| {
        let excluded = Lists::new(&[excluded.unwrap_or_default().to_vec(), vec![]]);
        let exclude = Some(excluded.exclusion(50));
        Par::unwatched(2, |par| profile_embeddings(par, embeddings, relevant.targets(n_items), exclude, false))
            .unwrap_err()
    };
    let embeddings = case.embeddings(Similarity::Cosine);
    let [mut items, mut zeros] = [(); 2].map(|()| case.items.clone());
    items[(30, 1)] = f32::NAN;
    let lent = Embeddings { items: Vectors::F32(items.view()), ..embeddings };
    assert!(matches!(run(lent, 50, None), Error::VectorValue { name: "items", row: 30, dimension: 1, .. }));
    zeros.row_mut(20).fill(0.0);
    let lent = Embeddings { items: Vectors::F32(zeros.view()), ..embeddings };
    assert_eq!(run(lent, 50, None), Error::ZeroVector { name: "items", row: 20 });
    let mut bias = vec![0.0; 50];
    bias[7] = f32::INFINITY;
    let lent = Embeddings { item_bias: Some(&bias), ..embeddings };
    assert_eq!(run(lent, 50, None), Error::ItemBias { item: 7, value: f32::INFINITY });
    let all: Vec<u32> = (0..50).collect();
    assert_eq!(run(embeddings, 50, Some(&all)), Error::AllMasked { row: 0, n_classes: 50 });
    assert!(matches!(run(embeddings, 51, None), Error::Shape(_)));
    let lent = Embeddings { item_bias: Some(&bias[..49]), ..embeddings };
    assert!(matches!(run(lent, 50, None), Error::Shape(_)));
    let narrow = Array2::zeros((2, 1));
    let lent = Embeddings { queries: Vectors::F32(narrow.view()), ..embeddings };
    assert!(matches!(run(lent, 50, None), Error::Shape(_)));
}
