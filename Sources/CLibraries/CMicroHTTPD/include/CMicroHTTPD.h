#pragma once
/* A small HTTP server over libmicrohttpd, driven by one thread of the caller; all functions must be called on it.
 * Fixed-width integers only, as in CShim.h. */
#include <stdint.h>

/* Opens libmicrohttpd, once. Returns 0 where it is not installed; then no other function here may be called. Any thread. */
int32_t chttp_load(void);

typedef struct chttp_server chttp_server;
/* One request and its response. */
typedef struct chttp_exchange chttp_exchange;

typedef struct {
  const char *method;
  const char *path;
  /* NULL if the request has no such header. */
  const char *host;
  /* Nonzero if the client address is in 127.0.0.0/8. */
  int32_t is_local;
} chttp_request;

/* Calls chttp_answer before it returns, or chttp_hold to respond later. */
typedef void (*chttp_handler)(void *context, chttp_exchange *exchange, const chttp_request *request);

/*
 * Serves a listening socket and takes ownership of it. Returns NULL if out of memory or descriptors.
 *
 * `max_connections` is at most 32; a further connection closes the oldest. `timeout_ms` is the idle timeout of a
 * connection; its total timeout is three times as long.
 */
chttp_server *chttp_open(int32_t descriptor, int32_t max_connections, int32_t timeout_ms, chttp_handler handler,
                         void *context);
/* Returns a descriptor that is readable when chttp_serve has work. */
int32_t chttp_descriptor(chttp_server *server);
/* Returns the milliseconds until chttp_serve must be called regardless of the descriptor; -1 for never. */
int64_t chttp_due_ms(chttp_server *server);
/* Processes pending events, closes connections after their timeout, calls the handler. */
void chttp_serve(chttp_server *server);
/* Closes all connections and frees the server. No exchange may be held. */
void chttp_close(chttp_server *server);

/* Defers the response; the exchange stays valid until chttp_answer. */
void chttp_hold(chttp_exchange *exchange);
/* Sends the response; `bytes` are copied. `allow` is the value of the Allow header, or NULL. */
void chttp_answer(chttp_exchange *exchange, int32_t status, const char *type, const char *allow, const uint8_t *bytes,
                  int64_t count);
