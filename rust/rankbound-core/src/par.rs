//! Work in parallel, with the calling thread free to watch it.
//!
//! Threads are scoped to one call: no pool outlives it, so a later `fork` finds nothing to lose.
//! Starting a thread costs some 20 microseconds, far below what a call computes.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::error::{Error, Result};

/// How often the calling thread looks up while the workers run.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// How a core entry point runs. Results never depend on it.
pub struct Par<'a> {
    /// Number of worker threads, at least 1.
    pub num_threads: usize,
    /// Called on the calling thread about every 50 ms with the number of finished tasks;
    /// `Break` makes the call end with [`Error::Interrupted`].
    pub tick: &'a mut dyn FnMut(usize) -> ControlFlow<()>,
}

impl Par<'_> {
    /// Runs with `num_threads` workers and nobody watching.
    pub fn unwatched<R>(num_threads: usize, run: impl FnOnce(&mut Par<'_>) -> R) -> R {
        run(&mut Par { num_threads, tick: &mut |_| ControlFlow::Continue(()) })
    }

    /// Runs a part of the work, of which the tick is told `done` of the finished tasks.
    pub(crate) fn told_as<R>(&mut self, done: impl Fn(usize) -> usize, run: impl FnOnce(&mut Par<'_>) -> R) -> R {
        run(&mut Par { num_threads: self.num_threads, tick: &mut |finished| (self.tick)(done(finished)) })
    }

    /// Hands the tasks, in order, to workers that each own a state made by `make`, and returns
    /// the states. The states must merge in any order to the same bits.
    ///
    /// # Errors
    /// The error of the earliest task that failed, whatever the number of threads: tasks are
    /// handed out in order and those already started are finished.
    pub fn run<T, W, I>(
        &mut self,
        tasks: I,
        make: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, T) -> Result<()> + Sync,
    ) -> Result<Vec<W>>
    where
        T: Send,
        W: Send,
        I: Iterator<Item = T> + Send,
    {
        // A worker without a task would only cost its state.
        let num_workers = tasks.size_hint().1.map_or(self.num_threads, |most| most.min(self.num_threads)).max(1);
        let queue = Mutex::new(tasks.enumerate());
        let stop = AtomicBool::new(false);
        let finished = AtomicUsize::new(0);
        let first_error: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let worker = || {
            let mut state = make();
            while !stop.load(Ordering::Relaxed) {
                let Some((index, task)) = lock(&queue).next() else { break };
                if let Err(error) = work(&mut state, task) {
                    stop.store(true, Ordering::Relaxed);
                    let mut first = lock(&first_error);
                    if first.as_ref().is_none_or(|(earliest, _)| index < *earliest) {
                        *first = Some((index, error));
                    }
                }
                finished.fetch_add(1, Ordering::Relaxed);
            }
            state
        };
        let mut interrupted = false;
        let states = std::thread::scope(|scope| {
            let (done, all_done) = channel::<()>();
            let handles: Vec<_> = (0..num_workers)
                .map(|_| {
                    let done = done.clone();
                    let worker = &worker;
                    scope.spawn(move || {
                        let _signal_end = done;
                        worker()
                    })
                })
                .collect();
            drop(done);
            // Every worker holds a sender until it ends; the channel closes with the last one.
            while all_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if (self.tick)(finished.load(Ordering::Relaxed)).is_break() {
                    interrupted = true;
                    stop.store(true, Ordering::Relaxed);
                }
            }
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        match lock(&first_error).take() {
            Some((_, error)) => Err(error),
            None if interrupted => Err(Error::Interrupted),
            None => Ok(states),
        }
    }
}

/// Locks even after a panic elsewhere: the panic itself is reported when the thread is joined.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once_for_any_number_of_threads() {
        for num_threads in [1, 2, 16] {
            let sums = Par::unwatched(num_threads, |par| {
                par.run(
                    0..1000_u64,
                    || 0,
                    |sum, task| {
                        *sum += task;
                        Ok(())
                    },
                )
            });
            assert_eq!(sums.map(|sums| sums.iter().sum::<u64>()), Ok(499_500));
        }
    }

    #[test]
    fn the_earliest_error_wins() {
        for num_threads in [1, 2, 16] {
            let error = Par::unwatched(num_threads, |par| {
                par.run(
                    0..1000,
                    || (),
                    |(), task| match task {
                        617 | 400 | 999 => Err(Error::Shape(task.to_string())),
                        _ => Ok(()),
                    },
                )
            });
            assert_eq!(error, Err(Error::Shape("400".into())));
        }
    }

    #[test]
    fn a_tick_can_stop_the_run() {
        let mut par = Par { num_threads: 2, tick: &mut |_| ControlFlow::Break(()) };
        let result = par.run(
            std::iter::repeat(()),
            || (),
            |(), ()| {
                std::thread::sleep(Duration::from_millis(1));
                Ok(())
            },
        );
        assert_eq!(result, Err(Error::Interrupted));
    }
}
