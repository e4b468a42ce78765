//! CPU time is read as it was spent. A process of its own, because other tests would spend some, too.

use ipcperf_sys::procfs::consumption;
use std::time::{Duration, Instant};

/// CPU time of this thread: the second opinion.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).expect("below a second"))
}

fn burn(wanted: Duration) {
    let begin = thread_cpu();
    while thread_cpu() - begin < wanted {
        std::hint::black_box(begin);
    }
}

#[test]
fn what_was_burned_is_what_is_read() {
    let before = consumption();
    burn(Duration::from_secs(1));
    let after = consumption();
    let read = (after.cpu_ns - before.cpu_ns) as f64 / 1e9;
    assert!((read - 1.0).abs() <= 0.005, "{read} s of 1 s");
    // User and system share are sampled, but they are shares of the same time.
    let shares = (after.user_ns + after.system_ns) - (before.user_ns + before.system_ns);
    assert!((shares as f64 / 1e9 - 1.0).abs() <= 0.02, "{shares} ns of 1 s");

    // A duty of 30 %: what is slept is not read.
    let (before, own, begin) = (consumption(), thread_cpu(), Instant::now());
    while begin.elapsed() < Duration::from_secs(1) {
        if (thread_cpu() - own).as_secs_f64() < 0.3 * begin.elapsed().as_secs_f64() {
            burn(Duration::from_millis(3));
        } else {
            std::thread::sleep(Duration::from_millis(7));
        }
    }
    let wall = begin.elapsed().as_secs_f64();
    let (own, read) = ((thread_cpu() - own).as_secs_f64(), consumption().cpu_ns - before.cpu_ns);
    let (duty, read) = (own / wall, read as f64 / 1e9 / wall);
    assert!(duty < 0.32, "the test itself: {duty}");
    assert!((read - duty).abs() <= 0.02, "{read} instead of {duty}");
}
