//! `setsockopt(2)` and `getsockopt(2)` of sockets that are exchanged.

use super::name::Name;
use super::options::{Kept, LONGEST, Model, SOCKET, TCP, TcpState, idle, option_name};
use super::{Answer, Exchange, Role, To, count};
use crate::swap::calls::handed::PendingCall;
use rustix::net::sockopt;
use std::io;
use std::net::SocketAddr;

/// Options that report the state of a TCP connection; an exchanged connection has no such state.
const OF_NOW: [(u32, i32); 6] = [
    (TCP, libc::TCP_INFO),
    (TCP, libc::TCP_CC_INFO),
    (TCP, libc::TCP_TIMESTAMP),
    (TCP, libc::TCP_QUEUE_SEQ),
    (TCP, libc::TCP_ZEROCOPY_RECEIVE),
    (TCP, libc::TCP_INQ),
];

impl Exchange {
    pub(super) fn set_option(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let [_, level, option, ..] = call.args.map(|argument| argument as u32);
        let [_, _, _, value, len, _] = call.args;
        let socket = call.descriptor(call.fd())?;
        let Ok(cookie) = sockopt::socket_cookie(&socket) else { return Ok(Answer::GoOn) };
        let model = match self.role(&socket) {
            Some(role) => model(&role),
            None if self.is_of_kind(&socket) => {
                // Should it be exchanged later, its value is read then.
                self.options.keep(cookie, Kept { level, option, value: None });
                return Ok(Answer::GoOn);
            }
            None => return Ok(Answer::GoOn),
        };
        let Ok(len) = usize::try_from(len as i32) else {
            return Ok(Answer::Value(Err(libc::EINVAL)));
        };
        let bytes = call.read(value, len.min(LONGEST))?;
        let done = match (self.wanted.to, level, option.cast_signed()) {
            (To::Tcp, ..) => {
                self.options.keep(cookie, Kept { level, option, value: Some(bytes) });
                Ok(())
            }
            // What works on the bytes of TCP cannot be had, as with a kernel without it.
            (_, TCP, libc::TCP_ULP) => Err(libc::ENOENT),
            _ => self.options.set(cookie, model, (level, option), &bytes),
        };
        if done.is_ok() {
            count(&mut self.exchanged.options, option_name(level, option));
        }
        Ok(Answer::Value(done.map(|()| 0)))
    }

    pub(super) fn option(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let [_, level, option, ..] = call.args.map(|argument| argument as u32);
        let [_, _, _, place, len_at, _] = call.args;
        let socket = call.descriptor(call.fd())?;
        let Some(role) = self.role(&socket) else { return Ok(Answer::GoOn) };
        let (mut model, listener) = (model(&role), role.listener());
        let (protocol, state) = match &role {
            Role::Bound(bound) => (bound.protocol, TcpState::Listen),
            Role::Accepted(..) | Role::Connected(_) => (TCP, TcpState::of_connection(&socket)),
        };
        let room = match call.room(len_at)? {
            Ok(room) => room.min(LONGEST),
            Err(errno) => return Ok(Answer::Value(Err(errno))),
        };
        let number = |number: i32| {
            let mut bytes = number.to_ne_bytes().to_vec();
            bytes.truncate(room);
            Ok(bytes)
        };
        let is_unix = self.wanted.to == To::Tcp;
        let told = match (level, option.cast_signed()) {
            (SOCKET, libc::SO_DOMAIN) if is_unix => number(libc::AF_UNIX),
            (SOCKET, libc::SO_DOMAIN) if model.is_v6 => number(libc::AF_INET6),
            (SOCKET, libc::SO_DOMAIN) => number(libc::AF_INET),
            (SOCKET, libc::SO_PROTOCOL) if is_unix => number(0),
            (SOCKET, libc::SO_PROTOCOL) => number(protocol.cast_signed()),
            (SOCKET, libc::SO_TYPE) => number(libc::SOCK_STREAM),
            asked => {
                if OF_NOW.contains(&(asked.0, asked.1)) {
                    count(&mut self.exchanged.asked, option_name(level, option));
                }
                if is_unix {
                    model = Model { is_v6: false, is_connected: false };
                }
                let cookies = [sockopt::socket_cookie(&socket).ok(), listener];
                let told = self.options.get(cookies, model, (level, option), room);
                match asked {
                    (TCP, libc::TCP_INFO) => told.map(|told| idle(&told, state)),
                    (SOCKET, _) if is_unix => told.or_else(|_| number(0)),
                    _ => told,
                }
            }
        };
        Ok(Answer::Value(match told {
            Ok(bytes) => {
                call.write(place, &bytes)?;
                call.write(len_at, &(bytes.len() as i32).to_ne_bytes())?;
                Ok(0)
            }
            Err(code) => Err(code),
        }))
    }
}

/// Which socket of TCP answers for it.
pub(super) fn model(role: &Role<'_>) -> Model {
    let (name, is_connected) = match role {
        Role::Bound(bound) => (&bound.name, false),
        Role::Accepted(bound, _) => (&bound.name, true),
        Role::Connected(client) => (&client.dialed, true),
    };
    Model { is_v6: matches!(name, Name::Ip(SocketAddr::V6(_))), is_connected }
}
