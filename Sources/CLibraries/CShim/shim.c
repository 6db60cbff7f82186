#define _GNU_SOURCE
#include "CShim.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int cshim_sem_wait_monotonic(void *semaphore, int64_t deadline_ns) {
  struct timespec time = {deadline_ns / 1000000000, deadline_ns % 1000000000};
  return sem_clockwait(semaphore, CLOCK_MONOTONIC, &time) == 0 ? 0 : errno;
}

enum { signal_stack_size = 64 << 10 };
static pthread_key_t signal_stack;
static pthread_once_t signal_stack_once = PTHREAD_ONCE_INIT;

static void free_signal_stack(void *memory) {
  stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  munmap(memory, signal_stack_size);
}

static void make_signal_stack_key(void) { pthread_key_create(&signal_stack, free_signal_stack); }

/* Its pages cost memory once used. */
static void use_signal_stack(void) {
  pthread_once(&signal_stack_once, make_signal_stack_key);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = mmap(NULL, signal_stack_size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack = {.ss_sp = memory, .ss_size = signal_stack_size};
  if (sigaltstack(&stack, NULL) != 0 || pthread_setspecific(signal_stack, memory) != 0) free_signal_stack(memory);
}

void cshim_begin_thread(const char *name) {
  pthread_setname_np(pthread_self(), name);
  use_signal_stack();
}

int cshim_renice_this_thread(int nice) { return setpriority(PRIO_PROCESS, (id_t)gettid(), nice); }

/* Libraries create threads, which would compete with the one that they serve. */
int cshim_elevate_this_thread(int nice) {
  struct sched_param parameter = {0};
  sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameter);
  return cshim_renice_this_thread(nice);
}

int cshim_schedule_this_thread_realtime(int level) {
  struct sched_param parameter = {.sched_priority = level};
  return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter);
}

int cshim_open_regular(const char *path) {
  const int found = open(path, O_PATH | O_CLOEXEC);
  if (found < 0) return -1;
  struct stat status;
  int descriptor = -1, error = 0;
  if (fstat(found, &status) != 0) error = errno;
  else if (!S_ISREG(status.st_mode)) error = S_ISDIR(status.st_mode) ? EISDIR : ENOTSUP;
  else {
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", found);
    descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    error = errno;
  }
  close(found);
  errno = error;
  return descriptor;
}

int cshim_event_descriptor(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

void cshim_event_raise(int descriptor) { eventfd_write(descriptor, 1); }

void cshim_event_clear(int descriptor) {
  eventfd_t value;
  eventfd_read(descriptor, &value);
}

int cshim_poll_until(int first, int second, int third, int64_t deadline_ns) {
  struct pollfd descriptors[3] = {{first, POLLIN, 0}, {second, POLLIN, 0}, {third, POLLIN, 0}};
  struct timespec now, *limit = NULL, left = {0, 0};
  if (deadline_ns != INT64_MAX) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t wait_ns = deadline_ns - ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    if (wait_ns > 0) {
      left.tv_sec = wait_ns / 1000000000;
      left.tv_nsec = wait_ns % 1000000000;
    }
    limit = &left;
  }
  if (ppoll(descriptors, 3, limit, NULL) <= 0) return 0;
  return (descriptors[0].revents ? 1 : 0) | (descriptors[1].revents ? 2 : 0) | (descriptors[2].revents ? 4 : 0);
}

int cshim_is_main_thread(void) { return gettid() == getpid(); }

void cshim_set_timer_slack(int64_t ns) { prctl(PR_SET_TIMERSLACK, (unsigned long)ns, 0, 0, 0); }

void cshim_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }

void cshim_release_free_memory(void) { malloc_trim(0); }

int cshim_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

int cshim_pipe(int *ends) { return pipe2(ends, O_CLOEXEC); }

int cshim_spawn_closing_from(void *file_actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(file_actions, first);
}
