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

int cx11_preferred_mode(void *raw, int x, int y, int *width, int *height, int *rate) {
  Display *display = raw;
  int base = 0, found = 0;
  if (!cx11_has_randr(display, &base)) return 0;
  CX11_FUNCTION(cx11_randr, XRRScreenResources *, XRRGetScreenResourcesCurrent, Display *, Window);
  CX11_FUNCTION(cx11_randr, XRROutputInfo *, XRRGetOutputInfo, Display *, XRRScreenResources *, RROutput);
  CX11_FUNCTION(cx11_randr, XRRCrtcInfo *, XRRGetCrtcInfo, Display *, XRRScreenResources *, RRCrtc);
  CX11_FUNCTION(cx11_randr, void, XRRFreeScreenResources, XRRScreenResources *);
  CX11_FUNCTION(cx11_randr, void, XRRFreeOutputInfo, XRROutputInfo *);
  CX11_FUNCTION(cx11_randr, void, XRRFreeCrtcInfo, XRRCrtcInfo *);
  if (!XRRGetScreenResourcesCurrent_ || !XRRGetOutputInfo_ || !XRRGetCrtcInfo_ || !XRRFreeScreenResources_ ||
      !XRRFreeOutputInfo_ || !XRRFreeCrtcInfo_)
    return 0;
  XRRScreenResources *resources = XRRGetScreenResourcesCurrent_(display, cx11_root(display));
  if (!resources) return 0;
  for (int i = 0; i < resources->noutput && !found; i++) {
    XRROutputInfo *output = XRRGetOutputInfo_(display, resources, resources->outputs[i]);
    if (!output) continue;
    XRRCrtcInfo *crtc = output->crtc ? XRRGetCrtcInfo_(display, resources, output->crtc) : NULL;
    if (crtc && crtc->x == x && crtc->y == y && output->npreferred > 0 && output->nmode > 0) {
      for (int j = 0; j < resources->nmode; j++) {
        const XRRModeInfo *mode = &resources->modes[j];
        if (mode->id != output->modes[0]) continue;
        const double dots = (double)mode->hTotal * mode->vTotal;
        *width = (int)mode->width;
        *height = (int)mode->height;
        /* Rounded to an integer, like SDL's refresh rate. */
        *rate = dots > 0 ? (int)(mode->dotClock / dots + 0.5) : 0;
        found = 1;
      }
    }
    if (crtc) XRRFreeCrtcInfo_(crtc);
    XRRFreeOutputInfo_(output);
  }
  XRRFreeScreenResources_(resources);
  return found;
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

static int cx11_ignore(Display *display, XErrorEvent *event) {
  (void)display, (void)event;
  return 0;
}

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

int cx11_preferred_mode(void *display, int x, int y, int *width, int *height, int *rate) {
  (void)display, (void)x, (void)y, (void)width, (void)height, (void)rate;
  return 0;
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
