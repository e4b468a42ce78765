//! All mechanisms. Each is one file in the folder of its family, which holds its facts and its setup, and one line in
//! the list below; the port types beside it hold the motion. A mechanism sees neither the loop that times it nor the report.

#![forbid(unsafe_code)]

mod base;
pub(crate) mod budget;
pub mod by_reference;
pub mod datagram;
pub mod floor;
pub mod io_uring;
pub mod kernel_copy;
pub mod port;
pub mod queue;
pub mod shared_memory;
pub mod stream;
pub mod wait;
pub mod wake_up;

pub use base::{Trial, missing, trial, trial_where};
use ipcperf_core::Visitor;
use ipcperf_sys::io::uring::{Enter, SqPoll};
use shared_memory::mmap_queue::{Fcntl, FcntlAmortised, Flock, Mutex};
use wait::{Adaptive, Bell, Block, CopyFree, Epoll, Futex, Spin};
use wake_up::signal::{Handling, Pointing, Reading, Waiting};

macro_rules! mechanisms {
    ($($family:ident { $($file:ident: $($name:ident $(<$wait:ident>)?),+;)+ })+) => {
        /// Shows every mechanism and variant to `visitor`, in the order of the list.
        pub fn visit_all(visitor: &mut impl Visitor) {
            $($($(visitor.visit::<$family::$file::$name $(<$wait>)?>();)+)+)+
        }
    };
}

mechanisms! {
    floor {
        null:              Null;
    }
    stream {
        pipe:              Pipe<Block>, Pipe<Spin>, Pipe<Epoll>;
        fifo:              Fifo<Block>, Fifo<Spin>;
        pty:               Pty;
        unix_stream:       UnixStream<Block>, UnixStream<Spin>, UnixStream<Epoll>, UnixStreamEdge, UnixStreamMmsg;
        tcp:               Tcp<Block>, Tcp<Spin>, Tcp<Epoll>;
        tcp6:              Tcp6;
        mptcp:             Mptcp;
        vsock:             Vsock;
    }
    datagram {
        unix_dgram:        UnixDgram<Block>, UnixDgram<Spin>, UnixDgram<Epoll>;
        unix_seqpacket:    UnixSeqpacket<Block>, UnixSeqpacket<Spin>, UnixSeqpacket<Epoll>;
        vsock_seqpacket:   VsockSeqpacket;
        udp:               Udp<Block>, Udp<Spin>, UdpMmsg, UdpGso;
        sctp:              Sctp;
        netlink:           Netlink;
    }
    queue {
        pipe_packet:       PipePacket;
        posix_mq:          PosixMq<Block>, PosixMq<Spin>, PosixMq<Epoll>;
        sysv_mq:           SysvMq<Block>, SysvMq<Spin>;
    }
    wake_up {
        eventfd:           EventFd<Block>, EventFd<Spin>, EventFd<Epoll>;
        eventfd_semaphore: EventFdSemaphore;
        futex:             Futex<Block>, Futex<Adaptive>;
        futex_pi:          FutexPi;
        posix_sem:         PosixSem;
        sysv_sem:          SysvSem;
        pthread_cond:      PthreadCond;
        signal:            Signal<Waiting>, Signal<Handling>, Signal<Reading>, Signal<Pointing>;
        inotify:           Inotify;
        uring_msg_ring:    UringMsgRing;
    }
    shared_memory {
        shm_ring:          ShmRing<Adaptive>, ShmRing<Futex>, ShmRing<Spin>, ShmRing<Bell>, ShmRing<CopyFree>;
        shm_mailbox:       ShmMailbox<Futex>, ShmMailbox<Spin>;
        seqlock:           SeqLock;
        shm_sem:           ShmSem;
        mmap_queue:        MmapQueue<Fcntl>, MmapQueue<FcntlAmortised>, MmapQueue<Flock>, MmapQueue<Mutex>;
    }
    by_reference {
        fd_pass:           FdPass;
        memfd:             Memfd, MemfdReuse;
        temp_file:         TempFile;
        file_rename:       FileRename;
        pidfd_getfd:       PidfdGetfd;
    }
    kernel_copy {
        vmsplice:          Vmsplice<Block>, Vmsplice<Spin>;
        splice:            Splice;
        tee:               Tee;
        sendfile:          Sendfile;
        process_vm:        ProcessVm, ProcessVmWrite;
        tcp_zerocopy:      TcpZerocopy;
    }
    io_uring {
        uring_pipe:        UringPipe<Enter>, UringPipe<SqPoll>;
        uring_unix_stream: UringUnixStream<Enter>, UringUnixStream<SqPoll>;
        uring_tcp:         UringTcp<Enter>, UringTcp<SqPoll>;
        uring_futex:       UringFutex;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::Options;
    use ipcperf_core::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    struct Facts {
        spec: &'static Spec,
        knobs: Vec<&'static str>,
        limit: Option<Limit>,
        /// Folder and file.
        module: (&'static str, &'static str),
    }

    struct Collector(Vec<Facts>);

    impl Visitor for Collector {
        fn visit<M: Mechanism>(&mut self) {
            self.0.push(Facts {
                spec: M::SPEC,
                knobs: M::Options::KNOBS.iter().map(|knob| knob.name).collect(),
                limit: M::limit(&M::Options::default()),
                module: module(std::any::type_name::<M>()),
            });
        }
    }

    fn module(path: &'static str) -> (&'static str, &'static str) {
        let mut modules = path.split("::").skip(1);
        (modules.next().unwrap_or(""), modules.next().unwrap_or(""))
    }

    fn all() -> Vec<Facts> {
        let mut collector = Collector(Vec::new());
        visit_all(&mut collector);
        collector.0
    }

    #[test]
    fn every_name_is_used_once() {
        let names: BTreeSet<_> = all().iter().map(|facts| facts.spec.full_name()).collect();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn every_mechanism_has_exactly_one_default_variant() {
        let mut defaults = BTreeMap::new();
        for facts in all() {
            *defaults.entry(facts.spec.name).or_insert(0) += u32::from(facts.spec.default);
        }
        assert!(defaults.values().all(|count| *count == 1), "{defaults:?}");
    }

    #[test]
    fn every_mechanism_lives_in_the_folder_of_its_family_and_the_file_of_its_name() {
        for Facts { spec, module, .. } in all() {
            let expected = (spec.family.name().replace('-', "_"), spec.name.replace('-', "_"));
            assert_eq!((module.0.to_owned(), module.1.to_owned()), expected);
        }
    }

    #[test]
    fn every_text_is_a_sentence_and_every_mechanism_has_a_manual_page() {
        for Facts { spec, .. } in all() {
            let name = spec.full_name();
            for text in [spec.summary].iter().chain(spec.pitfalls) {
                assert!(text.ends_with('.') && text.len() > 20, "{name}: {text}");
            }
            assert!(!spec.pitfalls.is_empty(), "{name}");
            assert!(spec.manual.iter().all(|page| page.ends_with(')')), "{name}");
            assert!(!spec.manual.is_empty(), "{name}");
        }
    }

    #[test]
    fn no_mechanism_has_a_knob_twice_and_variants_share_theirs() {
        let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Facts { spec, knobs, .. } in all() {
            assert_eq!(knobs.iter().collect::<BTreeSet<_>>().len(), knobs.len(), "{}", spec.name);
            assert_eq!(known.entry(spec.name).or_insert_with(|| knobs.clone()), &knobs);
        }
    }

    #[test]
    fn messages_have_a_limit_and_nothing_else_has() {
        for Facts { spec, limit, .. } in all() {
            let is_message = matches!(spec.payload, Payload::Message { .. });
            assert_eq!(limit.is_some(), is_message, "{}", spec.full_name());
            assert!(limit.is_none_or(|limit| limit.bytes > 0 && !limit.set_by.is_empty()));
        }
    }
}
