#pragma once
/* A small server of HTTP over libmicrohttpd, driven by one thread of the caller's: everything here is called on that thread. Only fixed-width
   integers, as in CShim.h. */
#include <stdint.h>

/* Opens libmicrohttpd, once. Returns 0 where it is not installed; then no other function here may be called. Any thread. */
int32_t chttp_load(void);

typedef struct chttp_server chttp_server;
/* One request and its answer. */
typedef struct chttp_exchange chttp_exchange;

typedef struct {
  const char *method;
  const char *path;
  /* NULL when none was sent. */
  const char *host;
  /* It came from this computer (127.0.0.0/8). */
  int32_t is_local;
} chttp_request;

/* Answers with chttp_answer before it returns, or holds the exchange and answers later. */
typedef void (*chttp_handler)(void *context, chttp_exchange *exchange, const chttp_request *request);

/* Serves connections of a listening socket, which is the server's from now on. NULL when there is no memory or descriptor for it.
   - most: connections at once, 32 at most; a further one ends the oldest.
   - patience_ms: how long a connection may be silent, and three times that is what all of it may take. */
chttp_server *chttp_open(int32_t descriptor, int32_t most, int32_t patience_ms, chttp_handler handler, void *context);
/* Readable when there is something to do. */
int32_t chttp_descriptor(chttp_server *server);
/* Milliseconds until there is something to do all the same; -1 for never. */
int64_t chttp_due_ms(chttp_server *server);
void chttp_serve(chttp_server *server);
/* No exchange may be held. */
void chttp_close(chttp_server *server);

/* The exchange's answer will come later; it stays valid until then. */
void chttp_hold(chttp_exchange *exchange);
/* The bytes are copied. `allow` is the header of that name, or NULL. */
void chttp_answer(chttp_exchange *exchange, int32_t status, const char *type, const char *allow, const uint8_t *bytes,
                  int64_t count);
