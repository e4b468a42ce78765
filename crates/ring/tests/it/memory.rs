//! Memory as a mapping would give it: zeroed, aligned to 128, freed when the last end is gone.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::sync::Arc;

use ipcperf_ring::{
    AttachError, Audience, Consumer, Geometry, Producer, Sink, Source, consumer, init,
    init_for_all, producer, sink, source,
};

/// One zeroed allocation.
pub(crate) struct Memory {
    pub(crate) base: *mut u8,
    layout: Layout,
}

// SAFETY: the memory is only handed to the ring, whose ends may be on different threads.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// `bytes` zeros.
    pub(crate) fn zeroed(bytes: usize) -> Arc<Memory> {
        let layout = Layout::from_size_align(bytes, 128).expect("test sizes are small");
        // SAFETY: the layout is not empty: a ring has a header.
        let base = unsafe { alloc_zeroed(layout) };
        if base.is_null() {
            handle_alloc_error(layout);
        }
        Arc::new(Memory { base, layout })
    }

    /// A ring of this geometry.
    pub(crate) fn ring(geometry: Geometry) -> Arc<Memory> {
        let memory = Memory::zeroed(geometry.bytes());
        // SAFETY: fresh, zeroed, aligned, of that size.
        unsafe { init(memory.base, geometry) };
        memory
    }

    /// A ring whose messages reach all of its consumers.
    pub(crate) fn for_all(audience: Audience) -> Arc<Memory> {
        let memory = Memory::zeroed(audience.bytes());
        // SAFETY: fresh, zeroed, aligned, of that size.
        unsafe { init_for_all(memory.base, audience) };
        memory
    }

    /// The bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.layout.size()
    }

    /// Attaches the producer. The caller keeps the memory for as long.
    pub(crate) fn producer(&self) -> Result<Producer, AttachError> {
        // SAFETY: initialised or refused; every test keeps the memory while an end lives.
        unsafe { producer(self.base, self.len()) }
    }

    /// Attaches the producer for all. The caller keeps the memory for as long.
    pub(crate) fn source(&self) -> Result<Source, AttachError> {
        // SAFETY: as above.
        unsafe { source(self.base, self.len()) }
    }

    /// Attaches one of its consumers. The caller keeps the memory for as long.
    pub(crate) fn sink(&self, consumer: u32) -> Result<Sink, AttachError> {
        // SAFETY: as above.
        unsafe { sink(self.base, self.len(), consumer) }
    }

    /// Attaches the consumer. The caller keeps the memory for as long.
    pub(crate) fn consumer(&self) -> Result<Consumer, AttachError> {
        // SAFETY: as above.
        unsafe { consumer(self.base, self.len()) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; the atomics inside need no drop.
        unsafe { dealloc(self.base, self.layout) };
    }
}
