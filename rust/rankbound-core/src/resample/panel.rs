//! The values of the units, laid out for drawing.

use std::collections::HashMap;

use super::pairwise::{LEAF, sum, sum_rows};

/// Lanes of the widest panel: eight doubles are a cache line.
const WIDTH: usize = 8;
/// Doubles that a drawing core keeps close by: larger tables are worth a code for each unit.
const CLOSE: usize = 1 << 18;
/// Distinct rows that are given codes; beyond that the rows too would be far away.
const CODED: usize = 1 << 12;

/// Up to eight series side by side, so that a drawn unit is one visit to memory for all of them.
///
/// Many units share their row: a list's metrics at 10 are all zero if nothing relevant is among the
/// first 10. If there are few distinct rows, only those are kept, with a small code for each unit:
/// drawing from a table that is larger than the caches costs several times the additions.
pub(super) struct Panel {
    rows: Vec<f64>,
    /// Skips to the start of a cache line, which no row may straddle.
    offset: usize,
    width: usize,
    n_series: usize,
    /// The row of each unit; without codes, units are rows.
    codes: Option<Vec<u16>>,
}

impl Panel {
    /// Lays out series of equal length, eight to a panel.
    pub(super) fn lay_out(series: &[&[f64]]) -> Vec<Self> {
        series.chunks(WIDTH).map(Self::new).collect()
    }

    fn new(series: &[&[f64]]) -> Self {
        let n_units = series[0].len();
        let width = series.len().next_power_of_two();
        let coded = if n_units * width > CLOSE { distinct(series) } else { None };
        let n_rows = coded.as_ref().map_or(n_units, |(_, units)| units.len());
        let mut rows = vec![0.0; n_rows * width + WIDTH];
        let offset = rows.as_ptr().align_offset(WIDTH * size_of::<f64>()).min(WIDTH);
        for (index, row) in rows[offset..].chunks_exact_mut(width).take(n_rows).enumerate() {
            let unit = coded.as_ref().map_or(index, |(_, units)| units[index]);
            for (value, series) in row.iter_mut().zip(series) {
                *value = series[unit];
            }
        }
        Self { rows, offset, width, n_series: series.len(), codes: coded.map(|(codes, _)| codes) }
    }

    /// Number of series in the panel.
    pub(super) fn n_series(&self) -> usize {
        self.n_series
    }

    /// Writes the sum of every series over the draws.
    pub(super) fn sums(&self, draws: &[u32], sums: &mut [f64]) {
        match self.width {
            1 => self.sums_of::<1>(draws, sums),
            2 => self.sums_of::<2>(draws, sums),
            4 => self.sums_of::<4>(draws, sums),
            _ => self.sums_of::<WIDTH>(draws, sums),
        }
    }

    fn sums_of<const W: usize>(&self, draws: &[u32], sums: &mut [f64]) {
        let rows = self.rows[self.offset..].as_chunks::<W>().0;
        let lanes = match &self.codes {
            None => sum(draws, &|units| sum_rows(rows, units)),
            Some(codes) => sum(draws, &|units| {
                let mut drawn = [0; LEAF];
                for (row, &unit) in drawn.iter_mut().zip(units) {
                    *row = u32::from(codes[unit as usize]);
                }
                sum_rows(rows, &drawn[..units.len()])
            }),
        };
        sums.copy_from_slice(&lanes[..self.n_series]);
    }
}

/// The code of each unit's row, and for each code a unit that has it; `None` if they are too many.
fn distinct(series: &[&[f64]]) -> Option<(Vec<u16>, Vec<usize>)> {
    let mut known = HashMap::new();
    let mut units = Vec::new();
    let code = |unit: usize| {
        let mut row = [0; WIDTH];
        for (bits, series) in row.iter_mut().zip(series) {
            *bits = series[unit].to_bits();
        }
        if let Some(&code) = known.get(&row) {
            return Some(code);
        }
        let code = u16::try_from(units.len()).ok().filter(|_| units.len() < CODED)?;
        known.insert(row, code);
        units.push(unit);
        Some(code)
    };
    let codes = (0..series[0].len()).map(code).collect::<Option<_>>()?;
    Some((codes, units))
}
