//! What can be asked of a pattern: one row for flags, help and job files.

use crate::names::names;

names! {
    /// One thing that can be asked of a pattern: a flag of `run` and a key of job files.
    "load" LoadKey {
        /// How long the lead sleeps before each round trip.
        Think = "think",
        /// How much is asked of an open loop.
        Rate = "rate",
        /// When its messages are due.
        Arrivals = "arrivals",
        /// The follow is stopped once in each slice.
        Stall = "stall",
        /// Messages sent back to back.
        Burst = "burst",
        /// Messages under way.
        Window = "window",
        /// Bytes of the packets that messages go in.
        Packet = "packet",
        /// Clients at the same time.
        Conns = "conns",
        /// Producers or consumers.
        Peers = "peers",
        /// What is done to each message.
        Transform = "transform",
        /// Whether each way is timed.
        OneWay = "one-way",
    }
}

impl LoadKey {
    /// What stands for its values in help: "TIMES"; empty where it has none and is only switched on.
    #[must_use]
    pub const fn values(self) -> &'static str {
        match self {
            Self::Think | Self::Stall => "TIMES",
            Self::Rate => "RATES",
            Self::Arrivals => "ARRIVALS",
            Self::Burst | Self::Window | Self::Conns | Self::Peers => "COUNTS",
            Self::Packet => "SIZES",
            Self::Transform => "NAMES",
            Self::OneWay => "",
        }
    }

    /// What a pattern that takes it is given if nothing else was asked for.
    #[must_use]
    pub const fn default(self) -> Option<&'static str> {
        match self {
            Self::Rate => Some("10%..95%"),
            Self::Arrivals => Some("poisson"),
            Self::Burst => Some("16"),
            _ => None,
        }
    }

    /// One line for users.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Think => {
                "Ping-pong: how long the lead sleeps before each round trip: 0,10us,1ms [default: 0]"
            }
            Self::Rate => {
                "Rate: messages due per second: 50k; or shares of the closed loop's rate: 25%,50%, 10%..95% \
                 [default: 10%..95%]"
            }
            Self::Arrivals => "Rate: when messages are due: poisson, constant [default: poisson]",
            Self::Stall => {
                "Rate and ping-pong: stop the follow for so long once in each slice, to see what a load hides: 100ms"
            }
            Self::Burst => {
                "Burst: messages sent back to back before the lead waits: 1,8,64 [default: 16]"
            }
            Self::Window => {
                "Stream: messages under way before the sender waits for a credit [default: as the mechanism itself \
                 stops it]"
            }
            Self::Packet => {
                "Ping-pong, stream, burst: messages go in packets of so many bytes, 8 of them a head: 6500,64K \
                 [default: whole]"
            }
            Self::Conns => {
                "Connect: clients at the same time, threads of one process: 1,5,10 [default: 1]"
            }
            Self::Peers => "Fan-in: producers; fan-out: consumers; 1 to 64: 1,2,4,8 [default: 4]",
            Self::Transform => {
                "What is done to every message and undone: none, gzip, lz4, zstd, crc32 [default: none]"
            }
            Self::OneWay => {
                "Ping-pong: time the way from lead to follow by itself, too, where the clocks of both CPUs can be \
                 compared"
            }
        }
    }

    /// Whether it changes what the figures of a cell contain, so that it must be had in every pattern or in none.
    #[must_use]
    pub const fn changes_figures(self) -> bool {
        matches!(self, Self::Transform | Self::OneWay)
    }
}
