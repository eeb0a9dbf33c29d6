use super::*;
use crate::{Par, adjust::Transform, input::Masks};
#[test]
#[ignore]
fn t() {
    let c = 10000;
    let n = 200;
    let mut s = 1u64;
    let m: Vec<f32> = (0..n * c)
        .map(|_| {
            s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (s >> 40) as f32 / 16777216.0
        })
        .collect();
    let view = ndarray::ArrayView2::from_shape((n, c), &m).unwrap();
    let rows: Vec<usize> = (0..n).collect();
    let truths: Vec<Option<u32>> = (0..n).map(|i| Some(((i * 7919) % c) as u32)).collect();
    let counts: Vec<u64> = (0..c).map(|i| 1 + (i * 31 % 50) as u64).collect();
    let tot = counts.iter().sum();
    let dead = vec![false; c];
    let mode = std::env::var("MODE").unwrap_or_default();
    let rankers: Vec<Ranker> = if mode == "three" {
        [0.0, 0.5, 1.0].iter().map(|&a| Ranker::Model(Transform::rates(&counts, tot, &dead, a, 0.0).unwrap())).collect()
    } else {
        vec![Ranker::Model(Transform::Identity)]
    };
    let g = Grading { rows: &rows, truths: &truths, exposed: None };
    let o = ScanOptions { k: 10, masks: Masks::default() };
    for _ in 0..std::env::var("REPS").map_or(1, |x| x.parse().unwrap()) {
        let t = std::time::Instant::now();
        Par::unwatched(1, |p| scan(p, &view, &g, &rankers, &o)).unwrap();
        println!("{:.3} us/row", t.elapsed().as_secs_f64() * 1e6 / n as f64);
    }
}
