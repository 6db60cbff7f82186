#pragma once
/* Only fixed-width integers: a system type declared through this header would belong to this module as well as to
 * Glibc, and which of the two Swift then asks an import of depends on the order in which modules are built. */
#include <stdint.h>

/* GNU extensions that the Glibc module map does not show to Swift (it is built without _GNU_SOURCE). */

/* sem_clockwait(3) on CLOCK_MONOTONIC for a sem_t; 0 when taken, otherwise an errno value. */
int cshim_sem_wait_monotonic(void *semaphore, int64_t deadline_ns);

/* pthread_setname_np(3) for the calling thread; the kernel keeps 15 bytes. */
void cshim_name_this_thread(const char *name);

/* setpriority(2) for the calling thread only; 0 when granted. */
int cshim_renice_this_thread(int nice);

/* eventfd(2), non-blocking and closed on exec; -1 when the system refuses. */
int cshim_event_descriptor(void);

/* Adds to an event descriptor; wait-free unless 2^64 adds are pending. */
void cshim_event_raise(int descriptor);

/* Takes everything that was added. */
void cshim_event_clear(int descriptor);

/* ppoll(2) until one of three descriptors can be read (-1 for none) or CLOCK_MONOTONIC reaches the deadline
   (INT64_MAX for never). Bits 0 to 2 of the result say which can be read; 0 when the deadline passed or a signal came. */
int cshim_poll_until(int first, int second, int third, int64_t deadline_ns);

/* What libdispatch has for run loops that are not its own (its private/private.h; CoreFoundation's uses them). The event
   descriptor is readable while the main queue has work; the call does that work, on the main thread only. */
int cshim_is_main_thread(void);
int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *message);

/* PR_SET_TIMERSLACK of prctl(2) for the calling thread: how late its timers may be, to save power. */
void cshim_set_timer_slack(int64_t ns);

/* The terminal that keys are read from, key by key instead of line by line. It is given back at exit(3) and when the
 * program is killed by a fault or an abort. 0, or an errno value. */
int cshim_terminal_open(int descriptor);
/* Key by key again, after a restore. EPERM from the background. */
int cshim_terminal_keywise(void);
/* As it was found. Async-signal-safe; harmless when nothing was opened. */
void cshim_terminal_restore(void);
/* Width of a terminal in columns; 0 when it has none. ioctl(2) is variadic. */
int cshim_terminal_columns(int descriptor);

/* Blocks signals for the calling thread and all it starts, and returns a signalfd(2) for them; -1 when refused. */
int cshim_signal_descriptor(const int *numbers, int count);
/* The next signal, or 0 when none waits. */
int cshim_signal_read(int descriptor);
void cshim_signals_unblock(const int *numbers, int count);

/* pipe2(2), closed on exec; 0, or -1 with errno. */
int cshim_pipe(int *ends);
/* memfd_create(2), closed on exec; -1 with errno. */
int cshim_memory_file(const char *name);
/* posix_spawn_file_actions_addclosefrom_np(3) for a posix_spawn_file_actions_t. */
int cshim_spawn_closing_from(void *file_actions, int first);
