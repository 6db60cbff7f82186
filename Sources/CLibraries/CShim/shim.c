#define _GNU_SOURCE
#include "CShim.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int cshim_sem_wait_monotonic(void *semaphore, int64_t deadline_ns) {
  struct timespec time = {deadline_ns / 1000000000, deadline_ns % 1000000000};
  return sem_clockwait(semaphore, CLOCK_MONOTONIC, &time) == 0 ? 0 : errno;
}

void cshim_name_this_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int cshim_renice_this_thread(int nice) { return setpriority(PRIO_PROCESS, (id_t)gettid(), nice); }
