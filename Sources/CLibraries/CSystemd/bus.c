#include "CSystemd.h"
#include "library.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

struct csystemd_bus {
  sd_bus *bus;
  void (*handler)(void *, int32_t);
  void *context;
};

static int open_at(sd_bus **bus, const char *address) {
  int outcome = csystemd.sd_bus_new(bus);
  if (outcome >= 0) outcome = csystemd.sd_bus_set_address(*bus, address);
  if (outcome >= 0) outcome = csystemd.sd_bus_set_bus_client(*bus, 1);
  if (outcome >= 0) outcome = csystemd.sd_bus_negotiate_fds(*bus, 1);
  return outcome >= 0 ? csystemd.sd_bus_start(*bus) : outcome;
}

csystemd_bus *csystemd_bus_open(int32_t which, const char *address, uint64_t patience, int32_t *error) {
  if (!csystemd_load()) return *error = -ENOSYS, NULL;
  csystemd_bus *made = calloc(1, sizeof *made);
  if (!made) return *error = -ENOMEM, NULL;
  int outcome = address                         ? open_at(&made->bus, address)
                : which == csystemd_session_bus ? csystemd.sd_bus_open_user(&made->bus)
                                                : csystemd.sd_bus_open_system(&made->bus);
  if (outcome >= 0) outcome = csystemd.sd_bus_set_method_call_timeout(made->bus, patience);
  if (outcome < 0) return *error = outcome, csystemd_bus_close(made), NULL;
  return made;
}

void csystemd_bus_close(csystemd_bus *bus) {
  if (!bus) return;
  /* No outgoing message needs a flush. */
  csystemd.sd_bus_close_unref(bus->bus);
  free(bus);
}

int32_t csystemd_bus_descriptor(csystemd_bus *bus) { return csystemd.sd_bus_get_fd(bus->bus); }

int32_t csystemd_bus_serve(csystemd_bus *bus) {
  int outcome;
  do outcome = csystemd.sd_bus_process(bus->bus, NULL);
  while (outcome > 0);
  if (outcome < 0) return outcome;
  return csystemd.sd_bus_is_open(bus->bus) > 0 ? 0 : -ENOTCONN;
}

int32_t csystemd_inhibit(csystemd_bus *bus, const char *what, const char *who, const char *why) {
  sd_bus_message *reply = NULL;
  int lock = -1;
  int outcome = csystemd.sd_bus_call_method(bus->bus, "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
                                   "Inhibit", NULL, &reply, "ssss", what, who, why, "block");
  if (outcome >= 0) outcome = csystemd.sd_bus_message_read(reply, "h", &lock);
  /* The message owns its descriptor and closes it. */
  if (outcome >= 0 && (outcome = fcntl(lock, F_DUPFD_CLOEXEC, 3)) < 0) outcome = -errno;
  csystemd.sd_bus_message_unref(reply);
  return outcome;
}

static int hear_sleep(sd_bus_message *message, void *context, sd_bus_error *error) {
  (void)error;
  csystemd_bus *bus = context;
  int begins = 0;
  if (csystemd.sd_bus_message_read(message, "b", &begins) > 0 && bus->handler) bus->handler(bus->context, begins != 0);
  return 0;
}

int32_t csystemd_watch_sleep(csystemd_bus *bus, void (*handler)(void *, int32_t), void *context) {
  bus->handler = handler;
  bus->context = context;
  return csystemd.sd_bus_match_signal(bus->bus, NULL, "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
                             "PrepareForSleep", hear_sleep, bus);
}

int32_t csystemd_inhibit_by_portal(csystemd_bus *bus, const char *why) {
  return csystemd.sd_bus_call_method(bus->bus, "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop",
                            "org.freedesktop.portal.Inhibit", "Inhibit", NULL, NULL, "sua{sv}", "", (uint32_t)(4 | 8), 1, "reason", "s",
                            why);
}
