//! Messages in packets: what is longer than a packet goes as several messages of the mechanism. A packet begins with the
//! number of its message and its place in it, so that the receiver of a mechanism that loses some knows which.
//!
//! A mechanism that drops what nobody has read yet keeps only so many packets under way: inside a message the sender
//! then waits for credits. Both ends know how many packets a message has, and so agree without a word on when a credit
//! is due. Between messages the window of the pattern keeps the sender back.

use ipcperf_core::{Erased, Fault, PACKET_HEAD as HEAD, Part, Port};

/// Waits in a row that end in a timeout before a credit is taken for lost.
const PATIENCE: u32 = 10;

/// Marks a credit.
const CREDIT: u32 = 1 << 31;

/// How many packets a message of `len` bytes takes.
pub(crate) fn count(len: usize, packet: u64) -> u64 {
    len.div_ceil(payload(packet)).max(1) as u64
}

/// Bytes of the longest packet that a message of `len` bytes takes.
pub(crate) fn longest(len: usize, packet: u64) -> usize {
    HEAD + len.min(payload(packet))
}

fn payload(packet: u64) -> usize {
    usize::try_from(packet).unwrap_or(usize::MAX).saturating_sub(HEAD).max(1)
}

/// Packets of a message under way at most, and how often the receiver says that it has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    packets: u32,
    group: u32,
}

impl Window {
    fn new(packets: u32) -> Self {
        let group = (packets / 2).max(1);
        // A multiple of the group, so that every wait is for exactly one credit.
        Self { packets: if packets > 1 { 2 * group } else { 1 }, group }
    }

    /// Whether the sender takes a credit before the packet that follows `sent` others.
    fn waits(self, sent: u32) -> bool {
        sent >= self.packets && (sent - self.packets).is_multiple_of(self.group)
    }

    /// Whether the receiver of `received` packets gives a credit: if the sender has as many more to send as wait for it.
    fn grants(self, received: u32, total: u32) -> bool {
        received.is_multiple_of(self.group) && received + self.packets - self.group < total
    }
}

/// What stands at the head of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    message: u32,
    place: u32,
}

impl Head {
    fn write(self, out: &mut [u8]) {
        let [message, place] = [self.message, self.place].map(u32::to_le_bytes);
        out[..4].copy_from_slice(&message);
        out[4..HEAD].copy_from_slice(&place);
    }

    fn read(packet: &[u8]) -> Result<(Self, &[u8]), Fault> {
        let (message, rest) = packet.split_first_chunk().ok_or(Fault::Truncated)?;
        let (place, payload) = rest.split_first_chunk().ok_or(Fault::Truncated)?;
        let [message, place] = [message, place].map(|bytes| u32::from_le_bytes(*bytes));
        Ok((Self { message, place }, payload))
    }
}

/// One end of a channel whose port carries packets.
pub(crate) struct PacketPort<'a, const LOSSY: bool> {
    port: Erased<'a, LOSSY>,
    message: Box<[u8]>,
    payload: usize,
    /// `None` where the mechanism itself makes the sender wait.
    window: Option<Window>,
    sent: u32,
    /// The message that arrives, and how many of its packets have.
    arriving: Head,
}

impl<'a, const LOSSY: bool> PacketPort<'a, LOSSY> {
    /// Around a port for packets of `packet` bytes, of which `window` may be under way; messages have up to `largest`.
    pub(crate) fn new(
        port: Erased<'a, LOSSY>,
        largest: usize,
        packet: u64,
        window: Option<u32>,
    ) -> Self {
        Self {
            port,
            message: vec![0; largest.max(HEAD)].into_boxed_slice(),
            payload: payload(packet),
            window: window.map(Window::new),
            sent: 0,
            arriving: Head { message: 0, place: 0 },
        }
    }

    /// Waits for the credit of so many packets; false if it is lost.
    fn credited(&mut self, message: u32, packets: u32) -> Result<bool, Fault> {
        let wanted = Head { message, place: CREDIT | packets };
        let mut silent = 0;
        loop {
            match self.port.recv(HEAD, |packet| Ok(Head::read(packet)?.0)) {
                Ok(head) if head == wanted => return Ok(true),
                // What is left of a message that was given up.
                Ok(_) | Err(Fault::Truncated) if LOSSY => {}
                Ok(_) => return Err(Fault::Corrupt),
                Err(Fault::Timeout) if silent < PATIENCE => silent += 1,
                Err(Fault::Timeout) if LOSSY => return Ok(false),
                Err(fault) => return Err(fault),
            }
        }
    }
}

impl<const LOSSY: bool> Port for PacketPort<'_, LOSSY> {
    const LOSSY: bool = LOSSY;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let head = Head { message: self.sent, place: 0 };
        self.sent = self.sent.wrapping_add(1);
        if len <= self.payload {
            return self.port.send(HEAD + len, |out| {
                head.write(out);
                fill(&mut out[HEAD..]);
            });
        }
        // Of a message that was waited for in vain the rest may still come: what was there of it is overwritten now.
        self.arriving.place = 0;
        fill(self.message.get_mut(..len).ok_or(Fault::TooLong)?);
        for (place, begin) in (0..).zip((0..len).step_by(self.payload)) {
            if let Some(window) = self.window.filter(|window| window.waits(place))
                && !self.credited(head.message, place - window.packets + window.group)?
            {
                // The message is lost, and its receiver notices.
                return Ok(());
            }
            let piece = &self.message[begin..len.min(begin + self.payload)];
            self.port.send(HEAD + piece.len(), |out| {
                Head { place, ..head }.write(out);
                out[HEAD..].copy_from_slice(piece);
            })?;
        }
        Ok(())
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.message.len() < len {
            return Err(Fault::TooLong);
        }
        let total = len.div_ceil(self.payload).max(1) as u32;
        let mut has_come = false;
        loop {
            // Of an abandoned message of another length.
            if self.arriving.place >= total {
                self.arriving.place = 0;
            }
            let (wanted, bytes) = (self.arriving, self.payload);
            let begin = wanted.place as usize * bytes;
            let wire = HEAD + len.min(begin + bytes) - begin;
            let message = &mut self.message;
            let arrived = self.port.recv(wire, |packet| {
                let (head, piece) = Head::read(packet)?;
                let ahead = head.message.wrapping_sub(wanted.message);
                // The first packet of a later message: this one is lost.
                let skips = LOSSY && head.place == 0 && (1..1 << 31).contains(&ahead);
                if head == wanted || skips {
                    let begin = head.place as usize * bytes;
                    message[begin..begin + piece.len()].copy_from_slice(piece);
                    return Ok(Head { place: head.place + 1, ..head });
                }
                match ahead {
                    _ if !LOSSY => Err(Fault::Corrupt),
                    // A packet is missing, so what has come of the message is worth nothing.
                    0..0x8000_0000 if head.place & CREDIT == 0 => Ok(Head { place: 0, ..wanted }),
                    // Left over from a message that was given up.
                    _ => Ok(wanted),
                }
            });
            match arrived {
                Ok(arriving) if arriving == wanted || arriving.place == 0 => {
                    self.arriving = arriving;
                    continue;
                }
                Ok(arriving) => {
                    self.arriving = arriving;
                    has_come = true;
                }
                Err(Fault::Truncated) if LOSSY => continue,
                // Some of it has come since the last wait in vain: the sender is slow, and not silent.
                Err(Fault::Timeout) if LOSSY && std::mem::take(&mut has_come) => continue,
                Err(fault) => return Err(fault),
            }
            let Head { message, place } = self.arriving;
            if place == total {
                self.arriving = Head { message: message.wrapping_add(1), place: 0 };
                return take(&self.message[..len]);
            }
            if self.window.is_some_and(|window| window.grants(place, total)) {
                self.port.send(HEAD, |out| Head { message, place: CREDIT | place }.write(out))?;
            }
        }
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.port.flush()
    }

    // A packet is copied whole.
    fn expect(&mut self, _part: Part) {}

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        self.port.events(report);
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.port.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    /// Messages between threads; the one with this number of all that this end sends is lost.
    struct Posted {
        to: Sender<Vec<u8>>,
        from: Receiver<Vec<u8>>,
        sent: u64,
        lost: u64,
        patience: Duration,
    }

    impl Port for Posted {
        const LOSSY: bool = true;

        fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
            let mut message = vec![0; len];
            fill(&mut message);
            self.sent += 1;
            if self.sent != self.lost {
                let _ = self.to.send(message);
            }
            Ok(())
        }

        fn recv<T>(
            &mut self,
            len: usize,
            take: impl FnOnce(&[u8]) -> Result<T, Fault>,
        ) -> Result<T, Fault> {
            match self.from.recv_timeout(self.patience) {
                Ok(message) if message.len() == len => take(&message),
                Ok(_) => Err(Fault::Truncated),
                Err(_) => Err(Fault::Timeout),
            }
        }

        fn finish(&mut self) -> Result<(), Fault> {
            Ok(())
        }
    }

    fn pair(lost: u64) -> [Posted; 2] {
        let (ping, pong) = (channel(), channel());
        // Where nothing is lost nobody gives up, however busy the machine is.
        let patience = Duration::from_millis(if lost == 0 { 60_000 } else { 50 });
        [
            Posted { to: ping.0, from: pong.1, sent: 0, lost, patience },
            Posted { to: pong.0, from: ping.1, sent: 0, lost: 0, patience },
        ]
    }

    fn around(port: &mut Posted, window: u32) -> PacketPort<'_, true> {
        PacketPort::new(Erased(port), 1000, 108, Some(window))
    }

    fn bytes(seed: u8, len: usize) -> Vec<u8> {
        (0..len).map(|at| (at as u8).wrapping_mul(7).wrapping_add(seed)).collect()
    }

    #[test]
    fn a_message_is_cut_into_full_packets_and_a_rest() {
        assert_eq!([0, 4, 6492, 6493, 524_288].map(|len| count(len, 6500)), [1, 1, 1, 2, 81]);
        assert_eq!([4, 6492, 524_288].map(|len| longest(len, 6500)), [12, 6500, 6500]);
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
                    let credits = (0..=sent).filter(|sent| window.waits(*sent)).count() as u32;
                    assert!(sent + 1 - credits * window.group <= packets, "{window:?}, {sent}");
                }
            }
        }
    }

    #[test]
    fn messages_of_any_length_go_there_and_back_within_a_small_window() {
        for window in [1, 3, 8] {
            let [mut lead, mut follow] = pair(0);
            let lengths = [1, 100, 101, 1000, 8, 999];
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let mut end = around(&mut follow, window);
                    for len in lengths {
                        let got = end.recv(len, |message| Ok(message.to_vec())).expect("a message");
                        end.send(len, |out| out.copy_from_slice(&got)).expect("sent");
                    }
                });
                let mut end = around(&mut lead, window);
                for (seed, len) in (0..).zip(lengths) {
                    let sent = bytes(seed, len);
                    end.send(len, |out| out.copy_from_slice(&sent)).expect("sent");
                    let back = end.recv(len, |message| Ok(message.to_vec()));
                    assert_eq!(back, Ok(sent), "{len} bytes, window {window}");
                }
            });
        }
    }

    #[test]
    fn a_lost_packet_costs_its_message_and_no_other() {
        // Of three messages of ten packets the first, a middle and the last packet of the second.
        for lost in [11, 15, 20] {
            let [mut lead, mut follow] = pair(lost);
            let mut end = around(&mut lead, 64);
            for seed in 0..3 {
                end.send(1000, |out| out.copy_from_slice(&bytes(seed, 1000))).expect("sent");
            }
            let mut end = around(&mut follow, 64);
            let mut came = Vec::new();
            while let Ok(message) = end.recv(1000, |message| Ok(message.to_vec())) {
                came.push(message);
            }
            assert_eq!(came, [bytes(0, 1000), bytes(2, 1000)], "packet {lost}");
        }
    }

    #[test]
    fn a_credit_that_never_comes_ends_the_message_and_not_the_channel() {
        let [mut lead, mut follow] = pair(1);
        let mut end = around(&mut lead, 2);
        // Its first packet is lost; nobody answers the two that went.
        assert_eq!(end.send(1000, |out| out.fill(1)), Ok(()));
        assert_eq!(end.send(50, |out| out.fill(2)), Ok(()));
        let mut end = around(&mut follow, 2);
        assert_eq!(end.recv(50, |message| Ok(message.to_vec())), Ok(vec![2; 50]));
    }

    /// Gives out packets in order; `None` is a wait that ends in a timeout.
    struct Script(VecDeque<Option<Vec<u8>>>);

    impl Port for Script {
        const LOSSY: bool = true;

        fn send(&mut self, _: usize, _: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
            Ok(())
        }

        fn recv<T>(
            &mut self,
            _: usize,
            take: impl FnOnce(&[u8]) -> Result<T, Fault>,
        ) -> Result<T, Fault> {
            take(&self.0.pop_front().ok_or(Fault::Closed)?.ok_or(Fault::Timeout)?)
        }

        fn finish(&mut self) -> Result<(), Fault> {
            Ok(())
        }
    }

    #[test]
    fn a_message_whose_packets_come_slowly_is_waited_for_and_silence_is_told() {
        let sent = bytes(1, 1000);
        let packet = |(place, piece): (u32, &[u8])| {
            let mut packet = vec![0; HEAD];
            Head { message: 0, place }.write(&mut packet);
            Some([&packet, piece].concat())
        };
        let mut coming: VecDeque<_> =
            (0..).zip(sent.chunks(100)).flat_map(|piece| [packet(piece), None]).collect();
        coming.insert(7, None);
        coming.push_front(None);
        let mut port = Script(coming);
        let mut end = PacketPort::<true>::new(Erased(&mut port), 1000, 108, Some(64));
        let mut take = || end.recv(1000, |message| Ok(message.to_vec()));
        // Before the first packet, and the second of two waits within the message.
        assert_eq!(take(), Err(Fault::Timeout));
        assert_eq!(take(), Err(Fault::Timeout));
        assert_eq!(take(), Ok(sent));
    }

    #[test]
    fn what_comes_late_is_not_mixed_with_what_was_sent_meanwhile() {
        let ([late, next], own) = ([bytes(1, 1000), bytes(2, 1000)], bytes(9, 1000));
        // The packets of two messages; the port gives up after a moment.
        let [mut peer, mut port] = pair(u64::MAX);
        let mut packets = Vec::new();
        let [mut sender, receiver] = pair(u64::MAX);
        let mut end = around(&mut sender, 64);
        for message in [&late, &next] {
            end.send(1000, |out| out.copy_from_slice(message)).expect("sent");
        }
        packets.extend(receiver.from.try_iter());
        let rest = packets.split_off(4);
        let mut post = |packets: Vec<Vec<u8>>| {
            for packet in packets {
                peer.send(packet.len(), |out| out.copy_from_slice(&packet)).expect("sent");
            }
        };
        let mut end = around(&mut port, 64);
        post(packets);
        assert_eq!(end.recv(1000, |message| Ok(message.to_vec())), Err(Fault::Timeout));
        end.send(1000, |out| out.copy_from_slice(&own)).expect("sent");
        post(rest);
        assert_eq!(end.recv(1000, |message| Ok(message.to_vec())), Ok(next));
    }
}
