#pragma once
#include <stdint.h>

/* Only <stdint.h> here: a system header included first through this module would make its types belong to this module,
   and Swift files that import Glibc alone would not see their members. */

/* GNU extensions that the Glibc module map does not show to Swift (it is built without _GNU_SOURCE). */

/* sem_clockwait(3) of a sem_t on CLOCK_MONOTONIC; 0 when taken, otherwise an errno value. */
int cshim_sem_wait_monotonic(void *semaphore, int64_t deadline_ns);

/* pthread_setname_np(3) for the calling thread; the kernel keeps 15 bytes. */
void cshim_name_this_thread(const char *name);

/* setpriority(2) for the calling thread only; 0 when granted. */
int cshim_renice_this_thread(int nice);
