#define _GNU_SOURCE
#include "CMicroHTTPD.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define CHTTP_FUNCTIONS(use) \
  use(MHD_add_response_header) use(MHD_create_response_from_buffer) use(MHD_destroy_response) \
  use(MHD_get_connection_info) use(MHD_get_daemon_info) use(MHD_get_timeout) use(MHD_lookup_connection_value) \
  use(MHD_queue_response) use(MHD_resume_connection) use(MHD_run) use(MHD_start_daemon) use(MHD_stop_daemon) \
  use(MHD_suspend_connection)

#define CHTTP_MEMBER(name) __typeof__(name) *name;
static struct {
  CHTTP_FUNCTIONS(CHTTP_MEMBER)
} library;
static int32_t chttp_is_loaded;

/* Opened by the first server: a player without a kiosk does not load it. */
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

enum { chttp_max_connections = 64, chttp_connection_memory = 16384 };

struct chttp_server {
  struct MHD_Daemon *daemon;
  chttp_handler handler;
  void *context;
  int32_t timeout_ms;
  int32_t max_connections;
  /* Nonzero if a connection was closed since the last run. At its connection limit, libmicrohttpd removes the listening
   * socket from epoll and adds it again only in the next run, which no event would trigger. */
  int has_room;
  /* Open connections and their start. A client that sends single bytes does not extend its time. */
  struct {
    int descriptor;
    int64_t began_ms;
    int is_ending;
  } connections[chttp_max_connections];
};

struct chttp_exchange {
  struct MHD_Connection *connection;
  struct MHD_Response *response;
  unsigned status;
  int is_held;
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
    if (server->connections[i].is_ending) continue;
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
    if (*place) ((__typeof__(&server->connections[0]))*place)->descriptor = -1;
    return;
  }
  *place = NULL;
  chttp_make_room(server);
  const union MHD_ConnectionInfo *info = library.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  for (int i = 0; info && i < chttp_max_connections; i++) {
    if (server->connections[i].descriptor >= 0) continue;
    server->connections[i].descriptor = info->connect_fd;
    server->connections[i].began_ms = chttp_now_ms();
    server->connections[i].is_ending = 0;
    *place = &server->connections[i];
    return;
  }
}

static int32_t chttp_is_local(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = library.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (!info || !info->client_addr || info->client_addr->sa_family != AF_INET) return 0;
  return ntohl(((const struct sockaddr_in *)info->client_addr)->sin_addr.s_addr) >> 24 == 127;
}

static enum MHD_Result chttp_take(void *context, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload, size_t *upload_size,
                                  void **place) {
  (void)version, (void)upload;
  chttp_server *server = context;
  chttp_exchange *exchange = *place;
  int is_read = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
  if (!exchange) {
    exchange = calloc(1, sizeof *exchange);
    if (!exchange) return MHD_NO;
    exchange->connection = connection;
    *place = exchange;
    /* Other methods are rejected before their body arrives. */
    if (is_read) return MHD_YES;
  }
  if (*upload_size) {
    *upload_size = 0;
    return MHD_YES;
  }
  if (!exchange->response) {
    if (exchange->is_held) return MHD_YES;
    chttp_request request = {method, path, library.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
                             chttp_is_local(connection)};
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
  (void)context, (void)connection, (void)code;
  chttp_exchange *exchange = *place;
  if (!exchange) return;
  if (exchange->response) library.MHD_destroy_response(exchange->response);
  free(exchange);
  *place = NULL;
}

chttp_server *chttp_open(int32_t descriptor, int32_t max_connections, int32_t timeout_ms, chttp_handler handler,
                         void *context) {
  chttp_server *server = calloc(1, sizeof *server);
  if (!server) return NULL;
  server->handler = handler;
  server->context = context;
  server->timeout_ms = timeout_ms;
  for (int i = 0; i < chttp_max_connections; i++) server->connections[i].descriptor = -1;
  /* Spare slots are for connections that arrive before the oldest has been closed. */
  server->max_connections = max_connections > chttp_max_connections / 2 ? chttp_max_connections / 2 : max_connections;
  server->daemon = library.MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, chttp_take, server, MHD_OPTION_LISTEN_SOCKET,
      (MHD_socket)descriptor, MHD_OPTION_CONNECTION_LIMIT, (unsigned)chttp_max_connections, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)((timeout_ms + 999) / 1000), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)chttp_connection_memory,
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
    if (server->connections[i].descriptor < 0) continue;
    int64_t left = server->connections[i].began_ms + 3 * (int64_t)server->timeout_ms - now;
    if (left < 0) left = 0;
    if (due < 0 || left < due) due = left;
  }
  return due;
}

void chttp_serve(chttp_server *server) {
  int64_t now = chttp_now_ms();
  for (int i = 0; i < chttp_max_connections; i++) {
    if (server->connections[i].descriptor < 0) continue;
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

void chttp_answer(chttp_exchange *exchange, int32_t status, const char *type, const char *allow, const uint8_t *bytes,
                  int64_t count) {
  if (exchange->response) return;
  exchange->response = library.MHD_create_response_from_buffer((size_t)count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
  exchange->status = (unsigned)status;
  if (exchange->response) {
    library.MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    library.MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    /* One request per connection, so that few slots serve many clients. */
    library.MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (allow) library.MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_ALLOW, allow);
  }
  if (!exchange->is_held) return;
  exchange->is_held = 0;
  library.MHD_resume_connection(exchange->connection);
}
