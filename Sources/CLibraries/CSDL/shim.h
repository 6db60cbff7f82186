#pragma once
#include <SDL2/SDL.h>
#include <SDL2/SDL_syswm.h>

/* SDL_SysWMinfo contains a union whose members depend on SDL's build options. */

/* SDL_VERSION is a function-like macro. */
static inline int csdl_window_info(SDL_Window *window, SDL_SysWMinfo *info) {
  SDL_VERSION(&info->version);
  return SDL_GetWindowWMInfo(window, info) == SDL_TRUE;
}

/* Returns the X11 display of a window; NULL on other window systems. */
static inline void *csdl_x11_display(SDL_Window *window) {
#if defined(SDL_VIDEO_DRIVER_X11)
  SDL_SysWMinfo info;
  if (csdl_window_info(window, &info) && info.subsystem == SDL_SYSWM_X11) return info.info.x11.display;
#endif
  return NULL;
}

/* Returns the X11 identifier of a window; 0 on other window systems. */
static inline unsigned long csdl_x11_window(SDL_Window *window) {
#if defined(SDL_VIDEO_DRIVER_X11)
  SDL_SysWMinfo info;
  if (csdl_window_info(window, &info) && info.subsystem == SDL_SYSWM_X11) return info.info.x11.window;
#endif
  return 0;
}

/* Returns the Wayland display of a window; NULL on other window systems. */
static inline void *csdl_wayland_display(SDL_Window *window) {
#if defined(SDL_VIDEO_DRIVER_WAYLAND)
  SDL_SysWMinfo info;
  if (csdl_window_info(window, &info) && info.subsystem == SDL_SYSWM_WAYLAND) return info.info.wl.display;
#endif
  return NULL;
}

/* Returns nonzero if a Wayland window has no xdg_toplevel; 0 on other window systems. */
static inline int csdl_wayland_is_placeless(SDL_Window *window) {
#if defined(SDL_VIDEO_DRIVER_WAYLAND)
  SDL_SysWMinfo info;
  if (csdl_window_info(window, &info) && info.subsystem == SDL_SYSWM_WAYLAND) return info.info.wl.xdg_toplevel == NULL;
#endif
  return 0;
}

/* Returns the type of an X11 event; 0 for events of other window systems. */
static inline int csdl_x11_event_type(const SDL_SysWMmsg *message) {
#if defined(SDL_VIDEO_DRIVER_X11)
  if (message && message->subsystem == SDL_SYSWM_X11) return message->msg.x11.event.type;
#endif
  (void)message;
  return 0;
}
