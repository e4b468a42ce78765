//! Messages over UDP, cut into packets. The receiver's buffer drops what does not fit, so only so many packets are
//! under way before the sender waits for a credit. Both ends know how many packets will come, and so agree without a
//! word on when credits are sent.

use super::channel::{ACK, Channel, check, mark};
use ipcperf_core::Fault;
use ipcperf_sys::io::{datagram, errno};
use std::os::fd::{AsFd, OwnedFd};

/// Most datagrams taken away after a loss: more than any receive buffer holds.
const STRAY: u32 = 100_000;

/// Receive timeouts in a row until a packet is taken for lost. On a machine with more to do than it has CPUs, the other
/// end may well not run for as long as one of them.
const PATIENCE: u32 = 10;

/// Packets under way at most, and how often the receiver says that it has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    packets: u64,
    group: u64,
}

impl Window {
    fn new(packets: u64) -> Self {
        let group = (packets / 2).max(1);
        // A multiple of the group, so that every wait is for exactly one credit.
        Self { packets: if packets > 1 { 2 * group } else { 1 }, group }
    }

    /// Whether the sender takes a credit before the packet that follows `sent` others.
    #[inline(always)]
    fn waits(self, sent: u64) -> bool {
        sent >= self.packets && (sent - self.packets).is_multiple_of(self.group)
    }

    /// Whether the receiver of `received` packets gives a credit: if the sender has as many more to send as wait for it.
    #[inline(always)]
    fn grants(self, received: u64, total: u64) -> bool {
        received.is_multiple_of(self.group) && received + self.packets - self.group < total
    }
}

/// Packets of one direction until the other end answers.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    total: u64,
    done: u64,
}

/// How many packets a message of `len` bytes makes.
fn pieces(len: usize, packet: usize) -> u64 {
    len.div_ceil(packet.max(1)).max(1) as u64
}

/// The stamp of one packet of a message, which tells it from its neighbours and from those of other messages.
#[inline(always)]
fn piece_stamp(stamp: u32, index: u32) -> u32 {
    stamp.rotate_left(16) ^ index
}

/// One end.
pub(super) struct Packets {
    socket: OwnedFd,
    message: Box<[u8]>,
    packet: usize,
    window: Window,
    outgoing: Train,
    incoming: Train,
}

impl Packets {
    /// Over a connected socket with a receive timeout. Packets have `packet` bytes, and `window` of them fit its
    /// receive buffer.
    pub(super) fn new(socket: OwnedFd, largest: usize, packet: usize, window: u32) -> Self {
        Self {
            socket,
            message: vec![0x5a; largest.max(ACK)].into_boxed_slice(),
            packet,
            window: Window::new(window.into()),
            outgoing: Train::default(),
            incoming: Train::default(),
        }
    }
}

#[inline(always)]
fn send(socket: &OwnedFd, packet: &[u8]) -> Result<(), Fault> {
    loop {
        match datagram::send(socket.as_fd(), packet) {
            Ok(sent) if sent == packet.len() => return Ok(()),
            Ok(_) => return Err(Fault::Truncated),
            Err(errno::EINTR) => {}
            Err(errno::ECONNREFUSED) => return Err(Fault::Closed),
            Err(code) => return Err(Fault::Sys(code)),
        }
    }
}

#[inline(always)]
fn receive(socket: &OwnedFd, packet: &mut [u8], patience: u32) -> Result<(), Fault> {
    let mut timeouts = 0;
    loop {
        match datagram::receive(socket.as_fd(), packet) {
            Ok(received) if received == packet.len() => return Ok(()),
            Ok(_) => return Err(Fault::Truncated),
            Err(errno::EINTR) => {}
            Err(errno::EAGAIN) => {
                timeouts += 1;
                if timeouts >= patience {
                    return Err(Fault::Timeout);
                }
            }
            Err(errno::ECONNREFUSED) => return Err(Fault::Closed),
            Err(code) => return Err(Fault::Sys(code)),
        }
    }
}

impl Channel for Packets {
    const LOSSY: bool = true;

    #[inline(always)]
    fn outgoing(&mut self, messages: u64, len: usize) {
        self.outgoing = Train { total: messages * pieces(len, self.packet), done: 0 };
    }

    #[inline(always)]
    fn incoming(&mut self, messages: u64, len: usize) {
        self.incoming = Train { total: messages * pieces(len, self.packet), done: 0 };
    }

    #[inline(always)]
    fn send(&mut self, len: usize, stamp: u32) -> Result<(), Fault> {
        let message = self.message.get_mut(..len).ok_or(Fault::TooLong)?;
        for (index, piece) in (0..).zip(message.chunks_mut(self.packet)) {
            if self.window.waits(self.outgoing.done) {
                let mut credit = [0; ACK];
                receive(&self.socket, &mut credit, PATIENCE)?;
                let granted = self.outgoing.done - self.window.packets + self.window.group;
                check(&credit, granted as u32)?;
            }
            mark(piece, piece_stamp(stamp, index));
            send(&self.socket, piece)?;
            self.outgoing.done += 1;
        }
        Ok(())
    }

    #[inline(always)]
    fn receive(&mut self, len: usize, stamp: u32) -> Result<(), Fault> {
        let message = self.message.get_mut(..len).ok_or(Fault::TooLong)?;
        for (index, piece) in (0..).zip(message.chunks_mut(self.packet)) {
            receive(&self.socket, piece, PATIENCE)?;
            check(piece, piece_stamp(stamp, index))?;
            self.incoming.done += 1;
            if self.window.grants(self.incoming.done, self.incoming.total) {
                send(&self.socket, &(self.incoming.done as u32).to_le_bytes())?;
            }
        }
        Ok(())
    }

    fn drain(&mut self) {
        for _ in 0..STRAY {
            match receive(&self.socket, &mut self.message, 1) {
                Ok(()) | Err(Fault::Truncated) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::io::socket;
    use ipcperf_sys::io::socket::inet;
    use std::time::Duration;

    #[test]
    fn a_message_is_cut_into_full_packets_and_a_rest() {
        assert_eq!([4, 6500, 6501, 524_288].map(|len| pieces(len, 6500)), [1, 1, 2, 81]);
        assert_eq!(pieces(524_288, 65_507), 9);
    }

    #[test]
    fn every_wait_has_its_credit_and_no_credit_is_left_over() {
        for packets in 1..=16 {
            let window = Window::new(packets);
            for total in 1..200 {
                let waits = (0..total).filter(|sent| window.waits(*sent)).count();
                let grants = (1..=total).filter(|received| window.grants(*received, total)).count();
                assert_eq!(waits, grants, "{window:?}, {total} packets");
                // The sender that waits for a credit of so many packets has never more than the window under way.
                for sent in 0..total {
                    let credits = (0..=sent).filter(|sent| window.waits(*sent)).count() as u64;
                    assert!(sent + 1 - credits * window.group <= packets, "{window:?}, {sent}");
                }
            }
        }
    }

    fn pair(packet: usize, window: u32) -> [Packets; 2] {
        let (one, two) = inet::udp_pair().expect("sockets");
        [one, two].map(|end| {
            socket::set_receive_timeout(&end, Duration::from_millis(50)).expect("an option");
            Packets::new(end, 100_000, packet, window)
        })
    }

    #[test]
    fn a_long_message_arrives_whole_within_a_small_window() {
        let [mut lead, mut follow] = pair(1000, 3);
        let peer = std::thread::spawn(move || {
            follow.incoming(2, 100_000);
            follow.outgoing(1, ACK);
            let received = [follow.receive(100_000, 7), follow.receive(100_000, 8)];
            (received, follow.send(ACK, 9))
        });
        lead.outgoing(2, 100_000);
        lead.incoming(1, ACK);
        assert_eq!([lead.send(100_000, 7), lead.send(100_000, 8)], [Ok(()); 2]);
        assert_eq!(lead.receive(ACK, 9), Ok(()));
        assert_eq!(peer.join().expect("no panic"), ([Ok(()); 2], Ok(())));
    }

    #[test]
    fn a_packet_that_never_comes_is_a_loss_and_strays_can_be_taken_away() {
        let [mut lead, mut follow] = pair(1000, 4);
        lead.outgoing(1, 2000);
        lead.send(2000, 1).expect("sent");
        follow.incoming(1, 3000);
        assert_eq!(follow.receive(3000, 1), Err(Fault::Timeout));
        lead.send(2000, 2).expect("sent");
        follow.drain();
        follow.incoming(1, 4);
        assert_eq!(follow.receive(4, 2), Err(Fault::Timeout));
    }

    #[test]
    fn a_packet_that_is_late_is_not_lost() {
        let [mut lead, mut follow] = pair(1000, 4);
        let sender = std::thread::spawn(move || {
            // Three receive timeouts.
            std::thread::sleep(Duration::from_millis(150));
            lead.outgoing(1, 500);
            lead.send(500, 1)
        });
        follow.incoming(1, 500);
        assert_eq!(follow.receive(500, 1), Ok(()));
        assert_eq!(sender.join().expect("no panic"), Ok(()));
    }
}
