//! Work in parallel, watched by the calling thread.
//!
//! Threads are scoped to one call: no pool outlives it, so a later `fork` finds nothing to lose.
//! The calling thread works along until it is time to look up for the first time. A short job so has
//! a thread less to start, and its last one is not left to wait for the core the caller is on.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

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
        // Whether there was a task to do.
        let step = |state: &mut W| {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            let Some((index, task)) = lock(&queue).next() else { return false };
            if let Err(error) = work(state, task) {
                stop.store(true, Ordering::Relaxed);
                let mut first = lock(&first_error);
                if first.as_ref().is_none_or(|(earliest, _)| index < *earliest) {
                    *first = Some((index, error));
                }
            }
            finished.fetch_add(1, Ordering::Relaxed);
            true
        };
        let finish = |mut state: W| {
            while step(&mut state) {}
            state
        };
        let mut interrupted = false;
        let states = std::thread::scope(|scope| {
            let (signal_end, all_done) = channel::<()>();
            let (make, finish) = (&make, &finish);
            let start = |state: Option<W>| {
                let signal_end = signal_end.clone();
                scope.spawn(move || {
                    let _signal_end = signal_end;
                    finish(state.unwrap_or_else(make))
                })
            };
            let mut handles: Vec<_> = (1..num_workers).map(|_| start(None)).collect();
            let began = Instant::now();
            let mut state = make();
            let mut is_busy = true;
            while is_busy && began.elapsed() < TICK {
                is_busy = step(&mut state);
            }
            let mut states = Vec::new();
            if is_busy {
                handles.push(start(Some(state)));
            } else {
                states.push(state);
            }
            drop(signal_end);
            // Every worker holds a sender until it ends; the channel closes with the last one.
            while all_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if (self.tick)(finished.load(Ordering::Relaxed)).is_break() {
                    interrupted = true;
                    stop.store(true, Ordering::Relaxed);
                }
            }
            let join = |handle: ScopedJoinHandle<'_, W>| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            states.extend(handles.into_iter().map(join));
            states
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
    fn the_caller_works_along_until_the_first_tick() {
        let caller = std::thread::current().id();
        let workers = |n_tasks, pause| {
            let mut n_ticks = 0;
            let mut par = Par {
                num_threads: 1,
                tick: &mut |_| {
                    n_ticks += 1;
                    ControlFlow::Continue(())
                },
            };
            let work = |workers: &mut Vec<_>, _| {
                std::thread::sleep(pause);
                workers.push(std::thread::current().id());
                Ok(())
            };
            let workers = par.run(0..n_tasks, Vec::new, work).unwrap();
            assert_eq!(workers.len(), 1, "the state goes to the worker that takes over");
            (workers.concat(), n_ticks)
        };
        assert_eq!(workers(3, Duration::ZERO), (vec![caller; 3], 0));
        let (long, n_ticks) = workers(4, TICK);
        assert_eq!((long.len(), long[0] == caller, long[3] == caller, n_ticks > 0), (4, true, false, true));
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
