#pragma once
/* libsystemd, opened when a kiosk first needs it: a player without a kiosk does not load it. */
#include <systemd/sd-bus.h>
#include <systemd/sd-journal.h>

#define CSYSTEMD_FUNCTIONS(use)                                                                              \
  use(sd_bus_new) use(sd_bus_set_address) use(sd_bus_set_bus_client) use(sd_bus_negotiate_fds) use(sd_bus_start) \
  use(sd_bus_open_user) use(sd_bus_open_system) use(sd_bus_set_method_call_timeout) use(sd_bus_close_unref)      \
  use(sd_bus_get_fd) use(sd_bus_process) use(sd_bus_is_open) use(sd_bus_call_method) use(sd_bus_message_read)    \
  use(sd_bus_message_unref) use(sd_bus_match_signal) use(sd_journal_sendv)

#define CSYSTEMD_MEMBER(name) __typeof__(name) *name;
extern struct csystemd_functions {
  CSYSTEMD_FUNCTIONS(CSYSTEMD_MEMBER)
} csystemd;

/* Returns 1 when every function of `csystemd` can be called, 0 when the library or one of them is missing. Any thread. */
int csystemd_load(void);
