#pragma once
/* Fixed-width integers only, as in CShim.h. */
#include <stdint.h>

/* sd_journal_sendv(3) without its iovec: each field is NAME=value. 0, also where there is no journal; otherwise a negative errno value
   (-ENOSYS without libsystemd).   May block while the journal's socket is full. Any thread. */
int csystemd_journal_send(const uint8_t *const *fields, const int64_t *lengths, int count);

/* A connection to a message bus (sd-bus(3)), and a message of it, which is reference-counted. One thread at a time.
 * Functions that return int32_t return a negative errno value on failure. */
typedef struct csystemd_bus csystemd_bus;
typedef struct sd_bus_message csystemd_message;
enum csystemd_which { csystemd_system_bus = 0, csystemd_session_bus = 1 };

/* Connects to a bus. `address` follows the D-Bus specification, "Server Addresses"; NULL selects the bus in the
 * environment, or the default. `timeout` is that of the connection and of method calls in microseconds. Returns NULL on
 * failure; `error` is then a negative errno value. */
csystemd_bus *csystemd_bus_open(int32_t which, const char *address, uint64_t timeout, int32_t *error);
void csystemd_bus_close(csystemd_bus *bus);
/* Requests a name without waiting for it; -EEXIST if it has an owner. */
int32_t csystemd_bus_request_name(csystemd_bus *bus, const char *name);
/* Sends and receives; calls the handler for at most one message. Returns 0 if nothing is left to do, and a negative
 * errno value after the connection was lost. */
int32_t csystemd_bus_process(csystemd_bus *bus);
/* Waits until `csystemd_bus_process` has something to do, `other` is readable, or a timeout in milliseconds has passed;
 * -1: none. May return early. Unless it `reads`, it waits for `other` and the timeout only. */
void csystemd_bus_wait(csystemd_bus *bus, int32_t other, int32_t reads, int64_t timeout);
/* Sets the handler of method calls and signals, which `csystemd_bus_process` calls; it replies to calls, also later. */
void csystemd_bus_set_handler(csystemd_bus *bus, void (*handler)(void *context, csystemd_message *message), void *context);
/* Receives the method calls on an object. */
int32_t csystemd_bus_add_object(csystemd_bus *bus, const char *path);
/* Receives signals. */
int32_t csystemd_bus_add_match(csystemd_bus *bus, const char *sender, const char *path, const char *interface, const char *member);
/* Calls a method and waits for its reply. `name`: receives the D-Bus name of an error reply, otherwise "". */
int32_t csystemd_bus_call(csystemd_bus *bus, csystemd_message *call, csystemd_message **reply, char *name, int32_t size);
/* Sends a message, or enqueues it. */
int32_t csystemd_bus_send(csystemd_bus *bus, csystemd_message *message);

/* New messages; NULL on failure. */
csystemd_message *csystemd_message_call(
    csystemd_bus *bus, const char *service, const char *path, const char *interface, const char *member);
csystemd_message *csystemd_message_signal(csystemd_bus *bus, const char *path, const char *interface, const char *member);
csystemd_message *csystemd_message_reply(csystemd_message *call);
csystemd_message *csystemd_message_error(csystemd_message *call, const char *name, const char *text);
csystemd_message *csystemd_message_ref(csystemd_message *message);
void csystemd_message_unref(csystemd_message *message);
/* NULL if there is none; valid as long as the message. */
const char *csystemd_message_interface(csystemd_message *message);
const char *csystemd_message_member(csystemd_message *message);
const char *csystemd_message_signature(csystemd_message *message);
/* Positive for a method call whose caller waits for a reply. */
int32_t csystemd_message_expects_reply(csystemd_message *message);
/* sd_bus_message_append_basic(3), sd_bus_message_open_container(3), sd_bus_message_read_basic(3). A descriptor is
 * returned, and belongs to the caller. */
int32_t csystemd_message_append(csystemd_message *message, char type, const void *value);
int32_t csystemd_message_open(csystemd_message *message, char type, const char *contents);
int32_t csystemd_message_close(csystemd_message *message);
int32_t csystemd_message_peek(csystemd_message *message, char *type, const char **contents);
int32_t csystemd_message_read(csystemd_message *message, char type, void *value);
int32_t csystemd_message_read_descriptor(csystemd_message *message);
int32_t csystemd_message_enter(csystemd_message *message, char type, const char *contents);
int32_t csystemd_message_exit(csystemd_message *message);
