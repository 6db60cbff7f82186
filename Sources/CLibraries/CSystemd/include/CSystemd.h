#pragma once
/* Only fixed-width integers, as in CShim.h. */
#include <stdint.h>

/* sd_journal_sendv(3) without its iovec: each field is NAME=value. 0, also where there is no journal; otherwise a negative errno value
   (-ENOSYS without libsystemd).   May block while the journal's socket is full. Any thread. */
int csystemd_journal_send(const uint8_t *const *fields, const int64_t *lengths, int count);

/* A connection to a message bus (sd-bus(3)). One thread at a time. */
typedef struct csystemd_bus csystemd_bus;
enum csystemd_which { csystemd_system_bus = 0, csystemd_session_bus = 1 };

/* The bus at an address (D-Bus specification, "Server Addresses"); null is the one that the environment names, or the usual one. Questions on
   it are given up after `patience` microseconds. Null where there is none; `error` is then a negative errno value. */
csystemd_bus *csystemd_bus_open(int32_t which, const char *address, uint64_t patience, int32_t *error);
void csystemd_bus_close(csystemd_bus *bus);
/* Readable when something has come in; it is the connection's. */
int32_t csystemd_bus_descriptor(csystemd_bus *bus);
/* Deals with what has come in; a negative errno value once the connection is lost. */
int32_t csystemd_bus_serve(csystemd_bus *bus);

/* org.freedesktop.login1.Manager.Inhibit (org.freedesktop.login1(5)), mode "block": a descriptor that holds the lock for as long as it is
   open, the caller's to close; or a negative errno value. */
int32_t csystemd_inhibit(csystemd_bus *bus, const char *what, const char *who, const char *why);
/* Calls the handler with 1 before the computer sleeps and with 0 when it has slept (the signal PrepareForSleep), from inside of `serve`. */
int32_t csystemd_watch_sleep(csystemd_bus *bus, void (*handler)(void *context, int32_t begins), void *context);
/* The method Inhibit of org.freedesktop.portal.Inhibit against suspending (4) and idling (8), for as long as the connection stands; a
   negative errno value where that is refused. */
int32_t csystemd_inhibit_by_portal(csystemd_bus *bus, const char *why);
