/*
 * Simulates a step of the wall clock for one process, for `bad-days` (LD_PRELOAD). CLOCK_REALTIME is shifted by the
 * contents of the file WALL_CLOCK_FILE, two 64-bit numbers: nanoseconds to add, and since when (of the true clock). The
 * machine's clock stays unchanged.
 *
 * Kernel timestamps of datagrams that arrived after the step, and deadlines on the wall clock, are shifted too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t second = 1000000000;
static const volatile int64_t none[2];
static const volatile int64_t *step = none;

__attribute__((constructor)) static void find_step(void) {
  const char *path = getenv("WALL_CLOCK_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) step = page;
  close(file);
}

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * second + time->tv_nsec; }

static void move(struct timespec *time, int64_t by) {
  int64_t all = nanoseconds(time) + by;
  time->tv_sec = all / second;
  time->tv_nsec = all % second;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(time, step[0]);
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
  ssize_t count = syscall(SYS_recvmsg, socket, message, flags);
  if (count < 0 || !step[0]) return count;
  for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item; item = CMSG_NXTHDR(message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec stamp;
    memcpy(&stamp, CMSG_DATA(item), sizeof stamp);
    if (nanoseconds(&stamp) < step[1]) continue;
    move(&stamp, step[0]);
    memcpy(CMSG_DATA(item), &stamp, sizeof stamp);
  }
  return count;
}

/* Deadlines on the monotonic clock are recognised because they are decades before those on the wall clock. A step must
 * affect a wait in progress, so the wait is split; spurious wake-ups are allowed. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict lock,
                           const struct timespec *restrict deadline) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!real) {
    real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlvsym(RTLD_NEXT, "pthread_cond_timedwait",
                                                                                         "GLIBC_2.3.2");
  }
  if (deadline->tv_sec < 1000000000) return real(condition, lock, deadline);
  struct timespec now, until = *deadline;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t rest = nanoseconds(deadline) - nanoseconds(&now);
  move(&until, -step[0]);
  if (rest > second / 10) move(&until, second / 10 - rest);
  int result = real(condition, lock, &until);
  return result == ETIMEDOUT && rest > second / 10 ? 0 : result;
}
