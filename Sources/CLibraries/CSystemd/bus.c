#include "CSystemd.h"
#include "library.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct csystemd_bus {
  sd_bus *bus;
  void (*handler)(void *, csystemd_message *);
  void *context;
};

static int open_at(sd_bus **bus, const char *address) {
  int outcome = csystemd.sd_bus_new(bus);
  if (outcome >= 0) outcome = csystemd.sd_bus_set_address(*bus, address);
  if (outcome >= 0) outcome = csystemd.sd_bus_set_bus_client(*bus, 1);
  if (outcome >= 0) outcome = csystemd.sd_bus_negotiate_fds(*bus, 1);
  return outcome >= 0 ? csystemd.sd_bus_start(*bus) : outcome;
}

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Waits until the bus has accepted the connection. Otherwise the first call would wait, and sd-bus lets a bus that answers
 * nothing take minutes. */
static int complete(sd_bus *bus, uint64_t timeout) {
  uint64_t began = now_us();
  for (;;) {
    int outcome = csystemd.sd_bus_is_ready(bus);
    if (outcome != 0) return outcome;
    outcome = csystemd.sd_bus_process(bus, NULL);
    uint64_t passed = now_us() - began;
    if (outcome == 0) outcome = passed < timeout ? csystemd.sd_bus_wait(bus, timeout - passed) : -ETIMEDOUT;
    if (outcome < 0 && outcome != -EINTR) return outcome;
  }
}

csystemd_bus *csystemd_bus_open(int32_t which, const char *address, uint64_t timeout, int32_t *error) {
  if (!csystemd_load()) return *error = -ENOSYS, NULL;
  csystemd_bus *made = calloc(1, sizeof *made);
  if (!made) return *error = -ENOMEM, NULL;
  int outcome = address                         ? open_at(&made->bus, address)
                : which == csystemd_session_bus ? csystemd.sd_bus_open_user(&made->bus)
                                                : csystemd.sd_bus_open_system(&made->bus);
  if (outcome >= 0) outcome = csystemd.sd_bus_set_method_call_timeout(made->bus, timeout);
  if (outcome >= 0) outcome = complete(made->bus, timeout);
  if (outcome < 0) return *error = outcome, csystemd_bus_close(made), NULL;
  return made;
}

void csystemd_bus_close(csystemd_bus *bus) {
  if (!bus) return;
  /* No outgoing message needs a flush. */
  csystemd.sd_bus_close_unref(bus->bus);
  free(bus);
}

int32_t csystemd_bus_request_name(csystemd_bus *bus, const char *name) { return csystemd.sd_bus_request_name(bus->bus, name, 0); }

int32_t csystemd_bus_process(csystemd_bus *bus) {
  int outcome = csystemd.sd_bus_process(bus->bus, NULL);
  if (outcome != 0) return outcome;
  return csystemd.sd_bus_is_open(bus->bus) > 0 ? 0 : -ENOTCONN;
}

void csystemd_bus_wait(csystemd_bus *bus, int32_t other, int32_t reads, int64_t timeout) {
  int events = reads ? csystemd.sd_bus_get_events(bus->bus) : 0;
  if (events < 0) return;
  uint64_t due = UINT64_MAX;
  if (reads && csystemd.sd_bus_get_timeout(bus->bus, &due) >= 0 && due != UINT64_MAX) {
    int64_t left = (int64_t)(due / 1000) - (int64_t)(now_us() / 1000) + 1;
    if (left < 0) left = 0;
    if (timeout < 0 || left < timeout) timeout = left;
  }
  struct pollfd descriptors[2] = {{other, POLLIN, 0}, {csystemd.sd_bus_get_fd(bus->bus), (short)events, 0}};
  /* A closed peer would be reported again and again to a caller that does not read. */
  poll(descriptors, reads ? 2 : 1, timeout < 0 ? -1 : timeout > 60000 ? 60000 : (int)timeout);
}

/* The handler has replied, or will: sd-bus must not. */
static int hear(sd_bus_message *message, void *context, sd_bus_error *error) {
  (void)error;
  csystemd_bus *bus = context;
  if (bus->handler) bus->handler(bus->context, message);
  return 1;
}

void csystemd_bus_set_handler(csystemd_bus *bus, void (*handler)(void *, csystemd_message *), void *context) {
  bus->handler = handler;
  bus->context = context;
}

int32_t csystemd_bus_add_object(csystemd_bus *bus, const char *path) {
  return csystemd.sd_bus_add_object(bus->bus, NULL, path, hear, bus);
}

int32_t csystemd_bus_add_match(csystemd_bus *bus, const char *sender, const char *path, const char *interface, const char *member) {
  return csystemd.sd_bus_match_signal(bus->bus, NULL, sender, path, interface, member, hear, bus);
}

int32_t csystemd_bus_call(csystemd_bus *bus, csystemd_message *call, csystemd_message **reply, char *name, int32_t size) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  int outcome = csystemd.sd_bus_call(bus->bus, call, 0, &error, reply);
  if (size > 0) name[0] = 0;
  if (outcome < 0 && error.name && size > 0) {
    strncpy(name, error.name, (size_t)size - 1);
    name[size - 1] = 0;
  }
  csystemd.sd_bus_error_free(&error);
  return outcome;
}

int32_t csystemd_bus_send(csystemd_bus *bus, csystemd_message *message) { return csystemd.sd_bus_send(bus->bus, message, NULL); }

csystemd_message *csystemd_message_call(
    csystemd_bus *bus, const char *service, const char *path, const char *interface, const char *member) {
  sd_bus_message *made = NULL;
  return csystemd.sd_bus_message_new_method_call(bus->bus, &made, service, path, interface, member) < 0 ? NULL : made;
}

csystemd_message *csystemd_message_signal(csystemd_bus *bus, const char *path, const char *interface, const char *member) {
  sd_bus_message *made = NULL;
  return csystemd.sd_bus_message_new_signal(bus->bus, &made, path, interface, member) < 0 ? NULL : made;
}

csystemd_message *csystemd_message_reply(csystemd_message *call) {
  sd_bus_message *made = NULL;
  return csystemd.sd_bus_message_new_method_return(call, &made) < 0 ? NULL : made;
}

csystemd_message *csystemd_message_error(csystemd_message *call, const char *name, const char *text) {
  sd_bus_message *made = NULL;
  sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(name, text);
  return csystemd.sd_bus_message_new_method_error(call, &made, &error) < 0 ? NULL : made;
}

csystemd_message *csystemd_message_ref(csystemd_message *message) { return csystemd.sd_bus_message_ref(message); }
void csystemd_message_unref(csystemd_message *message) { csystemd.sd_bus_message_unref(message); }
const char *csystemd_message_interface(csystemd_message *message) { return csystemd.sd_bus_message_get_interface(message); }
const char *csystemd_message_member(csystemd_message *message) { return csystemd.sd_bus_message_get_member(message); }
int32_t csystemd_message_expects_reply(csystemd_message *message) { return csystemd.sd_bus_message_get_expect_reply(message); }
const char *csystemd_message_signature(csystemd_message *message) { return csystemd.sd_bus_message_get_signature(message, 1); }

int32_t csystemd_message_append(csystemd_message *message, char type, const void *value) {
  return csystemd.sd_bus_message_append_basic(message, type, value);
}

int32_t csystemd_message_open(csystemd_message *message, char type, const char *contents) {
  return csystemd.sd_bus_message_open_container(message, type, contents);
}

int32_t csystemd_message_close(csystemd_message *message) { return csystemd.sd_bus_message_close_container(message); }

int32_t csystemd_message_peek(csystemd_message *message, char *type, const char **contents) {
  return csystemd.sd_bus_message_peek_type(message, type, contents);
}

int32_t csystemd_message_read(csystemd_message *message, char type, void *value) {
  return csystemd.sd_bus_message_read_basic(message, type, value);
}

int32_t csystemd_message_read_descriptor(csystemd_message *message) {
  int descriptor = -1;
  int outcome = csystemd.sd_bus_message_read_basic(message, 'h', &descriptor);
  if (outcome <= 0) return outcome < 0 ? outcome : -ENXIO;
  /* The message owns its descriptor and closes it. */
  return (descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)) < 0 ? -errno : descriptor;
}

int32_t csystemd_message_enter(csystemd_message *message, char type, const char *contents) {
  return csystemd.sd_bus_message_enter_container(message, type, contents);
}

int32_t csystemd_message_exit(csystemd_message *message) { return csystemd.sd_bus_message_exit_container(message); }
