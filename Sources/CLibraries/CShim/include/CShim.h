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
