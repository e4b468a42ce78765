//! A program and its client from the start of the first to the end of both, for all commands that run such a pair.

use ipcperf_engine::keeper::GRACE;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long a program may take until it listens, where a client waits for that.
pub(crate) const LISTENS_WITHIN: Duration = Duration::from_secs(60);

/// Why a client did not begin.
pub(crate) fn never_listens() -> String {
    let seconds = LISTENS_WITHIN.as_secs();
    format!("the program has not listened within {seconds} s, so its client was not started")
}

/// The place of the program among those that are started.
pub(crate) const SERVER: usize = 0;

/// The place of its client.
pub(crate) const CLIENT: usize = 1;

/// What a command does with its programs, and looks at while they run.
pub(crate) trait Session {
    type Error;

    /// Starts the program or its client.
    fn start(&mut self, at: usize) -> Result<(), Self::Error>;

    /// Takes in what has happened; how the program and its client have ended, if they have.
    fn look(&mut self) -> Result<[Option<ExitStatus>; 2], Self::Error>;

    /// Whether the client can begin, because the program listens; an error if it will not. It has waited so long.
    fn may_begin(&mut self, waited: Duration) -> Result<bool, Self::Error>;

    /// The program has ended before its client, which has begun or waits for it to listen.
    fn loses_server(&mut self, status: ExitStatus, has_begun: bool) -> Result<(), Self::Error>;

    /// Whether a program that has ended has left something behind that is followed.
    fn goes_on(&mut self) -> bool {
        false
    }

    /// Whether a client that has ended so is started once more.
    fn retries(&mut self, _: ExitStatus) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// Whether all is to end: the user interrupts, or the time is over.
    fn is_done(&mut self) -> bool;

    /// What runs is given [`GRACE`] from now on. `is_asked`: it does not end by itself.
    fn ends(&mut self, is_asked: bool);

    /// Sleeps until something may have happened. `awaits_client`: the program is about to listen.
    fn nap(&mut self, awaits_client: bool) -> Result<(), Self::Error>;
}

/// Starts the program, its client once the first listens, and lets both end: the program after its client, and each within
/// [`GRACE`]. Then what still runs has to be killed.
pub(crate) fn keep<S: Session>(session: &mut S, has_client: bool) -> Result<(), S::Error> {
    session.start(SERVER)?;
    let began = Instant::now();
    let (mut has_begun, mut is_asked) = (false, false);
    let mut ends: Option<Instant> = None;
    let mut failure = None;
    loop {
        let [server, client] = session.look()?;
        let is_over = server.is_some() && (client.is_some() || failure.is_some());
        if is_over || ends.is_some_and(|ends| Instant::now() > ends) {
            return failure.map_or(Ok(()), Err);
        }
        let awaits_client = has_client && !has_begun && ends.is_none();
        let mut has_to_end = session.is_done();
        match (server, client) {
            (Some(status), None) if awaits_client && !has_to_end => {
                return session.loses_server(status, has_begun);
            }
            (Some(_), None) if !has_begun && !session.goes_on() => return Ok(()),
            (Some(status), None) if has_begun && ends.is_none() && !has_to_end => {
                session.loses_server(status, has_begun)?;
            }
            (None, Some(status)) if ends.is_none() && session.retries(status)? => has_begun = false,
            (None, Some(_)) => has_to_end = true,
            (None, None) if awaits_client => match session.may_begin(began.elapsed()) {
                Ok(false) => {}
                Ok(true) => {
                    session.start(CLIENT)?;
                    has_begun = true;
                }
                Err(why) => (failure, has_to_end) = (Some(why), true),
            },
            _ => {}
        }
        // A client without its program ends by itself or not at all.
        let is_left_alone = has_begun && server.is_some();
        if ends.is_none() && is_left_alone || has_to_end && !is_asked {
            is_asked |= has_to_end;
            session.ends(has_to_end);
            ends = ends.or(Some(Instant::now() + GRACE));
        }
        session.nap(has_client && !has_begun && ends.is_none())?;
    }
}
