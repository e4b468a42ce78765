//! The resources that processes consume.

use crate::job::SideReport;
use ipcperf_sys::process_tree::Account;
use ipcperf_sys::procfs::{self, Consumption};
use std::cell::RefCell;

/// What a worker consumes in timed segments. Counters that cost file reads are read well before the first begins and after
/// the last is over.
#[derive(Debug)]
pub(crate) struct Usage<'a> {
    /// Whose inter-processor interrupts are counted.
    cpus: &'a [usize],
    /// Of the program that is this end; `None`: this process is.
    account: Option<&'a RefCell<Account>>,
    outside: [Option<u64>; 3],
    /// What the process had consumed when the last segment began.
    since: Consumption,
    spent: Consumption,
}

impl<'a> Usage<'a> {
    /// Before the first of them. What reading takes is read once for nothing: code that runs for the first time is mapped by
    /// a page fault, which would be one of the first segment.
    pub(crate) fn open(cpus: &'a [usize], account: Option<&'a RefCell<Account>>) -> Self {
        let (since, spent) = (consumption(account), Consumption::default());
        Self { cpus, account, outside: outside(cpus, account), since, spent }
    }

    /// A segment begins.
    pub(crate) fn begin(&mut self) {
        self.since = consumption(self.account);
    }

    /// A segment ends.
    pub(crate) fn end(&mut self) {
        self.spent = self.spent.plus(&consumption(self.account).since(&self.since));
    }

    /// After the last of them: adds what was consumed.
    pub(crate) fn close(self, report: &mut SideReport) {
        let Self { cpus, account, outside: before, since: _, spent } = self;
        report.spent = report.spent.plus(&spent);
        let sums = [&mut report.ipis, &mut report.run_delay_ns, &mut report.migrations];
        for ((sum, before), after) in sums.into_iter().zip(before).zip(outside(cpus, account)) {
            let grown = before.zip(after).map(|(before, after)| after.saturating_sub(before));
            *sum = grown.map(|grown| sum.unwrap_or(0) + grown);
        }
    }
}

/// What this process has consumed so far, or the program that is its end.
fn consumption(account: Option<&RefCell<Account>>) -> Consumption {
    account.map_or_else(procfs::consumption, |account| account.borrow_mut().read())
}

/// Inter-processor interrupts, run delay and migrations so far; of a program nobody knows them.
fn outside(cpus: &[usize], account: Option<&RefCell<Account>>) -> [Option<u64>; 3] {
    if account.is_some() {
        return [None; 3];
    }
    let ipis = if cpus.is_empty() { None } else { procfs::inter_processor_interrupts(cpus) };
    [ipis, procfs::run_delay_ns(), procfs::migrations()]
}
