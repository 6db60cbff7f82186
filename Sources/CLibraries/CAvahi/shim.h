#pragma once
#include <avahi-client/client.h>
#include <avahi-client/lookup.h>
#include <avahi-client/publish.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/strlst.h>
#include <avahi-common/thread-watch.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Avahi's own timers lie on the wall clock, and one that is set back puts them off. These are descriptors for its poll to watch
 * (timerfd_create(2)), which Swift's Glibc leaves out: on CLOCK_MONOTONIC, closed on exec, never waiting; -1 with errno set. */
static inline int cavahi_open_timer(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

/* Once, after so many milliseconds from now, in place of what was set before. */
static inline void cavahi_set_timer(int timer, int64_t milliseconds) {
  struct itimerspec once = {{0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000000}};
  /* Zero would switch it off. */
  if (milliseconds <= 0) once.it_value.tv_nsec = 1;
  timerfd_settime(timer, 0, &once, NULL);
}

/* Takes note that it was due; nonzero if it was. */
static inline int cavahi_take_timer(int timer) {
  uint64_t times;
  return read(timer, &times, sizeof times) == sizeof times;
}
