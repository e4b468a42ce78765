//! Functions of C and C++ behind safe types, and the one of the standard library that is unsafe.
//!
//! # Safety
//! Declarations are those of the headers named beside them. A handle is made and closed by one owner, who is tied to no
//! thread, and every slice that is passed lives until the call has returned; the libraries keep no address of it.

use iceoryx2::sample_mut::SampleMut;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use iceoryx2::service::ipc;
use std::env;
use std::mem::MaybeUninit;

/// Does something while `TMPDIR` is `directory`.
pub(crate) fn with_temporary_directory<T>(directory: &str, act: impl FnOnce() -> T) -> T {
    const NAME: &str = "TMPDIR";
    let before = env::var_os(NAME);
    // SAFETY: an end attaches in a worker, which has one thread then.
    unsafe { env::set_var(NAME, directory) };
    let done = act();
    match before {
        // SAFETY: as above.
        Some(before) => unsafe { env::set_var(NAME, before) },
        // SAFETY: as above.
        None => unsafe { env::remove_var(NAME) },
    }
    done
}

/// Memory of iceoryx2 that was lent for a message, as bytes.
pub(crate) fn initialised(
    lent: SampleMutUninit<ipc::Service, [MaybeUninit<u8>], u64>,
) -> SampleMut<ipc::Service, [u8], u64> {
    // SAFETY: it is a mapping, in which the kernel has put zeros before anybody could write; any byte is a `u8`.
    unsafe { lent.assume_init() }
}

/// A text for C; one with a zero inside ends there.
#[cfg(any(has_boost, has_nng, has_zeromq))]
fn text(text: &str) -> std::ffi::CString {
    let bytes: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    std::ffi::CString::new(bytes).unwrap_or_default()
}

/// `zmq.h` of libzmq 4.
#[cfg(has_zeromq)]
pub(crate) mod zeromq {
    use super::text;
    use std::ffi::{c_char, c_int, c_void};

    const ZMQ_PAIR: c_int = 0;
    const ZMQ_LINGER: c_int = 17;
    const ZMQ_SNDHWM: c_int = 23;
    const ZMQ_RCVHWM: c_int = 24;
    const ZMQ_SNDMORE: c_int = 2;
    const ZMQ_DONTWAIT: c_int = 1;

    /// How long a socket that is closed goes on sending its last word, ms.
    const LINGER: c_int = 100;

    /// `zmq_msg_t`.
    #[repr(C, align(8))]
    struct Raw([u8; 64]);

    unsafe extern "C" {
        fn zmq_errno() -> c_int;
        fn zmq_ctx_new() -> *mut c_void;
        fn zmq_ctx_term(context: *mut c_void) -> c_int;
        fn zmq_socket(context: *mut c_void, kind: c_int) -> *mut c_void;
        fn zmq_close(socket: *mut c_void) -> c_int;
        fn zmq_setsockopt(
            socket: *mut c_void,
            name: c_int,
            value: *const c_void,
            len: usize,
        ) -> c_int;
        fn zmq_bind(socket: *mut c_void, address: *const c_char) -> c_int;
        fn zmq_connect(socket: *mut c_void, address: *const c_char) -> c_int;
        fn zmq_send(socket: *mut c_void, data: *const c_void, len: usize, flags: c_int) -> c_int;
        fn zmq_msg_init(message: *mut Raw) -> c_int;
        fn zmq_msg_recv(message: *mut Raw, socket: *mut c_void, flags: c_int) -> c_int;
        fn zmq_msg_close(message: *mut Raw) -> c_int;
        fn zmq_msg_data(message: *mut Raw) -> *mut c_void;
        fn zmq_msg_size(message: *const Raw) -> usize;
        fn zmq_msg_more(message: *const Raw) -> c_int;
    }

    fn done(result: c_int) -> Result<(), i32> {
        // SAFETY: no argument.
        if result >= 0 { Ok(()) } else { Err(unsafe { zmq_errno() }) }
    }

    /// A message as the library holds it.
    pub(crate) struct Message(Raw);

    impl Default for Message {
        fn default() -> Self {
            let mut raw = Raw([0; 64]);
            // SAFETY: room for a message, which it cannot fail to make empty.
            unsafe { zmq_msg_init(&raw mut raw) };
            Self(raw)
        }
    }

    impl Message {
        /// Its bytes.
        pub(crate) fn bytes(&mut self) -> &[u8] {
            // SAFETY: a message that was initialised.
            let (data, len) =
                unsafe { (zmq_msg_data(&raw mut self.0), zmq_msg_size(&raw const self.0)) };
            if len == 0 {
                return &[];
            }
            // SAFETY: so many bytes there are the message's until it is received into or closed, which borrows it.
            unsafe { std::slice::from_raw_parts(data.cast(), len) }
        }

        /// Whether another part follows.
        pub(crate) fn has_more(&self) -> bool {
            // SAFETY: a message that was initialised.
            unsafe { zmq_msg_more(&raw const self.0) != 0 }
        }
    }

    impl Drop for Message {
        fn drop(&mut self) {
            // SAFETY: a message that was initialised, for the last time.
            unsafe { zmq_msg_close(&raw mut self.0) };
        }
    }

    /// A socket and the context it lives in.
    pub(crate) struct Socket {
        context: *mut c_void,
        socket: *mut c_void,
    }

    impl Socket {
        /// A `ZMQ_PAIR` at each end of which so many messages may wait. Threads are started.
        pub(crate) fn pair(hwm: i32) -> Result<Self, i32> {
            // SAFETY: no argument.
            let context = unsafe { zmq_ctx_new() };
            // SAFETY: a context, or null, which is refused.
            let socket = unsafe { zmq_socket(context, ZMQ_PAIR) };
            if socket.is_null() {
                // SAFETY: no argument.
                let code = unsafe { zmq_errno() };
                // SAFETY: a context without sockets, or null, which is refused.
                unsafe { zmq_ctx_term(context) };
                return Err(code);
            }
            let own = Self { context, socket };
            for (name, value) in [(ZMQ_SNDHWM, hwm), (ZMQ_RCVHWM, hwm), (ZMQ_LINGER, LINGER)] {
                let value: *const c_int = &value;
                // SAFETY: a socket, and a live int with its length.
                done(unsafe { zmq_setsockopt(socket, name, value.cast(), size_of::<c_int>()) })?;
            }
            Ok(own)
        }

        /// Waits for a peer at an address.
        pub(crate) fn bind(&self, address: &str) -> Result<(), i32> {
            // SAFETY: a socket and a text that ends.
            done(unsafe { zmq_bind(self.socket, text(address).as_ptr()) })
        }

        /// Looks for the peer there.
        pub(crate) fn connect(&self, address: &str) -> Result<(), i32> {
            // SAFETY: a socket and a text that ends.
            done(unsafe { zmq_connect(self.socket, text(address).as_ptr()) })
        }

        /// Sends a message, or a part after which `more` follow.
        pub(crate) fn send(&self, part: &[u8], more: bool) -> Result<(), i32> {
            let flags = if more { ZMQ_SNDMORE } else { 0 };
            // SAFETY: a socket, and live bytes, which are copied.
            done(unsafe { zmq_send(self.socket, part.as_ptr().cast(), part.len(), flags) })
        }

        /// The same at once or not at all (`EAGAIN`).
        pub(crate) fn try_send(&self, part: &[u8], more: bool) -> Result<(), i32> {
            let flags = ZMQ_DONTWAIT | if more { ZMQ_SNDMORE } else { 0 };
            // SAFETY: as above.
            done(unsafe { zmq_send(self.socket, part.as_ptr().cast(), part.len(), flags) })
        }

        /// Receives a message, or a part of one, in place of what `message` was.
        pub(crate) fn receive(&self, message: &mut Message) -> Result<(), i32> {
            // SAFETY: a socket, and a message that was initialised.
            done(unsafe { zmq_msg_recv(&raw mut message.0, self.socket, 0) })
        }

        /// The same if there is one (`EAGAIN`).
        pub(crate) fn try_receive(&self, message: &mut Message) -> Result<(), i32> {
            // SAFETY: as above.
            done(unsafe { zmq_msg_recv(&raw mut message.0, self.socket, ZMQ_DONTWAIT) })
        }
    }

    impl Drop for Socket {
        fn drop(&mut self) {
            // SAFETY: a socket, for the last time.
            unsafe { zmq_close(self.socket) };
            // SAFETY: its context, which has no other; the call is made again only where it was interrupted.
            while done(unsafe { zmq_ctx_term(self.context) }) == Err(ipcperf::tools::errno::EINTR) {
            }
        }
    }
}

/// `nng.h` of nng 1.
#[cfg(has_nng)]
pub(crate) mod nng {
    use super::text;
    use ipcperf::tools::errno;
    use std::ffi::{c_char, c_int, c_void};
    use std::ptr::{NonNull, null_mut};

    const NNG_FLAG_NONBLOCK: c_int = 2;

    /// `nng_socket`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Id(u32);

    unsafe extern "C" {
        fn nng_pair0_open(socket: *mut Id) -> c_int;
        fn nng_close(socket: Id) -> c_int;
        fn nng_socket_set_int(socket: Id, name: *const c_char, value: c_int) -> c_int;
        fn nng_socket_set_size(socket: Id, name: *const c_char, value: usize) -> c_int;
        fn nng_listen(socket: Id, url: *const c_char, listener: *mut c_void, flags: c_int)
        -> c_int;
        fn nng_dial(socket: Id, url: *const c_char, dialer: *mut c_void, flags: c_int) -> c_int;
        fn nng_send(socket: Id, data: *mut c_void, len: usize, flags: c_int) -> c_int;
        fn nng_recvmsg(socket: Id, message: *mut *mut c_void, flags: c_int) -> c_int;
        fn nng_msg_body(message: *mut c_void) -> *mut c_void;
        fn nng_msg_len(message: *const c_void) -> usize;
        fn nng_msg_free(message: *mut c_void);
    }

    /// The error of `errno` that one of `nng_errno_enum` is.
    fn done(code: c_int) -> Result<(), i32> {
        const NNG_ESYSERR: c_int = 0x1000_0000;
        match code {
            0 => Ok(()),
            1 => Err(errno::EINTR),
            6 => Err(errno::ECONNREFUSED),
            7 | 31 => Err(errno::EPIPE),
            8 => Err(errno::EAGAIN),
            17 => Err(errno::EMSGSIZE),
            18 | 19 => Err(errno::ECONNRESET),
            system if system & NNG_ESYSERR != 0 => Err(system & !NNG_ESYSERR),
            _ => Err(errno::EINVAL),
        }
    }

    /// A message as the library holds it; none before the first.
    #[derive(Default)]
    pub(crate) struct Message(Option<NonNull<c_void>>);

    impl Message {
        /// Its bytes.
        pub(crate) fn bytes(&self) -> &[u8] {
            let Some(message) = self.0 else { return &[] };
            // SAFETY: a message that was received.
            let (body, len) =
                unsafe { (nng_msg_body(message.as_ptr()), nng_msg_len(message.as_ptr())) };
            if len == 0 {
                return &[];
            }
            // SAFETY: so many bytes there are the message's until it is freed, which borrows it.
            unsafe { std::slice::from_raw_parts(body.cast(), len) }
        }
    }

    impl Drop for Message {
        fn drop(&mut self) {
            if let Some(message) = self.0 {
                // SAFETY: a message that was received, for the last time.
                unsafe { nng_msg_free(message.as_ptr()) };
            }
        }
    }

    /// A socket.
    pub(crate) struct Socket(Id);

    impl Socket {
        /// A socket of `pair`, version 0, at each end of which so many messages may wait. Threads are started.
        pub(crate) fn pair(waiting: i32) -> Result<Self, i32> {
            let mut id = Id(0);
            // SAFETY: room for a socket.
            done(unsafe { nng_pair0_open(&raw mut id) })?;
            let own = Self(id);
            for name in [c"send-buffer", c"recv-buffer"] {
                // SAFETY: a socket, and a text that ends.
                done(unsafe { nng_socket_set_int(id, name.as_ptr(), waiting) })?;
            }
            // SAFETY: as above; 0 is no limit.
            done(unsafe { nng_socket_set_size(id, c"recv-size-max".as_ptr(), 0) })?;
            Ok(own)
        }

        /// Waits for a peer at an address.
        pub(crate) fn listen(&self, address: &str) -> Result<(), i32> {
            // SAFETY: a socket and a text that ends; nobody asks for the listener.
            done(unsafe { nng_listen(self.0, text(address).as_ptr(), null_mut(), 0) })
        }

        /// Connects to the peer there.
        pub(crate) fn dial(&self, address: &str) -> Result<(), i32> {
            // SAFETY: as above.
            done(unsafe { nng_dial(self.0, text(address).as_ptr(), null_mut(), 0) })
        }

        /// Sends a message; with `waits` off at once or not at all (`EAGAIN`).
        pub(crate) fn send(&self, message: &[u8], waits: bool) -> Result<(), i32> {
            let flags = if waits { 0 } else { NNG_FLAG_NONBLOCK };
            let data = message.as_ptr().cast_mut().cast();
            // SAFETY: a socket, and live bytes, which are copied and not written.
            done(unsafe { nng_send(self.0, data, message.len(), flags) })
        }

        /// Receives a message in place of what `message` was; with `waits` off if there is one (`EAGAIN`).
        pub(crate) fn receive(&self, message: &mut Message, waits: bool) -> Result<(), i32> {
            let flags = if waits { 0 } else { NNG_FLAG_NONBLOCK };
            let mut came = null_mut();
            // SAFETY: a socket, and room for an address.
            done(unsafe { nng_recvmsg(self.0, &raw mut came, flags) })?;
            *message = Message(NonNull::new(came));
            Ok(())
        }
    }

    impl Drop for Socket {
        fn drop(&mut self) {
            // SAFETY: a socket, for the last time.
            unsafe { nng_close(self.0) };
        }
    }
}

/// `boost_queue.cpp`.
#[cfg(has_boost)]
pub(crate) mod boost_queue {
    use super::text;
    use std::ffi::{c_char, c_int, c_uint, c_void};
    use std::ptr::NonNull;

    unsafe extern "C" {
        fn ipcperf_queue_create(name: *const c_char, depth: usize, size: usize) -> c_int;
        fn ipcperf_queue_open(name: *const c_char, queue: *mut *mut c_void) -> c_int;
        fn ipcperf_queue_close(queue: *mut c_void);
        fn ipcperf_queue_send(
            queue: *mut c_void,
            data: *const c_void,
            len: usize,
            priority: c_uint,
        ) -> c_int;
        fn ipcperf_queue_receive(
            queue: *mut c_void,
            data: *mut c_void,
            room: usize,
            len: *mut usize,
            priority: *mut c_uint,
        ) -> c_int;
    }

    fn done(code: c_int) -> Result<(), i32> {
        if code == 0 { Ok(()) } else { Err(code) }
    }

    /// Makes a queue of so many messages of at most so many bytes.
    pub(crate) fn create(name: &str, depth: u64, size: usize) -> Result<(), i32> {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        // SAFETY: a text that ends.
        done(unsafe { ipcperf_queue_create(text(name).as_ptr(), depth, size.max(1)) })
    }

    /// One mapping of a queue.
    pub(crate) struct Queue(NonNull<c_void>);

    impl Queue {
        /// Maps a queue that was made.
        pub(crate) fn open(name: &str) -> Result<Self, i32> {
            let mut queue = std::ptr::null_mut();
            // SAFETY: a text that ends, and room for an address.
            done(unsafe { ipcperf_queue_open(text(name).as_ptr(), &raw mut queue) })?;
            NonNull::new(queue).map(Self).ok_or(ipcperf::tools::errno::EINVAL)
        }

        /// Copies a message in, when there is room.
        pub(crate) fn send(&self, bytes: &[u8], priority: u32) -> Result<(), i32> {
            // SAFETY: a queue, and live bytes, which are copied.
            done(unsafe {
                ipcperf_queue_send(self.0.as_ptr(), bytes.as_ptr().cast(), bytes.len(), priority)
            })
        }

        /// Copies a message out, when there is one: its length and its priority.
        pub(crate) fn receive(&self, into: &mut [u8]) -> Result<(usize, u32), i32> {
            let (mut len, mut priority) = (0, 0);
            let (data, room) = (into.as_mut_ptr().cast(), into.len());
            // SAFETY: a queue, live room with its length, and room for both results.
            let code = unsafe {
                ipcperf_queue_receive(self.0.as_ptr(), data, room, &raw mut len, &raw mut priority)
            };
            done(code).map(|()| (len, priority))
        }
    }

    impl Drop for Queue {
        fn drop(&mut self) {
            // SAFETY: a queue, for the last time.
            unsafe { ipcperf_queue_close(self.0.as_ptr()) };
        }
    }
}
