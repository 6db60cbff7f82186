#pragma once
/* libsystemd, opened when it is first needed: a player without a message bus does not load it. */
#include <systemd/sd-bus.h>
#include <systemd/sd-journal.h>

#define CSYSTEMD_FUNCTIONS(use)                                                                                     \
  use(sd_bus_new) use(sd_bus_set_address) use(sd_bus_set_bus_client) use(sd_bus_negotiate_fds) use(sd_bus_start)    \
  use(sd_bus_open_user) use(sd_bus_open_system) use(sd_bus_set_method_call_timeout) use(sd_bus_close_unref)         \
  use(sd_bus_get_fd) use(sd_bus_get_events) use(sd_bus_get_timeout) use(sd_bus_process) use(sd_bus_is_open)         \
  use(sd_bus_is_ready) use(sd_bus_wait)                                                                             \
  use(sd_bus_request_name) use(sd_bus_add_object) use(sd_bus_match_signal) use(sd_bus_call) use(sd_bus_send)        \
  use(sd_bus_error_free) use(sd_bus_message_new_method_call) use(sd_bus_message_new_signal)                         \
  use(sd_bus_message_new_method_return) use(sd_bus_message_new_method_error) use(sd_bus_message_ref)                \
  use(sd_bus_message_unref) use(sd_bus_message_get_interface) use(sd_bus_message_get_member)                        \
  use(sd_bus_message_get_signature) use(sd_bus_message_get_expect_reply)                                            \
  use(sd_bus_message_append_basic) use(sd_bus_message_open_container)             \
  use(sd_bus_message_close_container) use(sd_bus_message_peek_type) use(sd_bus_message_read_basic)                  \
  use(sd_bus_message_enter_container) use(sd_bus_message_exit_container) use(sd_journal_sendv)

#define CSYSTEMD_MEMBER(name) __typeof__(name) *name;
extern struct csystemd_functions {
  CSYSTEMD_FUNCTIONS(CSYSTEMD_MEMBER)
} csystemd;

/* Returns 1 when every function of `csystemd` can be called, 0 when the library or one of them is missing. Any thread. */
int csystemd_load(void);
