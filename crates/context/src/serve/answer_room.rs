//! The room for answers that wait to be written: a call reserves the size of its answer before it renders
//! it, and the transport frees it when the answer is written.

use crate::failure::Failure;
use crate::read::failure::ReadFailure;
use candor_street::CallContext;
use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes of answers that are rendered or wait to be written on one server.
pub const MAX_WAITING_ANSWERS: usize = 128 * 1024 * 1024;

/// The most bytes of an answer that needs no room.
pub const MAX_UNCOUNTED_ANSWER: usize = 16 * 1024;

/// The bytes of one permit of the room.
const UNIT: u64 = 4096;

/// The copies of an answer in memory while it is rendered.
const COPIES: u64 = 2;

/// The estimated size of a passage or a listed entry without its content.
pub(crate) const ENTRY_BYTES: u64 = 512;

/// Returns the room for rendering an answer of this size from documents, the largest of which has a file of
/// `largest` bytes. Both exist more than once for a while: a document as its file and as its text.
pub(crate) fn rendering_bytes(answer: u64, largest: u64) -> u64 {
    answer.max(largest).saturating_mul(COPIES)
}

/// The room that the answers of one server share. Calls that wait for it are served in their order.
#[derive(Debug, Clone)]
pub(crate) struct AnswerRoom {
    permits: Arc<Semaphore>,
    total: u32,
}

impl AnswerRoom {
    pub(crate) fn new(bytes: usize) -> AnswerRoom {
        let total = u32::try_from(bytes as u64 / UNIT).unwrap_or(u32::MAX);
        AnswerRoom {
            permits: Arc::new(Semaphore::new(total as usize)),
            total,
        }
    }

    /// Returns the number of permits for so many bytes. An answer larger than all of the room takes all.
    fn permits(&self, bytes: u64) -> u32 {
        let permits = bytes.div_ceil(UNIT).min(self.total.into());
        u32::try_from(permits).unwrap_or(self.total)
    }

    fn try_reserve(&self, bytes: u64) -> Option<Reservation> {
        let permit = Arc::clone(&self.permits).try_acquire_many_owned(self.permits(bytes));
        let permit = permit.ok()?;
        Some(Reservation { permit, bytes })
    }

    async fn reserve(&self, bytes: u64) -> Option<Reservation> {
        let permit = Arc::clone(&self.permits).acquire_many_owned(self.permits(bytes));
        let permit = permit.await.ok()?;
        Some(Reservation { permit, bytes })
    }

    /// Returns the space of an answer, without room yet.
    pub(crate) fn space(&self) -> AnswerSpace {
        AnswerSpace::new(self, None)
    }

    /// Runs blocking work on a thread of its own, with a permit of `at_work`. Work that finds no room ends,
    /// and is run again once there is room: a call that waits holds no thread, no permit, and no part of the
    /// room. Returns `None` if the runtime ends.
    pub(crate) async fn run<T, E>(
        &self,
        at_work: &Arc<Semaphore>,
        cx: &CallContext,
        work: impl Fn(&AnswerSpace) -> Result<T, E> + Send + Sync + 'static,
    ) -> Option<Result<T, E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let work = Arc::new(work);
        let mut space = self.space();
        loop {
            let permit = Arc::clone(at_work).acquire_owned().await;
            let work = Arc::clone(&work);
            let running = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                // The reservation stays with the work, even if nobody waits for it any longer.
                (work(&space), space)
            });
            let (done, used) = match running.await {
                Ok(ended) => ended,
                // The dispatcher turns a panic into the dialect's internal error.
                Err(broken) => match broken.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    Err(_) => return None,
                },
            };
            let Some(bytes) = used.missing.get() else {
                // A failure is small.
                if done.is_ok() {
                    used.hold_until_written(cx);
                }
                return Some(done);
            };
            // Calls that hold a part of the room and wait for more would wait for each other.
            drop((done, used));
            space = AnswerSpace::new(self, Some(self.reserve(bytes).await?));
        }
    }
}

/// A part of the room, freed when it is dropped.
#[derive(Debug)]
struct Reservation {
    permit: OwnedSemaphorePermit,
    bytes: u64,
}

/// The room that one attempt to answer has.
pub(crate) struct AnswerSpace {
    /// `None` if the answer is written at once, as the command line does.
    room: Option<AnswerRoom>,
    reserved: RefCell<Option<Reservation>>,
    /// The bytes that the attempt found no room for.
    missing: Cell<Option<u64>>,
}

/// There is no room for an answer yet. The attempt ends, and is repeated once there is.
#[derive(Debug)]
pub(crate) struct NoRoom;

impl From<NoRoom> for Failure {
    fn from(NoRoom: NoRoom) -> Failure {
        Failure::Bug("an answer was rendered without room")
    }
}

impl From<NoRoom> for ReadFailure {
    fn from(NoRoom: NoRoom) -> ReadFailure {
        ReadFailure::Bug("an answer was rendered without room")
    }
}

impl AnswerSpace {
    /// Returns the space of an answer that does not wait to be written.
    pub(crate) fn unlimited() -> AnswerSpace {
        AnswerSpace {
            room: None,
            reserved: RefCell::new(None),
            missing: Cell::new(None),
        }
    }

    fn new(room: &AnswerRoom, reserved: Option<Reservation>) -> AnswerSpace {
        AnswerSpace {
            room: Some(room.clone()),
            reserved: RefCell::new(reserved),
            missing: Cell::new(None),
        }
    }

    /// Reserves room before documents are read and an answer is rendered.
    pub(crate) fn claim(&self, bytes: u64) -> Result<(), NoRoom> {
        let Some(room) = &self.room else {
            return Ok(());
        };
        let mut reserved = self.reserved.borrow_mut();
        let has = reserved.as_ref().map_or(0, |reserved| reserved.bytes);
        if bytes <= has.max(MAX_UNCOUNTED_ANSWER as u64) {
            return Ok(());
        }
        // The part that is too small is freed first.
        *reserved = None;
        *reserved = room.try_reserve(bytes);
        match reserved.is_some() {
            true => Ok(()),
            false => {
                self.missing.set(Some(bytes));
                Err(NoRoom)
            }
        }
    }

    /// Keeps the reservation of a call until its answer is written.
    pub(crate) fn hold_until_written(self, cx: &CallContext) {
        if let Some(reservation) = self.reserved.into_inner() {
            cx.call.hold_until_written(reservation);
        }
    }

    /// Fits the reservation to the size of the rendered answer.
    pub(crate) fn settle(&self, bytes: u64) -> Result<(), NoRoom> {
        self.claim(bytes)?;
        let (Some(room), mut reserved) = (&self.room, self.reserved.borrow_mut()) else {
            return Ok(());
        };
        if bytes <= MAX_UNCOUNTED_ANSWER as u64 {
            *reserved = None;
        }
        if let Some(reserved) = reserved.as_mut() {
            let kept = room.permits(bytes) as usize;
            let surplus = reserved.permit.num_permits().saturating_sub(kept);
            drop(reserved.permit.split(surplus));
            reserved.bytes = bytes;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_call_fixtures::context;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::{Duration, timeout};

    const ROOM: usize = 1 << 20;
    const SHORT: Duration = Duration::from_millis(20);

    fn at_work() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(1))
    }

    fn free(room: &AnswerRoom) -> u64 {
        room.permits.available_permits() as u64 * UNIT
    }

    /// Answers with a size, after claiming it.
    fn claiming(bytes: u64) -> impl Fn(&AnswerSpace) -> Result<u64, ReadFailure> + Send + Sync {
        move |space| {
            space.claim(bytes)?;
            Ok(bytes)
        }
    }

    #[tokio::test]
    async fn room_is_held_until_the_answer_is_written() {
        let (room, at_work) = (AnswerRoom::new(ROOM), at_work());
        let (first, second) = (context(), context());
        let half = ROOM as u64 / 2;
        for cx in [&first, &second] {
            let done = room.run(&at_work, cx, claiming(half)).await;
            assert_eq!(done.unwrap().unwrap(), half);
        }
        assert_eq!(free(&room), 0);
        let third = context();
        {
            let mut waiting = pin!(room.run(&at_work, &third, claiming(half)));
            assert!(timeout(SHORT, &mut waiting).await.is_err());
            // Work that needs no room goes on meanwhile: the waiting call holds no permit to work.
            let (small, uncounted) = (context(), MAX_UNCOUNTED_ANSWER as u64);
            let done = room.run(&at_work, &small, claiming(uncounted)).await;
            assert!(done.unwrap().is_ok());
            drop(first.call.take_held());
            assert!(waiting.await.unwrap().is_ok());
        }
        assert_eq!(free(&room), 0);
        drop((second, third));
        assert_eq!(free(&room), ROOM as u64);
    }

    #[tokio::test]
    async fn answer_larger_than_the_room_takes_all_of_it() {
        let (room, at_work) = (AnswerRoom::new(ROOM), at_work());
        let (small, large) = (context(), context());
        let done = room.run(&at_work, &small, claiming(100_000)).await;
        assert!(done.unwrap().is_ok());
        {
            let mut waiting = pin!(room.run(&at_work, &large, claiming(100 * ROOM as u64)));
            assert!(timeout(SHORT, &mut waiting).await.is_err());
            drop(small);
            assert!(waiting.await.unwrap().is_ok());
        }
        assert_eq!(free(&room), 0);
        drop(large);
        assert_eq!(free(&room), ROOM as u64);
    }

    #[tokio::test]
    async fn cancelled_call_leaves_no_reservation() {
        let (room, at_work) = (AnswerRoom::new(ROOM), at_work());
        let (first, second) = (context(), context());
        let done = room.run(&at_work, &first, claiming(ROOM as u64)).await;
        assert!(done.unwrap().is_ok());
        {
            let mut waiting = pin!(room.run(&at_work, &second, claiming(ROOM as u64)));
            assert!(timeout(SHORT, &mut waiting).await.is_err());
        }
        drop(first);
        assert_eq!(free(&room), ROOM as u64);
    }

    /// An answer that is larger than estimated is rendered again, with the room that it needs.
    #[tokio::test]
    async fn reservation_fits_the_rendered_answer() {
        let (room, at_work) = (AnswerRoom::new(ROOM), at_work());
        for (claimed, rendered) in [(900_000, 40_960), (40_960, 900_000), (900_000, 10)] {
            let cx = context();
            let work = move |space: &AnswerSpace| -> Result<(), ReadFailure> {
                space.claim(claimed)?;
                Ok(space.settle(rendered)?)
            };
            assert!(room.run(&at_work, &cx, work).await.unwrap().is_ok());
            let kept = match rendered <= MAX_UNCOUNTED_ANSWER as u64 {
                true => 0,
                false => rendered.div_ceil(UNIT) * UNIT,
            };
            assert_eq!(free(&room), ROOM as u64 - kept, "{claimed} {rendered}");
            drop(cx);
            assert_eq!(free(&room), ROOM as u64);
        }
        let runs = Arc::new(AtomicUsize::new(0));
        let (other, cx, counter) = (context(), context(), Arc::clone(&runs));
        let space = room.space();
        assert!(space.claim(ROOM as u64 - 100_000).is_ok());
        space.hold_until_written(&other);
        let work = move |space: &AnswerSpace| -> Result<(), ReadFailure> {
            counter.fetch_add(1, Ordering::Relaxed);
            space.claim(50_000)?;
            Ok(space.settle(500_000)?)
        };
        let mut rendering = pin!(room.run(&at_work, &cx, work));
        assert!(timeout(SHORT, &mut rendering).await.is_err());
        assert!(room.space().claim(ROOM as u64).is_err());
        drop(other);
        assert!(rendering.await.unwrap().is_ok());
        assert_eq!(runs.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn failure_frees_its_room() {
        let (room, at_work) = (AnswerRoom::new(ROOM), at_work());
        let cx = context();
        let work = |space: &AnswerSpace| -> Result<(), ReadFailure> {
            space.claim(ROOM as u64)?;
            Err(ReadFailure::AnswerTooLarge)
        };
        let failed = room.run(&at_work, &cx, work).await.unwrap();
        assert!(matches!(failed, Err(ReadFailure::AnswerTooLarge)));
        assert_eq!(free(&room), ROOM as u64);
    }
}
