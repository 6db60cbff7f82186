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
  const char *origin;
  /* Sec-Fetch-Site (W3C Fetch Metadata Request Headers). */
  const char *fetch_site;
  /* Nonzero if the client address is in 127.0.0.0/8. */
  int32_t is_local;
  /* The body of a POST request; nonzero instead if its announced length is above the limit. */
  int32_t is_body_too_large;
  const uint8_t *body;
  int64_t body_count;
} chttp_request;

/* Calls chttp_answer or chttp_stream before it returns, or chttp_hold to respond later. */
typedef void (*chttp_handler)(void *context, chttp_exchange *exchange, const chttp_request *request);
/* Receives a stream whose connection has ended; the exchange is freed after the call. */
typedef void (*chttp_listener)(void *context, chttp_exchange *exchange);

typedef struct {
  /* At most 32; a further connection closes the oldest that is no stream. */
  int32_t max_connections;
  /* The idle timeout of a connection. Its total timeout is three times as long, unless it is a stream. */
  int32_t timeout_ms;
  /* The maximum size of a POST request's body in bytes; 0: the handler is called before the body arrives. */
  int64_t max_body;
} chttp_limits;

/* Serves a listening socket and takes ownership of it. Returns NULL if out of memory or descriptors. */
chttp_server *chttp_open(int32_t descriptor, const chttp_limits *limits, chttp_handler handler, chttp_listener ended,
                         void *context);
/* Returns a descriptor that is readable when chttp_serve has work. */
int32_t chttp_descriptor(chttp_server *server);
/* Returns the milliseconds until chttp_serve must be called regardless of the descriptor; -1 for never. */
int64_t chttp_due_ms(chttp_server *server);
/* Processes pending events, closes connections after their timeout, calls the handler. */
void chttp_serve(chttp_server *server);
/* Closes all connections and frees the server. No exchange may be held; after the end of the last stream, chttp_serve
 * must have been called. */
void chttp_close(chttp_server *server);

/* Defers the response; the exchange stays valid until chttp_answer. */
void chttp_hold(chttp_exchange *exchange);
/* Sends the response; `bytes` are copied. `allow` is the value of the Allow header, or NULL. */
void chttp_answer(chttp_exchange *exchange, int32_t status, const char *type, const char *allow, const uint8_t *bytes,
                  int64_t count);

/* Starts a response of unknown length, which chttp_send continues. The exchange stays valid until `ended` is called.
 * Returns 0 if out of memory; the connection is closed then. */
int32_t chttp_stream(chttp_exchange *exchange, const char *type);
/* Queues bytes of a stream. Returns 0, and queues nothing, if more than `max_queued` bytes would wait. */
int32_t chttp_send(chttp_exchange *exchange, const uint8_t *bytes, int64_t count, int64_t max_queued);
/* Closes a stream's connection; queued bytes are discarded. */
void chttp_end(chttp_exchange *exchange);
