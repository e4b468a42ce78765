//! What a system call costs.

use std::time::Instant;

/// Calls of a block, and blocks: 1 ms in all.
const CALLS: u32 = 200;
const BLOCKS: usize = 25;

/// Time of a call, ns: the median of blocks of them.
pub(crate) fn call_ns(call: &dyn Fn()) -> f64 {
    let mut blocks = [0.0; BLOCKS];
    for block in &mut blocks {
        let begin = Instant::now();
        for _ in 0..CALLS {
            call();
        }
        *block = begin.elapsed().as_nanos() as f64 / f64::from(CALLS);
    }
    blocks.sort_by(f64::total_cmp);
    blocks[BLOCKS / 2]
}
