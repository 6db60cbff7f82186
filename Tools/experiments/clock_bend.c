/*
 * Simulates a computer's clocks for one process, for `wall` (LD_PRELOAD). CLOCK_MONOTONIC and CLOCK_REALTIME run faster by
 * CLOCK_BEND_PPM parts per million since the monotonic time CLOCK_BEND_ORIGIN (nanoseconds, the same for all processes
 * of one simulated computer), and CLOCK_REALTIME is CLOCK_BEND_OFFSET nanoseconds ahead in addition. The machine's clocks
 * stay unchanged.
 *
 * Deadlines on these clocks are converted for the kernel. Kernel timestamps of datagrams are disabled, so that programs read the
 * clock instead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static const int64_t second = 1000000000;
static double rate;
static int64_t origin, offset;

__attribute__((constructor)) static void find_bend(void) {
  const char *text = getenv("CLOCK_BEND_PPM");
  rate = text ? atof(text) * 1e-6 : 0;
  text = getenv("CLOCK_BEND_ORIGIN");
  origin = text ? atoll(text) : 0;
  text = getenv("CLOCK_BEND_OFFSET");
  offset = text ? atoll(text) : 0;
}

static int true_time(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  return real(clock, time);
}

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * second + time->tv_nsec; }

static int64_t monotonic(void) {
  struct timespec now;
  true_time(CLOCK_MONOTONIC, &now);
  return nanoseconds(&now);
}

static void move(struct timespec *time, int64_t by) {
  int64_t all = nanoseconds(time) + by;
  time->tv_sec = all / second;
  time->tv_nsec = all % second;
}

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

static int is_bent(clockid_t clock) {
  return is_wall(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW ||
         clock == CLOCK_BOOTTIME;
}

/* Returns the current error of both clocks in nanoseconds, without the offset. */
static int64_t gained(void) { return (int64_t)((double)(monotonic() - origin) * rate); }

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = true_time(clock, time);
  if (result == 0 && is_bent(clock)) move(time, gained() + (is_wall(clock) ? offset : 0));
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

/* Converts a deadline on a simulated clock to the kernel's clock, with the current error instead of that at the deadline. */
static const struct timespec *straight(clockid_t clock, const struct timespec *deadline, struct timespec *room) {
  if (!deadline || !is_bent(clock)) return deadline;
  *room = *deadline;
  move(room, -gained() - (is_wall(clock) ? offset : 0));
  if (room->tv_sec < 0 || room->tv_nsec < 0) room->tv_sec = room->tv_nsec = 0;
  return room;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *rest) {
  static int (*real)(clockid_t, int, const struct timespec *, struct timespec *);
  if (!real) real = (int (*)(clockid_t, int, const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "clock_nanosleep");
  struct timespec room;
  return real(clock, flags, flags & TIMER_ABSTIME ? straight(clock, request, &room) : request, rest);
}

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict deadline) {
  static int (*real)(sem_t *, clockid_t, const struct timespec *);
  if (!real) real = (int (*)(sem_t *, clockid_t, const struct timespec *))dlsym(RTLD_NEXT, "sem_clockwait");
  struct timespec room;
  return real(semaphore, clock, straight(clock, deadline, &room));
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
  return sem_clockwait(semaphore, CLOCK_REALTIME, deadline);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  if (!real)
    real = (int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))dlsym(RTLD_NEXT,
                                                                                             "pthread_cond_clockwait");
  struct timespec room;
  return real(condition, mutex, clock, straight(clock, deadline, &room));
}

int timerfd_settime(int timer, int flags, const struct itimerspec *when, struct itimerspec *before) {
  static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
  if (!real) real = (int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(RTLD_NEXT, "timerfd_settime");
  struct itimerspec moved = *when;
  struct timespec room;
  /* Absolute timers of the program use CLOCK_MONOTONIC; zero disarms a timer. */
  if (flags & TFD_TIMER_ABSTIME && (when->it_value.tv_sec || when->it_value.tv_nsec))
    moved.it_value = *straight(CLOCK_MONOTONIC, &when->it_value, &room);
  return real(timer, flags, &moved, before);
}

int setsockopt(int descriptor, int level, int option, const void *value, socklen_t length) {
  static int (*real)(int, int, int, const void *, socklen_t);
  if (!real) real = (int (*)(int, int, int, const void *, socklen_t))dlsym(RTLD_NEXT, "setsockopt");
  if (level == SOL_SOCKET && (option == SO_TIMESTAMP || option == SO_TIMESTAMPNS || option == SO_TIMESTAMPING)) {
    errno = ENOPROTOOPT;
    return -1;
  }
  return real(descriptor, level, option, value, length);
}
