//! The extension module `rankbound._core`: converts arguments, releases the GIL, maps errors.
//! It computes nothing itself.

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
