#define _GNU_SOURCE
#include "CMicroHTTPD.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define CHTTP_FUNCTIONS(use) \
  use(MHD_add_response_header) use(MHD_create_response_from_buffer) use(MHD_create_response_from_callback) \
  use(MHD_destroy_response) use(MHD_get_connection_info) use(MHD_get_daemon_info) use(MHD_get_timeout) \
  use(MHD_lookup_connection_value) use(MHD_queue_response) use(MHD_resume_connection) use(MHD_run) \
  use(MHD_start_daemon) use(MHD_stop_daemon) use(MHD_suspend_connection)

#define CHTTP_MEMBER(name) __typeof__(name) *name;
static struct {
  CHTTP_FUNCTIONS(CHTTP_MEMBER)
} library;
static int32_t chttp_is_loaded;

/* Opened by the first server: a player without one does not load it. */
static void chttp_load_once(void) {
  void *handle = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return;
#define CHTTP_FIND(name) \
  if (!(library.name = (__typeof__(name) *)dlsym(handle, #name))) return;
  CHTTP_FUNCTIONS(CHTTP_FIND)
  chttp_is_loaded = 1;
}

int32_t chttp_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, chttp_load_once);
  return chttp_is_loaded;
}

enum {
  chttp_max_connections = 64,
  chttp_connection_memory = 16384,
  chttp_block_size = 4096,
  /* Of a stream: the bytes that the kernel queues, and how long its client may acknowledge none. */
  chttp_send_buffer = 65536,
  chttp_user_timeout_ms = 30000,
};

/* An open connection and its start. A client that sends single bytes does not extend its time. */
typedef struct {
  int descriptor;
  int64_t began_ms;
  int is_ending;
  int is_stream;
} chttp_slot;

struct chttp_server {
  struct MHD_Daemon *daemon;
  chttp_handler handler;
  chttp_listener ended;
  void *context;
  int32_t timeout_ms;
  int32_t max_connections;
  size_t max_body;
  /* Nonzero if a connection was closed since the last run. At its connection limit, libmicrohttpd removes the listening
   * socket from epoll and adds it again only in the next run, which no event would trigger. */
  int has_room;
  chttp_slot connections[chttp_max_connections];
};

struct chttp_exchange {
  struct MHD_Connection *connection;
  struct MHD_Response *response;
  unsigned status;
  int is_held;
  int is_body_too_large;
  uint8_t *body;
  size_t body_count;
  /* Of a stream: the bytes that wait, whether the connection is suspended until there are some, and its end. */
  int is_stream, is_suspended, is_ending;
  uint8_t *queue;
  size_t queue_count;
};

static int64_t chttp_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Closes the oldest connection at the limit: after shutdown(2) the library reads the end of stream and closes it. */
static void chttp_make_room(chttp_server *server) {
  int count = 0, oldest = -1;
  for (int i = 0; i < chttp_max_connections; i++) {
    if (server->connections[i].descriptor < 0) continue;
    count++;
    if (server->connections[i].is_ending || server->connections[i].is_stream) continue;
    if (oldest < 0 || server->connections[i].began_ms < server->connections[oldest].began_ms) oldest = i;
  }
  if (count < server->max_connections || oldest < 0) return;
  shutdown(server->connections[oldest].descriptor, SHUT_RDWR);
  server->connections[oldest].is_ending = 1;
}

static void chttp_connection(void *context, struct MHD_Connection *connection, void **place,
                             enum MHD_ConnectionNotificationCode code) {
  chttp_server *server = context;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    server->has_room = 1;
    if (*place) ((chttp_slot *)*place)->descriptor = -1;
    return;
  }
  *place = NULL;
  chttp_make_room(server);
  const union MHD_ConnectionInfo *info = library.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  for (int i = 0; info && i < chttp_max_connections; i++) {
    if (server->connections[i].descriptor >= 0) continue;
    server->connections[i] = (chttp_slot){.descriptor = info->connect_fd, .began_ms = chttp_now_ms()};
    *place = &server->connections[i];
    return;
  }
}

static int32_t chttp_is_local(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = library.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (!info || !info->client_addr || info->client_addr->sa_family != AF_INET) return 0;
  return ntohl(((const struct sockaddr_in *)info->client_addr)->sin_addr.s_addr) >> 24 == 127;
}

static const char *chttp_header(struct MHD_Connection *connection, const char *name) {
  return library.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Adds received bytes to the body. Returns 0 if it is too large, or memory is exhausted. */
static int chttp_receive(chttp_exchange *exchange, const char *bytes, size_t count, size_t max) {
  size_t total = exchange->body_count + count;
  uint8_t *body = total > max ? NULL : realloc(exchange->body, total);
  if (!body) return 0;
  memcpy(body + exchange->body_count, bytes, count);
  exchange->body = body;
  exchange->body_count = total;
  return 1;
}

static enum MHD_Result chttp_take(void *context, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload, size_t *upload_size,
                                  void **place) {
  (void)version;
  chttp_server *server = context;
  chttp_exchange *exchange = *place;
  int is_read = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
  int has_body = server->max_body && !strcmp(method, MHD_HTTP_METHOD_POST);
  if (!exchange) {
    exchange = calloc(1, sizeof *exchange);
    if (!exchange) return MHD_NO;
    exchange->connection = connection;
    *place = exchange;
    if (is_read) return MHD_YES;
    /* Other methods, and bodies that are announced as too large, are rejected before the body arrives. */
    const char *length = has_body ? chttp_header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH) : NULL;
    exchange->is_body_too_large = length && strtoull(length, NULL, 10) > server->max_body;
    if (has_body && !exchange->is_body_too_large) return MHD_YES;
  }
  if (*upload_size) {
    if (has_body && !exchange->response && !chttp_receive(exchange, upload, *upload_size, server->max_body)) return MHD_NO;
    *upload_size = 0;
    return MHD_YES;
  }
  if (!exchange->response) {
    if (exchange->is_held) return MHD_YES;
    chttp_request request = {
        .method = method,
        .path = path,
        .host = chttp_header(connection, MHD_HTTP_HEADER_HOST),
        .origin = chttp_header(connection, MHD_HTTP_HEADER_ORIGIN),
        .fetch_site = chttp_header(connection, "Sec-Fetch-Site"),
        .is_local = chttp_is_local(connection),
        .is_body_too_large = exchange->is_body_too_large,
        .body = exchange->body,
        .body_count = (int64_t)exchange->body_count,
    };
    server->handler(server->context, exchange, &request);
    if (exchange->is_held) {
      library.MHD_suspend_connection(connection);
      return MHD_YES;
    }
    if (!exchange->response) return MHD_NO;
  }
  return library.MHD_queue_response(connection, exchange->status, exchange->response);
}

static void chttp_done(void *context, struct MHD_Connection *connection, void **place,
                       enum MHD_RequestTerminationCode code) {
  (void)connection, (void)code;
  chttp_server *server = context;
  chttp_exchange *exchange = *place;
  if (!exchange) return;
  if (exchange->is_stream) server->ended(server->context, exchange);
  if (exchange->response) library.MHD_destroy_response(exchange->response);
  free(exchange->body);
  free(exchange->queue);
  free(exchange);
  *place = NULL;
}

chttp_server *chttp_open(int32_t descriptor, const chttp_limits *limits, chttp_handler handler, chttp_listener ended,
                         void *context) {
  chttp_server *server = calloc(1, sizeof *server);
  if (!server) return NULL;
  server->handler = handler;
  server->ended = ended;
  server->context = context;
  server->timeout_ms = limits->timeout_ms;
  server->max_body = (size_t)limits->max_body;
  for (int i = 0; i < chttp_max_connections; i++) server->connections[i].descriptor = -1;
  /* Spare slots are for connections that arrive before the oldest has been closed. */
  int32_t max_connections = limits->max_connections;
  server->max_connections = max_connections > chttp_max_connections / 2 ? chttp_max_connections / 2 : max_connections;
  server->daemon = library.MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, chttp_take, server, MHD_OPTION_LISTEN_SOCKET,
      (MHD_socket)descriptor, MHD_OPTION_CONNECTION_LIMIT, (unsigned)chttp_max_connections, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)((limits->timeout_ms + 999) / 1000), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)chttp_connection_memory,
      MHD_OPTION_NOTIFY_CONNECTION, chttp_connection, server, MHD_OPTION_NOTIFY_COMPLETED, chttp_done, server,
      MHD_OPTION_END);
  if (!server->daemon) {
    free(server);
    return NULL;
  }
  return server;
}

int32_t chttp_descriptor(chttp_server *server) {
  const union MHD_DaemonInfo *info = library.MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

int64_t chttp_due_ms(chttp_server *server) {
  if (server->has_room) return 0;
  int64_t due = -1, now = chttp_now_ms();
  MHD_UNSIGNED_LONG_LONG wait;
  if (library.MHD_get_timeout(server->daemon, &wait) == MHD_YES) due = wait > INT32_MAX ? INT32_MAX : (int64_t)wait;
  for (int i = 0; i < chttp_max_connections; i++) {
    if (server->connections[i].descriptor < 0 || server->connections[i].is_stream) continue;
    int64_t left = server->connections[i].began_ms + 3 * (int64_t)server->timeout_ms - now;
    if (left < 0) left = 0;
    if (due < 0 || left < due) due = left;
  }
  return due;
}

void chttp_serve(chttp_server *server) {
  int64_t now = chttp_now_ms();
  for (int i = 0; i < chttp_max_connections; i++) {
    if (server->connections[i].descriptor < 0 || server->connections[i].is_stream) continue;
    if (now - server->connections[i].began_ms < 3 * (int64_t)server->timeout_ms) continue;
    /* The library reads the end of the stream and closes the connection. */
    shutdown(server->connections[i].descriptor, SHUT_RDWR);
    server->connections[i].began_ms = now;
  }
  server->has_room = 0;
  library.MHD_run(server->daemon);
}

void chttp_close(chttp_server *server) {
  library.MHD_stop_daemon(server->daemon);
  free(server);
}

void chttp_hold(chttp_exchange *exchange) { exchange->is_held = 1; }

/* Adds the header fields of all responses. A page of this server loads nothing from elsewhere, and no other frames it. */
static void chttp_begin(chttp_exchange *exchange, int32_t status, const char *type) {
  exchange->status = (unsigned)status;
  if (!exchange->response) return;
  library.MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  library.MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  library.MHD_add_response_header(exchange->response, "X-Content-Type-Options", "nosniff");
  library.MHD_add_response_header(exchange->response, "Referrer-Policy", "no-referrer");
  library.MHD_add_response_header(
      exchange->response, "Content-Security-Policy",
      "default-src 'none'; connect-src 'self'; img-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  /* One request per connection, so that few slots serve many clients. */
  library.MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_CONNECTION, "close");
}

void chttp_answer(chttp_exchange *exchange, int32_t status, const char *type, const char *allow, const uint8_t *bytes,
                  int64_t count) {
  if (exchange->response) return;
  exchange->response = library.MHD_create_response_from_buffer((size_t)count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
  chttp_begin(exchange, status, type);
  if (exchange->response && allow) library.MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_ALLOW, allow);
  if (!exchange->is_held) return;
  exchange->is_held = 0;
  library.MHD_resume_connection(exchange->connection);
}

/* The content of a stream. Without a byte the connection is suspended, as the library requires. */
static ssize_t chttp_read_queue(void *context, uint64_t position, char *buffer, size_t count) {
  (void)position;
  chttp_exchange *exchange = context;
  if (exchange->is_ending) return MHD_CONTENT_READER_END_OF_STREAM;
  if (!exchange->queue_count) {
    exchange->is_suspended = 1;
    library.MHD_suspend_connection(exchange->connection);
    return 0;
  }
  if (count > exchange->queue_count) count = exchange->queue_count;
  memcpy(buffer, exchange->queue, count);
  exchange->queue_count -= count;
  memmove(exchange->queue, exchange->queue + count, exchange->queue_count);
  return (ssize_t)count;
}

static void chttp_resume_stream(chttp_exchange *exchange) {
  if (!exchange->is_suspended) return;
  exchange->is_suspended = 0;
  library.MHD_resume_connection(exchange->connection);
}

static int chttp_descriptor_of(chttp_exchange *exchange) {
  const union MHD_ConnectionInfo *info =
      library.MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

int32_t chttp_stream(chttp_exchange *exchange, const char *type) {
  exchange->response =
      library.MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, chttp_block_size, chttp_read_queue, exchange, NULL);
  chttp_begin(exchange, MHD_HTTP_OK, type);
  if (!exchange->response) return 0;
  exchange->is_stream = 1;
  const union MHD_ConnectionInfo *info =
      library.MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  if (info && info->socket_context) ((chttp_slot *)info->socket_context)->is_stream = 1;
  int descriptor = chttp_descriptor_of(exchange), size = chttp_send_buffer;
  unsigned timeout = chttp_user_timeout_ms;
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
  return 1;
}

int32_t chttp_send(chttp_exchange *exchange, const uint8_t *bytes, int64_t count, int64_t max_queued) {
  size_t total = exchange->queue_count + (size_t)count;
  uint8_t *queue = total > (size_t)max_queued ? NULL : realloc(exchange->queue, total);
  if (!queue) return 0;
  memcpy(queue + exchange->queue_count, bytes, (size_t)count);
  exchange->queue = queue;
  exchange->queue_count = total;
  chttp_resume_stream(exchange);
  return 1;
}

void chttp_end(chttp_exchange *exchange) {
  exchange->is_ending = 1;
  /* The library sees the end of the connection also if the client reads nothing. */
  shutdown(chttp_descriptor_of(exchange), SHUT_RDWR);
  chttp_resume_stream(exchange);
}
