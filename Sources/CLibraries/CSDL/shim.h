#pragma once
#include <SDL2/SDL.h>
#include <SDL2/SDL_syswm.h>

/* What SDL_SysWMinfo holds lies in a union of structures that differ with how SDL was built. */

/* SDL_VERSION is a function-like macro. */
static inline int csdl_window_info(SDL_Window *window, SDL_SysWMinfo *info) {
  SDL_VERSION(&info->version);
  return SDL_GetWindowWMInfo(window, info) == SDL_TRUE;
}

/* The X11 display of a window; NULL on other window systems. */
static inline void *csdl_x11_display(SDL_Window *window) {
#if defined(SDL_VIDEO_DRIVER_X11)
  SDL_SysWMinfo info;
  if (csdl_window_info(window, &info) && info.subsystem == SDL_SYSWM_X11) return info.info.x11.display;
#endif
  return NULL;
}

/* The number of a window on its X11 display; 0 on other window systems. */
static inline unsigned long csdl_x11_window(SDL_Window *window) {
#if defined(SDL_VIDEO_DRIVER_X11)
  SDL_SysWMinfo info;
  if (csdl_window_info(window, &info) && info.subsystem == SDL_SYSWM_X11) return info.info.x11.window;
#endif
  return 0;
}

/* The Wayland display of a window; NULL on other window systems. */
static inline void *csdl_wayland_display(SDL_Window *window) {
#if defined(SDL_VIDEO_DRIVER_WAYLAND)
  SDL_SysWMinfo info;
  if (csdl_window_info(window, &info) && info.subsystem == SDL_SYSWM_WAYLAND) return info.info.wl.display;
#endif
  return NULL;
}

/* Whether a Wayland window has no place among the compositor's windows; 0 on other window systems. */
static inline int csdl_wayland_is_placeless(SDL_Window *window) {
#if defined(SDL_VIDEO_DRIVER_WAYLAND)
  SDL_SysWMinfo info;
  if (csdl_window_info(window, &info) && info.subsystem == SDL_SYSWM_WAYLAND) return info.info.wl.xdg_toplevel == NULL;
#endif
  return 0;
}

/* The type of an X11 event; 0 for those of other window systems. */
static inline int csdl_x11_event_type(const SDL_SysWMmsg *message) {
#if defined(SDL_VIDEO_DRIVER_X11)
  if (message && message->subsystem == SDL_SYSWM_X11) return message->msg.x11.event.type;
#endif
  (void)message;
  return 0;
}
