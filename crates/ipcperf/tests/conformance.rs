//! The conformance suite over the mechanisms of this program.

use ipcperf_conformance::Suite;

/// Cases that do not apply, and the mechanisms that they do not apply to. Every other mechanism meets every case.
const EXEMPT: &str = "\
C02 C03 C04 C05 C06 C07 C08 C09 C10 C11 C12 C15 C16 C17 C19 C20 C22 C23 C24: null
C10: pipe pipe/spin pipe/epoll fifo fifo/spin unix-stream unix-stream/spin unix-stream/epoll unix-stream/epoll-edge
C10: unix-stream/mmsg tcp tcp/spin tcp/epoll tcp6 mptcp vsock vmsplice vmsplice/spin splice tee tcp-zerocopy
C10: uring-pipe uring-pipe/sqpoll uring-unix-stream uring-unix-stream/sqpoll uring-tcp uring-tcp/sqpoll
C08 C10 C23: pty
C08: unix-dgram unix-dgram/spin unix-dgram/epoll udp udp/spin udp/mmsg udp/gso netlink posix-mq posix-mq/spin
C08: posix-mq/epoll sysv-mq sysv-mq/spin
C02 C05 C06 C08 C10 C23: eventfd eventfd/spin eventfd/epoll eventfd-semaphore signal signal/handler signal/signalfd
C02 C05 C06 C08 C10 C23: signal/pidfd inotify uring-futex
C02 C05 C06 C08 C10 C19 C23: futex futex/spin futex-pi pthread-cond
C02 C05 C06 C07 C08 C10 C19 C23: posix-sem
C02 C05 C06 C07 C08 C10 C23: sysv-sem uring-msg-ring
C19: shm-ring/adaptive shm-ring/futex shm-ring/spin shm-ring/copy-free mmap-queue/fcntl mmap-queue/fcntl-amortised
C19: mmap-queue/flock mmap-queue/robust-mutex
C06 C19: shm-mailbox/futex shm-mailbox/spin shm-sem
C06 C19 C23: seqlock
C18: memfd
C06 C07 C08: file-rename
C06 C18 C19 C23: pidfd-getfd
C10 C23: sendfile
C06 C23: process-vm process-vm/write
";

fn main() -> std::process::ExitCode {
    Suite::of(ipcperf_mech::visit_all).exempting(EXEMPT).run()
}
