//! The room for answers that wait to be written: a call reserves the size of its answer before it renders
//! it, and the transport frees it when the answer is written.

use candor_street::{Call, CancellationToken};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes of answers that wait to be written on one server.
pub const MAX_WAITING_ANSWERS: usize = 128 * 1024 * 1024;

/// Answers below this size need no reservation.
const SMALL: u64 = 256 * 1024;

/// The bytes of one permit.
const UNIT: u64 = 4096;

/// The room that the answers of one server share.
#[derive(Debug, Clone)]
pub(crate) struct AnswerRoom(Arc<Semaphore>);

impl AnswerRoom {
    pub(crate) fn new() -> AnswerRoom {
        AnswerRoom(Arc::new(Semaphore::new(
            MAX_WAITING_ANSWERS / UNIT as usize,
        )))
    }

    /// Returns the number of permits of an answer. A larger answer than all of the room takes all of it.
    fn permits(bytes: u64) -> u32 {
        let all = MAX_WAITING_ANSWERS as u64 / UNIT;
        u32::try_from(bytes.div_ceil(UNIT).min(all)).unwrap_or(u32::MAX)
    }
}

/// The share of one call in the work and in the room of its server.
pub(crate) struct CallShare {
    pub(crate) room: AnswerRoom,
    pub(crate) work: Arc<Semaphore>,
    pub(crate) call: Arc<Call>,
    pub(crate) cancel: CancellationToken,
    pub(crate) runtime: Handle,
    /// The permit to work. It is given back while the call waits for room.
    pub(crate) permit: Mutex<Option<OwnedSemaphorePermit>>,
    /// True once there is a reservation. It never grows: calls that each hold a part of the room and wait
    /// for more would wait for each other.
    pub(crate) reserved: AtomicBool,
}

/// The call was cancelled while it waited for room.
#[derive(Debug)]
pub(crate) struct Cancelled;

impl CallShare {
    /// Reserves room for an answer of this size, and waits for it on the calling thread, which must not be
    /// one of the runtime. Does nothing if the call has room already.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<(), Cancelled> {
        if bytes < SMALL || self.reserved.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let wanted = AnswerRoom::permits(bytes);
        let room = Arc::clone(&self.room.0);
        let permit = match Arc::clone(&room).try_acquire_many_owned(wanted) {
            Ok(permit) => permit,
            Err(_) => self.wait_for(room, wanted)?,
        };
        self.call.keep_until_written(permit);
        Ok(())
    }

    fn wait_for(
        &self,
        room: Arc<Semaphore>,
        permits: u32,
    ) -> Result<OwnedSemaphorePermit, Cancelled> {
        let mut at_work = crate::parallel::lock(&self.permit);
        drop(at_work.take());
        let permit = self.runtime.block_on(async {
            tokio::select! {
                permit = room.acquire_many_owned(permits) => permit.map_err(|_| Cancelled),
                () = self.cancel.cancelled() => Err(Cancelled),
            }
        })?;
        let work = Arc::clone(&self.work).acquire_owned();
        *at_work = self.runtime.block_on(work).ok();
        Ok(permit)
    }
}
