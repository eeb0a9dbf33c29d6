//! The extension module `rankbound._core`: converts arguments, releases the GIL, maps errors.
//! It computes nothing itself.

// PyO3's macros generate `unsafe`; nothing written here is.
mod adjust;
mod aggregate;
mod catalogue;
mod embeddings;
mod ids;
mod label_ranking;
mod metric;
mod overlap;
mod profile;
mod profiles;
mod resample;
mod run;
mod runs;
mod scores;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    use std::sync::LazyLock;
    use std::thread::available_parallelism;

    use super::pyfunction;

    #[pymodule_export]
    use super::adjust::{PyTransform, dead_classes, fit_knots, transform_scores};

    #[pymodule_export]
    use super::aggregate::{exact_log_mean, exact_mean, exact_sum, exposure_entropy, exposure_gini, group_sums};

    #[pymodule_export]
    use super::catalogue::{
        PyExposureSums, PyGroupSums, PyListMeasure, catalogue_embeddings, catalogue_lists, catalogue_scores,
    };

    #[pymodule_export]
    use super::embeddings::profile_embeddings;

    #[pymodule_export]
    use super::label_ranking::sum_pairs;

    #[pymodule_export]
    use super::ids::{join_texts, places_of};

    #[pymodule_export]
    use super::metric::{PyListSums, evaluate_lists, list_values, tie_spread};

    #[pymodule_export]
    use super::overlap::overlap_lists;

    #[pymodule_export]
    use super::profile::{PyScan, PyScanBlock, scan_scores, top_columns};

    #[pymodule_export]
    use super::profiles::{PyProfiles, fingerprint, profile_lists, profile_scores};

    #[pymodule_export]
    use super::resample::{bootstrap_limits, gap_intervals, linearised_error, sign_flip_p_values};

    #[pymodule_export]
    use super::run::RefusedPair;

    #[pymodule_export]
    use super::runs::{group_qrels, profile_runs, read_trec};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Number of cores this process may use (affinity and cgroup quota respected), as of the first call.
    #[pyfunction]
    fn available_threads() -> usize {
        // To find out takes longer than some evaluations: it reads files.
        static CORES: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));
        *CORES
    }
}
