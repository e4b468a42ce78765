//! Messages with types and names, over a bus or its protocol.

mod broker;
pub mod dbus;
#[cfg_attr(not(feature = "dbus"), path = "dbus_port/absent.rs")]
pub mod dbus_port;
