//! In place of rings, where the `io-uring` crate does not know the architecture: nothing that could be made.

use super::{Buffers, Drive, Kind};
use ipcperf_core::{Missing, SetupError};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU32;

fn missing() -> SetupError {
    let what = "ipcperf does not know io_uring on this architecture";
    Missing::new(what, "x86-64, ARM64, RISC-V 64, LoongArch 64 or POWER 64").into()
}

/// There is none.
pub struct Transfer<D: Drive>(Infallible, PhantomData<D>);

impl<D: Drive> Transfer<D> {
    /// # Errors
    /// Always.
    pub fn new(_: Kind, _: Buffers, _: usize, _: usize) -> Result<Self, SetupError> {
        Err(missing())
    }

    /// Never called.
    pub fn get_mut(&mut self, _: usize) -> Option<&mut [u8]> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn send(&mut self, _: BorrowedFd<'_>, _: usize, _: usize) -> Result<usize, i32> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn receive(&mut self, _: BorrowedFd<'_>, _: usize) -> Result<usize, i32> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn receive_rest(&mut self, _: BorrowedFd<'_>, _: usize, _: usize) -> Result<usize, i32> {
        match self.0 {}
    }
}

/// # Errors
/// Always.
pub fn probe<D: Drive>(_: Kind, _: Buffers) -> Result<(), SetupError> {
    Err(missing())
}

/// There is none.
pub struct FutexRing(Infallible);

impl FutexRing {
    /// # Errors
    /// Always.
    pub fn new() -> Result<Self, SetupError> {
        Err(missing())
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn wait(&mut self, _: &AtomicU32, _: u32) -> Result<(), i32> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn wake(&mut self, _: &AtomicU32) -> Result<(), i32> {
        match self.0 {}
    }
}
