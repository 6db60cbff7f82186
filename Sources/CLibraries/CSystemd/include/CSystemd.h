#pragma once
/* Fixed-width integers only, as in CShim.h. */
#include <stdint.h>

/* sd_journal_sendv(3) without its iovec: each field is NAME=value. 0, also where there is no journal; otherwise a negative errno value
   (-ENOSYS without libsystemd).   May block while the journal's socket is full. Any thread. */
int csystemd_journal_send(const uint8_t *const *fields, const int64_t *lengths, int count);

/* A connection to a message bus (sd-bus(3)). One thread at a time. */
typedef struct csystemd_bus csystemd_bus;
enum csystemd_which { csystemd_system_bus = 0, csystemd_session_bus = 1 };

/* Connects to a bus. `address` follows the D-Bus specification, "Server Addresses"; NULL selects the bus in the
 * environment, or the default. `patience` is the timeout of method calls in microseconds. Returns NULL on failure;
 * `error` is then a negative errno value. */
csystemd_bus *csystemd_bus_open(int32_t which, const char *address, uint64_t patience, int32_t *error);
void csystemd_bus_close(csystemd_bus *bus);
/* Returns a descriptor that is readable when messages have arrived; it belongs to the connection. */
int32_t csystemd_bus_descriptor(csystemd_bus *bus);
/* Processes received messages. Returns 0, or a negative errno value after the connection was lost. */
int32_t csystemd_bus_serve(csystemd_bus *bus);

/* org.freedesktop.login1.Manager.Inhibit (org.freedesktop.login1(5)), mode "block". Returns a descriptor that holds the
 * lock until the caller closes it, or a negative errno value. */
int32_t csystemd_inhibit(csystemd_bus *bus, const char *what, const char *who, const char *why);
/* Subscribes to the signal PrepareForSleep. The handler is called in csystemd_bus_serve, with 1 before a suspension and
 * with 0 after it. */
int32_t csystemd_watch_sleep(csystemd_bus *bus, void (*handler)(void *context, int32_t begins), void *context);
/* The method Inhibit of org.freedesktop.portal.Inhibit against suspend (4) and idle (8), valid until the connection is
 * closed. Returns a negative errno value on failure. */
int32_t csystemd_inhibit_by_portal(csystemd_bus *bus, const char *why);
