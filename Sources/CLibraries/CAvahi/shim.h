#pragma once
#include <avahi-client/client.h>
#include <avahi-client/lookup.h>
#include <avahi-client/publish.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/simple-watch.h>
#include <avahi-common/strlst.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* timerfd_create(2), which Swift's Glibc module does not declare, as a descriptor for avahi's poll. CLOCK_MONOTONIC,
 * because avahi's own timers use the wall clock and expire late if that is set back. Closed on exec, non-blocking; -1
 * with errno set. */
static inline int cavahi_open_timer(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

/* Arms the timer once, relative to now; replaces a pending expiry. */
static inline void cavahi_set_timer(int timer, int64_t milliseconds) {
  struct itimerspec once = {{0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000000}};
  /* Zero would disarm the timer. */
  if (milliseconds <= 0) once.it_value.tv_nsec = 1;
  timerfd_settime(timer, 0, &once, NULL);
}

/* Acknowledges an expiry; returns nonzero if there was one. */
static inline int cavahi_take_timer(int timer) {
  uint64_t times;
  return read(timer, &times, sizeof times) == sizeof times;
}
