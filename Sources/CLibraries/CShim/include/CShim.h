#pragma once
/* Fixed-width integers only. A system type declared here would belong to this module and to Glibc; which of them Swift
 * requires to be imported then depends on the build order. */
#include <stdint.h>

/* GNU extensions that the Glibc module map does not declare (it is built without _GNU_SOURCE). */

/* sem_clockwait(3) on CLOCK_MONOTONIC for a sem_t. Returns 0 if decremented, otherwise an errno value. */
int cshim_sem_wait_monotonic(void *semaphore, int64_t deadline_ns);

/*
 * Names the calling thread, of which the kernel keeps 15 bytes (pthread_setname_np(3)), and gives it a stack for signal
 * handlers until it ends, which a handler needs after a stack overflow (sigaltstack(2)).
 */
void cshim_begin_thread(const char *name);

/* setpriority(2) for the calling thread only; returns 0 if permitted. */
int cshim_renice_this_thread(int nice);
/* The same for a negative nice value that threads created by this one do not inherit. */
int cshim_elevate_this_thread(int nice);
/* SCHED_FIFO for the calling thread only, not inherited either; returns 0 if permitted. */
int cshim_schedule_this_thread_realtime(int level);

/* Opens a regular file for reading without opening anything else: the kind of file is checked with O_PATH, and the
 * same inode is opened then. Returns -1 with errno set, EISDIR or ENOTSUP for another kind. */
int cshim_open_regular(const char *path);

/* eventfd(2), non-blocking and closed on exec; returns -1 on failure. */
int cshim_event_descriptor(void);

/* Increments an eventfd; wait-free unless 2^64 increments are pending. */
void cshim_event_raise(int descriptor);

/* Resets an eventfd to zero. */
void cshim_event_clear(int descriptor);

/* ppoll(2) until one of three descriptors is readable (-1 for none) or CLOCK_MONOTONIC reaches the deadline (INT64_MAX
 * for none). Bits 0 to 2 of the result denote the ready descriptors; 0 after the deadline or a signal. */
int cshim_poll_until(int first, int second, int third, int64_t deadline_ns);

/* libdispatch's interface for foreign run loops (its private/private.h; used by CoreFoundation). The eventfd is
 * readable while the main queue has work; the callback runs that work, on the main thread only. */
int cshim_is_main_thread(void);
int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *message);

/* PR_SET_TIMERSLACK of prctl(2) for the calling thread: maximum delay of its timers in nanoseconds. */
void cshim_set_timer_slack(int64_t ns);

/* Switches a terminal to unbuffered input without echo. Restored at exit(3), and when a fault or an abort terminates
 * the program. Returns 0 or an errno value. */
int cshim_terminal_open(int descriptor);
/* Switches to unbuffered input again after a restore. EPERM in the background. */
int cshim_terminal_keywise(void);
/* Restores the original mode. Async-signal-safe; does nothing before cshim_terminal_open. */
void cshim_terminal_restore(void);
/* Returns the width in columns; 0 if unknown. ioctl(2) is variadic. */
int cshim_terminal_columns(int descriptor);

/* Blocks signals for the calling thread and threads it creates; returns a signalfd(2) for them, -1 on failure. */
int cshim_signal_descriptor(const int *numbers, int count);
/* Returns the next pending signal, or 0. Non-blocking. */
int cshim_signal_read(int descriptor);
void cshim_signals_unblock(const int *numbers, int count);

/* pipe2(2), closed on exec; returns 0, or -1 with errno set. */
int cshim_pipe(int *ends);
/* mallopt(3): sets the maximum number of arenas, which the threads share. Call it before starting threads. */
void cshim_limit_arenas(int count);
/* malloc_trim(3): returns the free pages of all arenas to the system, except those at the ends of the arenas of threads.
 * Takes milliseconds. */
void cshim_release_free_memory(void);
/* memfd_create(2), closed on exec; returns -1 with errno set on failure. */
int cshim_memory_file(const char *name);
/* posix_spawn_file_actions_addclosefrom_np(3) for a posix_spawn_file_actions_t. */
int cshim_spawn_closing_from(void *file_actions, int first);
