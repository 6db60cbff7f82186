#include "CX11.h"

#include <dlfcn.h>
#include <stddef.h>

#if __has_include(<X11/extensions/Xrandr.h>)
#include <X11/Xlib.h>
#include <X11/extensions/Xrandr.h>

/* Never closed, because each library is opened repeatedly. */
static void *cx11_symbol(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle ? dlsym(handle, name) : NULL;
}

#define CX11_FUNCTION(library, result, name, ...)                                                                      \
  typedef result (*name##_function)(__VA_ARGS__);                                                                      \
  name##_function name##_ = (name##_function)cx11_symbol(library, #name)

static const char *const cx11_base = "libX11.so.6";
static const char *const cx11_randr = "libXrandr.so.2";
static const char *const cx11_extensions = "libXext.so.6";

static int cx11_has_randr(Display *display, int *event_base) {
  CX11_FUNCTION(cx11_randr, Bool, XRRQueryExtension, Display *, int *, int *);
  CX11_FUNCTION(cx11_randr, Status, XRRQueryVersion, Display *, int *, int *);
  int errors = 0, major = 0, minor = 0;
  if (!XRRQueryExtension_ || !XRRQueryVersion_) return 0;
  if (!XRRQueryExtension_(display, event_base, &errors) || !XRRQueryVersion_(display, &major, &minor)) return 0;
  /* Monitors need RandR 1.5, preferred modes 1.2. */
  return major > 1 || (major == 1 && minor >= 5);
}

static Window cx11_root(Display *display) {
  CX11_FUNCTION(cx11_base, Window, XDefaultRootWindow, Display *);
  return XDefaultRootWindow_ ? XDefaultRootWindow_(display) : 0;
}

/* The rate in Hz, as SDL computes it but not rounded. */
static double cx11_rate(const XRRModeInfo *mode) {
  double lines = mode->vTotal;
  if (mode->modeFlags & RR_DoubleScan) lines *= 2;
  if (mode->modeFlags & RR_Interlace) lines /= 2;
  const double dots = mode->hTotal * lines;
  return dots > 0 ? mode->dotClock / dots : 0;
}

/* Calls `body` with the active output at a position of the root window; returns its result, or `unknown`. */
static int cx11_with_output(Display *display, int x, int y, int unknown,
                            int (*body)(Display *, XRRScreenResources *, XRROutputInfo *, XRRCrtcInfo *, void *),
                            void *context) {
  int base = 0, result = unknown;
  if (!cx11_has_randr(display, &base)) return unknown;
  CX11_FUNCTION(cx11_randr, XRRScreenResources *, XRRGetScreenResourcesCurrent, Display *, Window);
  CX11_FUNCTION(cx11_randr, XRROutputInfo *, XRRGetOutputInfo, Display *, XRRScreenResources *, RROutput);
  CX11_FUNCTION(cx11_randr, XRRCrtcInfo *, XRRGetCrtcInfo, Display *, XRRScreenResources *, RRCrtc);
  CX11_FUNCTION(cx11_randr, void, XRRFreeScreenResources, XRRScreenResources *);
  CX11_FUNCTION(cx11_randr, void, XRRFreeOutputInfo, XRROutputInfo *);
  CX11_FUNCTION(cx11_randr, void, XRRFreeCrtcInfo, XRRCrtcInfo *);
  if (!XRRGetScreenResourcesCurrent_ || !XRRGetOutputInfo_ || !XRRGetCrtcInfo_ || !XRRFreeScreenResources_ ||
      !XRRFreeOutputInfo_ || !XRRFreeCrtcInfo_)
    return unknown;
  XRRScreenResources *resources = XRRGetScreenResourcesCurrent_(display, cx11_root(display));
  if (!resources) return unknown;
  int is_found = 0;
  for (int i = 0; i < resources->noutput && !is_found; i++) {
    XRROutputInfo *output = XRRGetOutputInfo_(display, resources, resources->outputs[i]);
    if (!output) continue;
    XRRCrtcInfo *crtc = output->crtc ? XRRGetCrtcInfo_(display, resources, output->crtc) : NULL;
    if (crtc && crtc->x == x && crtc->y == y) {
      is_found = 1;
      result = body(display, resources, output, crtc, context);
    }
    if (crtc) XRRFreeCrtcInfo_(crtc);
    XRRFreeOutputInfo_(output);
  }
  XRRFreeScreenResources_(resources);
  return result;
}

struct cx11_mode_list {
  cx11_mode *modes;
  int room;
};

static int cx11_list(Display *display, XRRScreenResources *resources, XRROutputInfo *output, XRRCrtcInfo *crtc,
                     void *context) {
  (void)display;
  struct cx11_mode_list *list = context;
  int count = 0;
  const int is_sideways = (crtc->rotation & (RR_Rotate_90 | RR_Rotate_270)) != 0;
  for (int i = 0; i < output->nmode && count < list->room; i++) {
    for (int j = 0; j < resources->nmode; j++) {
      const XRRModeInfo *mode = &resources->modes[j];
      if (mode->id != output->modes[i]) continue;
      const int width = (int)mode->width, height = (int)mode->height;
      list->modes[count++] = (cx11_mode){.id = mode->id,
                                         .width = is_sideways ? height : width,
                                         .height = is_sideways ? width : height,
                                         .rate = cx11_rate(mode),
                                         .is_current = mode->id == crtc->mode,
                                         .is_preferred = i == 0 && output->npreferred > 0};
    }
  }
  return count;
}

int cx11_modes(void *display, int x, int y, cx11_mode *modes, int room) {
  struct cx11_mode_list list = {modes, room};
  return cx11_with_output(display, x, y, -1, cx11_list, &list);
}

static int cx11_ignore(Display *display, XErrorEvent *event) {
  (void)display, (void)event;
  return 0;
}

static int cx11_set(Display *display, XRRScreenResources *resources, XRROutputInfo *output, XRRCrtcInfo *crtc,
                    void *context) {
  const unsigned long id = *(unsigned long *)context;
  if (crtc->mode == id) return 1;
  int is_known = 0;
  /* The display may be another one by now. */
  for (int i = 0; i < output->nmode; i++) is_known |= output->modes[i] == id;
  CX11_FUNCTION(cx11_randr, Status, XRRSetCrtcConfig, Display *, XRRScreenResources *, RRCrtc, Time, int, int, RRMode,
                Rotation, RROutput *, int);
  CX11_FUNCTION(cx11_base, XErrorHandler, XSetErrorHandler, XErrorHandler);
  CX11_FUNCTION(cx11_base, int, XSync, Display *, Bool);
  if (!is_known || !XRRSetCrtcConfig_ || !XSetErrorHandler_ || !XSync_) return 0;
  /* A display that is unplugged between two requests causes an X error, which would terminate the program. */
  XSync_(display, False);
  XErrorHandler before = XSetErrorHandler_(cx11_ignore);
  Status status = XRRSetCrtcConfig_(display, resources, output->crtc, CurrentTime, crtc->x, crtc->y, id, crtc->rotation,
                                    crtc->outputs, crtc->noutput);
  XSync_(display, False);
  XSetErrorHandler_(before);
  return status == RRSetConfigSuccess;
}

int cx11_set_mode(void *display, int x, int y, unsigned long id) {
  return cx11_with_output(display, x, y, 0, cx11_set, &id);
}

void cx11_place(void *display, unsigned long window, int x, int y, int width, int height) {
  CX11_FUNCTION(cx11_base, int, XMoveResizeWindow, Display *, Window, int, int, unsigned int, unsigned int);
  CX11_FUNCTION(cx11_base, int, XSync, Display *, Bool);
  if (!XMoveResizeWindow_ || !XSync_ || width <= 0 || height <= 0) return;
  XMoveResizeWindow_(display, window, x, y, (unsigned int)width, (unsigned int)height);
  XSync_(display, False);
}

int cx11_monitors(void *raw, cx11_rect *monitors, int room) {
  Display *display = raw;
  int base = 0, count = 0;
  if (!cx11_has_randr(display, &base)) return -1;
  CX11_FUNCTION(cx11_randr, XRRMonitorInfo *, XRRGetMonitors, Display *, Window, Bool, int *);
  CX11_FUNCTION(cx11_randr, void, XRRFreeMonitors, XRRMonitorInfo *);
  if (!XRRGetMonitors_ || !XRRFreeMonitors_) return -1;
  XRRMonitorInfo *found = XRRGetMonitors_(display, cx11_root(display), True, &count);
  if (count > room) count = room;
  for (int i = 0; found && i < count; i++)
    monitors[i] = (cx11_rect){found[i].x, found[i].y, found[i].width, found[i].height};
  if (found) XRRFreeMonitors_(found);
  return found ? count : 0;
}

int cx11_pointer(void *raw, int *x, int *y, int *is_pressed) {
  Display *display = raw;
  CX11_FUNCTION(cx11_base, Bool, XQueryPointer, Display *, Window, Window *, Window *, int *, int *, int *, int *,
                unsigned int *);
  Window root = 0, child = 0;
  int left = 0, top = 0;
  unsigned int buttons = 0;
  int is_known = XQueryPointer_ &&
                 XQueryPointer_(display, cx11_root(display), &root, &child, x, y, &left, &top, &buttons) == True;
  *is_pressed = (buttons & Button1Mask) != 0;
  return is_known;
}

int cx11_change_event(void *display) {
  int base = 0;
  if (!cx11_has_randr(display, &base)) return 0;
  CX11_FUNCTION(cx11_randr, void, XRRSelectInput, Display *, Window, int);
  /* SDL selects output events only, but a mode change is a CRTC event. The server keeps the first selection until it is
   * withdrawn (tested with X.Org 21.1). */
  if (XRRSelectInput_) {
    XRRSelectInput_(display, cx11_root(display), 0);
    XRRSelectInput_(display, cx11_root(display), RROutputChangeNotifyMask | RRCrtcChangeNotifyMask);
  }
  return base + RRNotify;
}

/* Power levels of X11/extensions/dpms.h, whose functions only newer versions declare. */
enum { cx11_level_on = 0, cx11_level_off = 3 };

/* Another client may disable DPMS between two requests; the resulting X error would terminate the program. */
static void cx11_force(Display *display, unsigned short level) {
  CX11_FUNCTION(cx11_extensions, Status, DPMSForceLevel, Display *, unsigned short);
  CX11_FUNCTION(cx11_base, XErrorHandler, XSetErrorHandler, XErrorHandler);
  CX11_FUNCTION(cx11_base, int, XSync, Display *, Bool);
  if (!DPMSForceLevel_ || !XSetErrorHandler_ || !XSync_) return;
  XSync_(display, False);
  XErrorHandler before = XSetErrorHandler_(cx11_ignore);
  DPMSForceLevel_(display, level);
  XSync_(display, False);
  XSetErrorHandler_(before);
}

int cx11_power_off(void *raw, int *was_enabled) {
  Display *display = raw;
  CX11_FUNCTION(cx11_extensions, Bool, DPMSQueryExtension, Display *, int *, int *);
  CX11_FUNCTION(cx11_extensions, Bool, DPMSCapable, Display *);
  CX11_FUNCTION(cx11_extensions, Status, DPMSInfo, Display *, unsigned short *, unsigned char *);
  CX11_FUNCTION(cx11_extensions, Status, DPMSEnable, Display *);
  int events = 0, errors = 0;
  if (!DPMSQueryExtension_ || !DPMSCapable_ || !DPMSInfo_ || !DPMSEnable_) return 0;
  if (!DPMSQueryExtension_(display, &events, &errors) || !DPMSCapable_(display)) return 0;
  unsigned short level = 0;
  unsigned char enabled = 0;
  DPMSInfo_(display, &level, &enabled);
  *was_enabled = enabled != 0;
  if (!enabled) DPMSEnable_(display);
  cx11_force(display, cx11_level_off);
  return 1;
}

void cx11_power_on(void *raw, int was_enabled) {
  Display *display = raw;
  cx11_force(display, cx11_level_on);
  CX11_FUNCTION(cx11_extensions, Status, DPMSDisable, Display *);
  CX11_FUNCTION(cx11_base, int, XFlush, Display *);
  if (!was_enabled && DPMSDisable_) DPMSDisable_(display);
  if (XFlush_) XFlush_(display);
}

void cx11_unmap(void *display, unsigned long window) {
  CX11_FUNCTION(cx11_base, int, XUnmapWindow, Display *, Window);
  CX11_FUNCTION(cx11_base, int, XSync, Display *, Bool);
  if (!XUnmapWindow_ || !XSync_) return;
  XUnmapWindow_(display, window);
  XSync_(display, False);
}

#else

int cx11_modes(void *display, int x, int y, cx11_mode *modes, int room) {
  (void)display, (void)x, (void)y, (void)modes, (void)room;
  return -1;
}
int cx11_set_mode(void *display, int x, int y, unsigned long id) {
  (void)display, (void)x, (void)y, (void)id;
  return 0;
}
void cx11_place(void *display, unsigned long window, int x, int y, int width, int height) {
  (void)display, (void)window, (void)x, (void)y, (void)width, (void)height;
}
int cx11_monitors(void *display, cx11_rect *monitors, int room) {
  (void)display, (void)monitors, (void)room;
  return -1;
}
int cx11_pointer(void *display, int *x, int *y, int *is_pressed) {
  (void)display, (void)x, (void)y, (void)is_pressed;
  return 0;
}
int cx11_change_event(void *display) {
  (void)display;
  return 0;
}
int cx11_power_off(void *display, int *was_enabled) {
  (void)display, (void)was_enabled;
  return 0;
}
void cx11_power_on(void *display, int was_enabled) { (void)display, (void)was_enabled; }
void cx11_unmap(void *display, unsigned long window) { (void)display, (void)window; }

#endif
