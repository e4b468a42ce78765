//! Event counters, `eventfd(2)`: one for each direction.

use crate::wait::{Wait, by_class, waiting};
use crate::wake_up::WAKE_UP;
use crate::wake_up::wake_port::CounterPort;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::wake::counter;
use std::marker::PhantomData;

/// Two event counters.
#[derive(Debug)]
pub struct EventFd<W>(PhantomData<W>);

impl<W: Wait> Mechanism for EventFd<W> {
    const SPEC: &'static Spec = &Spec {
        name: "eventfd",
        summary: by_class(
            W::CLASS,
            "Two event counters; a reader sleeps in read.",
            "Two event counters, not blocking; the reader asks again and again.",
            "Two event counters, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["eventfd(2)"],
        pitfalls: &[
            "It wakes and carries no payload: compare it with a one-byte pipe, not with ways to move data.",
            "Wake-ups that have not been read yet merge into one.",
            "Both ends hold the same object, so neither notices that the other is gone.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        needs: &["CONFIG_EVENTFD"],
        ..waiting::<W>(WAKE_UP)
    };
    type Options = NoOptions;
    type Port = CounterPort<W>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        counter::create().map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [(ping, ping_too), (pong, pong_too)] = [counter::create()?, counter::create()?];
        Ok(Link::of_fds([pong, ping], [ping_too, pong_too]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx] = end.descriptors()?;
        CounterPort::new(rx, tx)
    }
}
