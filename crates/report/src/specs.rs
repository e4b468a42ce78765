//! What a renderer may know of a mechanism.

use ipcperf_core::Spec;

/// Where a renderer asks for the facts of a mechanism by its full name. `None` for one this build does not know:
/// its cells are still shown, with what the document itself says.
pub type Specs<'a> = dyn Fn(&str) -> Option<&'static Spec> + 'a;
