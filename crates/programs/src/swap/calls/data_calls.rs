//! Calls that move data or make a connection, made in the program's place: `accept(2)` with an address, and `sendto(2)` and
//! `recvfrom(2)` with one.

use super::held::is_nonblocking;
use super::name::{LONGEST, Name};
use super::transfer::{CHUNK, PendingTransfer, accept_now, limit};
use super::waiting::DelayedAnswer;
use super::{Answer, Exchange, Role, count};
use crate::swap::calls::handed::PendingCall;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags, sockopt};
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

impl Exchange {
    pub(super) fn accept(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let listener = call.descriptor(call.fd())?;
        match self.role(&listener) {
            Some(Role::Bound(_)) => {
                let until = limit(&listener, sockopt::Timeout::Recv)?;
                self.take(call, listener, until)
            }
            _ => Ok(Answer::GoOn),
        }
    }

    /// Accepts in the program's place, now or as soon as somebody connects.
    pub(super) fn take(
        &mut self,
        call: &PendingCall,
        listener: OwnedFd,
        until: Option<Instant>,
    ) -> io::Result<Answer> {
        let [_, place, len, flags, ..] = call.args;
        let flags = if call.number == libc::SYS_accept4 { flags as i32 } else { 0 };
        if flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != 0 {
            return Ok(Answer::Value(Err(libc::EINVAL)));
        }
        let blocks = match flags & libc::SOCK_NONBLOCK {
            0 => SocketFlags::empty(),
            _ => SocketFlags::NONBLOCK,
        };
        match accept_now(&listener, SocketFlags::CLOEXEC | blocks) {
            Ok(socket) => {
                self.set_buffers(&socket)?;
                if place != 0
                    && let Some(Role::Accepted(_, client)) = self.role(&socket)
                    && let Err(errno) = client.own.told(call, place, len)
                {
                    // Who connected is lost then, as with the kernel.
                    return Ok(Answer::Value(Err(errno)));
                }
                let number = call.add(socket.as_fd(), flags & libc::SOCK_CLOEXEC != 0)?;
                Ok(Answer::Value(Ok(i64::from(number))))
            }
            Err(Errno::AGAIN) if !is_nonblocking(&listener)? => {
                let call = call.clone();
                self.waiting.push(DelayedAnswer::Accepts { call, listener, until });
                Ok(Answer::Later)
            }
            Err(errno) => Ok(Answer::Value(Err(errno.raw_os_error()))),
        }
    }

    /// A `sendto(2)` or `recvfrom(2)` with an address.
    pub(super) fn transfer(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let socket = call.descriptor(call.fd())?;
        let is_send = call.number == libc::SYS_sendto;
        let flags = call.args[3] as i32;
        if is_send && flags & libc::MSG_FASTOPEN != 0 {
            let [.., address, len] = call.args;
            return self.connect_to(call, Name::at(call, address, len)?);
        }
        if !matches!(self.role(&socket), Some(Role::Connected(_) | Role::Accepted(..))) {
            return Ok(Answer::GoOn);
        }
        if !is_send && flags & libc::MSG_ERRQUEUE != 0 {
            return Ok(Answer::GoOn);
        }
        if is_send && call.args[5] as u32 as usize > LONGEST {
            return Ok(Answer::Value(Err(libc::EINVAL)));
        }
        self.carry(call)
    }

    /// Moves the bytes of a call in the program's place.
    pub(super) fn carry(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let socket = call.descriptor(call.fd())?;
        let (name, which) = match call.number {
            libc::SYS_sendto => ("sendto", sockopt::Timeout::Send),
            _ => ("recvfrom", sockopt::Timeout::Recv),
        };
        count(&mut self.exchanged.carried, name.to_owned());
        let until = limit(&socket, which)?;
        self.go_through(PendingTransfer { call: call.clone(), socket, moved: 0, until })
    }

    pub(super) fn go_through(&mut self, transfer: PendingTransfer) -> io::Result<Answer> {
        match transfer.call.number {
            libc::SYS_sendto => self.send(transfer),
            _ => self.receive(transfer),
        }
    }

    fn send(&mut self, mut transfer: PendingTransfer) -> io::Result<Answer> {
        let ours = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let signals = transfer.flags() & libc::MSG_NOSIGNAL.cast_unsigned() == 0;
        // They concern connecting and copies, which have no meaning to the other kind.
        let without = (libc::MSG_FASTOPEN | libc::MSG_ZEROCOPY).cast_unsigned();
        let flags = SendFlags::from_bits_retain(transfer.flags() & !without) | ours;
        loop {
            let left = transfer.len() - transfer.moved;
            let from = transfer.call.args[1] + transfer.moved as u64;
            let bytes = transfer.call.read(from, left.min(CHUNK))?;
            match net::send(&transfer.socket, &bytes, flags) {
                Ok(sent) => {
                    transfer.moved += sent;
                    if transfer.moved >= transfer.len() {
                        return Ok(Answer::Value(Ok(transfer.moved as i64)));
                    }
                }
                Err(Errno::AGAIN) if !transfer.is_nonblocking()? => {
                    self.waiting.push(DelayedAnswer::Transfers(transfer));
                    return Ok(Answer::Later);
                }
                Err(errno) => {
                    if errno == Errno::PIPE && transfer.moved == 0 && signals {
                        let pid = Pid::from_raw(transfer.call.pid.cast_signed());
                        let _ = pid.map(|pid| kill_process(pid, Signal::PIPE));
                    }
                    return Ok(Answer::Value(transfer.ends(errno)));
                }
            }
        }
    }

    fn receive(&mut self, mut transfer: PendingTransfer) -> io::Result<Answer> {
        let is_whole = transfer.flags() & libc::MSG_WAITALL.cast_unsigned() != 0;
        let flags = RecvFlags::from_bits_retain(transfer.flags()) | RecvFlags::DONTWAIT;
        let [_, place, _, _, _, address_len] = transfer.call.args;
        let mut bytes = vec![0_u8; transfer.len().min(CHUNK)];
        loop {
            let room = (transfer.len() - transfer.moved).min(bytes.len());
            match net::recv(&transfer.socket, &mut bytes[..room], flags) {
                Ok((received, _)) => {
                    let to = place + transfer.moved as u64;
                    transfer.call.write(to, &bytes[..received])?;
                    transfer.moved += received;
                    let is_done = received == 0 || transfer.moved >= transfer.len() || !is_whole;
                    if is_done {
                        if let Err(errno) = transfer.call.room(address_len)? {
                            return Ok(Answer::Value(Err(errno)));
                        }
                        // TCP tells of no address: its length is 0.
                        transfer.call.write(address_len, &0_i32.to_ne_bytes())?;
                        return Ok(Answer::Value(Ok(transfer.moved as i64)));
                    }
                }
                Err(Errno::AGAIN) if !transfer.is_nonblocking()? => {
                    self.waiting.push(DelayedAnswer::Transfers(transfer));
                    return Ok(Answer::Later);
                }
                Err(errno) => return Ok(Answer::Value(transfer.ends(errno))),
            }
        }
    }
}
