use rankbound_core::{adjust::Transform, profile::*, input::Masks, Par};
use std::time::Instant;
fn main() {
    let (n, c) = (20000usize, 10000usize);
    let mut m = vec![0f32; n * c];
    let mut s = 1u64;
    let mode = std::env::args().nth(1).unwrap_or_default();
    for (i, x) in m.iter_mut().enumerate() { s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); *x = (s >> 40) as f32 / 16777216.0;
      match mode.as_str() { "lev" => *x = (*x * 256.0).floor() / 255.0, "zero" => if (i % c) * 7919 % 10 < 3 { *x = 0.0 }, "const" => *x = 0.5, "half" => *x = if *x > 0.5 {1.0} else {0.0}, "blockhalf" => *x = if (i % c) > c / 2 {1.0} else {0.0}, _ => {} } }
    let rows: Vec<usize> = (0..n).collect();
    let truths: Vec<Option<u32>> = (0..n).map(|i| Some(((i * 7919) % c) as u32)).collect();
    let view = ndarray::ArrayView2::from_shape((n, c), &m).unwrap();
    let rates = Transform::Rates((0..c).map(|i| ((i + 1) as f64 / c as f64).sqrt()).collect());
    let rates2 = Transform::Rates((0..c).map(|i| (i + 1) as f64 / c as f64).collect());
    for _ in 0..5 {
        let t = Instant::now();
        let r = Par::unwatched(2, |p| p.run(m.chunks(c * 25), || 0f32, |a, ch: &[f32]| { for row in ch.chunks(c) { let mut l = [0f32; 32]; for x in row.chunks_exact(32) { for i in 0..32 { l[i] += x[i]; } } *a += l.iter().sum::<f32>(); } Ok(()) })).unwrap();
        let floor = t.elapsed().as_secs_f64();
        let t = Instant::now();
        let g = Grading { rows: &rows, truths: &truths, exposed: None };
        let o = ScanOptions { k: 10, masks: Masks::default() };
        let r2 = Par::unwatched(2, |p| scan(p, &view, &g, &[Transform::Identity], &o)).unwrap();
        let one = t.elapsed().as_secs_f64();
        let t = Instant::now();
        let tr = [Transform::Identity, rates.clone(), rates2.clone()];
        let r3 = Par::unwatched(2, |p| scan(p, &view, &g, &tr, &o)).unwrap();
        let three = t.elapsed().as_secs_f64();
        println!("{floor:.4} one {:.2} three {:.2} {:?} {} {}", one / floor, three / floor, r[0], r2.blocks[0].n_tied_at_cut, r3.blocks[2].n_tied_at_cut);
    }
}
