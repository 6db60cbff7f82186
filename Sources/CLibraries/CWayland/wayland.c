#include "CWayland.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Declared opaque, so that the library's headers are not needed. */
typedef struct wl_display wl_display;
typedef struct wl_proxy wl_proxy;

/* Wayland core protocol, version 1, "wl_display": get_registry is the second request. */
enum { cwayland_get_registry = 1 };

static void cwayland_global(void *has_seat, wl_proxy *registry, uint32_t name, const char *interface, uint32_t version) {
  (void)registry, (void)name, (void)version;
  if (!strcmp(interface, "wl_seat")) *(int *)has_seat = 1;
}

static void cwayland_global_remove(void *has_seat, wl_proxy *registry, uint32_t name) {
  (void)has_seat, (void)registry, (void)name;
}

/* The two events of "wl_registry", in protocol order. */
static const struct {
  void (*global)(void *, wl_proxy *, uint32_t, const char *, uint32_t);
  void (*global_remove)(void *, wl_proxy *, uint32_t);
} cwayland_listener = {cwayland_global, cwayland_global_remove};

#define CWAYLAND_FUNCTION(result, name, ...)                                                                           \
  typedef result (*name##_function)(__VA_ARGS__);                                                                      \
  name##_function name##_ = (name##_function)dlsym(library, #name)

static int cwayland_ask(void *library) {
  CWAYLAND_FUNCTION(wl_display *, wl_display_connect, const char *);
  CWAYLAND_FUNCTION(void, wl_display_disconnect, wl_display *);
  CWAYLAND_FUNCTION(int, wl_display_roundtrip, wl_display *);
  CWAYLAND_FUNCTION(wl_proxy *, wl_proxy_marshal_constructor, wl_proxy *, uint32_t, const void *, ...);
  CWAYLAND_FUNCTION(int, wl_proxy_add_listener, wl_proxy *, void (**)(void), void *);
  CWAYLAND_FUNCTION(void, wl_proxy_destroy, wl_proxy *);
  const void *interface = dlsym(library, "wl_registry_interface");
  if (!wl_display_connect_ || !wl_display_disconnect_ || !wl_display_roundtrip_ || !wl_proxy_marshal_constructor_ ||
      !wl_proxy_add_listener_ || !wl_proxy_destroy_ || !interface)
    return -1;
  wl_display *display = wl_display_connect_(NULL);
  if (!display) return -1;
  int has_seat = 0, answered = 0;
  wl_proxy *registry = wl_proxy_marshal_constructor_((wl_proxy *)display, cwayland_get_registry, interface, NULL);
  if (registry) {
    wl_proxy_add_listener_(registry, (void (**)(void)) & cwayland_listener, &has_seat);
    answered = wl_display_roundtrip_(display) >= 0;
    wl_proxy_destroy_(registry);
  }
  wl_display_disconnect_(display);
  return answered ? has_seat : -1;
}

int cwayland_has_seat(void) {
  /* An inherited connection can be used once, and SDL needs it. */
  const char *handed = getenv("WAYLAND_SOCKET");
  if (handed && handed[0]) return -1;
  void *library = dlopen("libwayland-client.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) return -1;
  const int answer = cwayland_ask(library);
  dlclose(library);
  return answer;
}
