//! Event counters, `eventfd(2)`: one for each direction.

use crate::port::descriptors;
use crate::wait::{Wait, by_class};
use crate::wake_up::wake_port::CounterPort;
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Link, Mechanism, Meet, Memory, Missing, OnClose, Payload,
    Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::wake::counter;
use std::marker::PhantomData;

/// Two event counters.
#[derive(Debug)]
pub struct EventFd<W>(PhantomData<W>);

impl<W: Wait> Mechanism for EventFd<W> {
    const SPEC: &'static Spec = &Spec {
        name: "eventfd",
        variant: W::VARIANT,
        family: Family::WakeUp,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "Two event counters; a reader sleeps in read.",
            "Two event counters, not blocking; the reader asks again and again.",
            "Two event counters, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["eventfd(2)"],
        pitfalls: &[
            "It wakes and carries no payload: compare it with a one-byte pipe, not with ways to move data.",
            "Wake-ups that nobody has taken yet merge into one.",
            "Both ends hold the same object, so neither learns that the other is gone.",
        ],
        payload: Payload::Wake { word: 8 },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::Merges,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 0,
        syscalls: W::SYSCALLS,
        window: Some(1),
        needs: &["CONFIG_EVENTFD"],
    };
    type Options = NoOptions;
    type Port = CounterPort<W>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        counter::create().map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [(ping, ping_too), (pong, pong_too)] = [counter::create()?, counter::create()?];
        Ok(Link {
            lead: Wiring::of_fds([pong, ping]),
            follow: Wiring::of_fds([ping_too, pong_too]),
            ..Link::default()
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        _: &Shape,
        _: &NoOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [rx, tx] = descriptors(wiring)?;
        CounterPort::new(rx, tx)
    }
}
