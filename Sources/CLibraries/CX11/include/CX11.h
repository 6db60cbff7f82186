#pragma once
/* What SDL does not ask an X server: which modes its displays prefer, where they are now, and to switch them off.
 *
 * The libraries of X's extensions are opened at run time; nothing is linked. A display is Xlib's own, belongs to one thread, and must stand. */

typedef struct {
  int x, y, width, height;
} cx11_rect;

/* The mode that the display at this place of the root window prefers; 0 where the server does not say. */
int cx11_preferred_mode(void *display, int x, int y, int *width, int *height, int *rate);

/* Where displays show something now; how many, at most `room`, and -1 where the server does not say. */
int cx11_monitors(void *display, cx11_rect *monitors, int room);

/* The pointer's position on the root window and whether its first button is held, asked of the server; 0 where it is on another
   screen. */
int cx11_pointer(void *display, int *x, int *y, int *is_pressed);

/* Asks the server for events that tell that a display came, went, or has another mode. Their type; 0 where it does not tell. */
int cx11_change_event(void *display);

/* Switches all displays of the server off, by the extension DPMS. `was_enabled` is what `cx11_power_on` needs. 0 where that cannot be. */
int cx11_power_off(void *display, int *was_enabled);
/* Switches them on again, and leaves the server's timers as they were. */
void cx11_power_on(void *display, int was_enabled);

/* Takes a window off the screen, and returns once the server has done so, or is gone. */
void cx11_unmap(void *display, unsigned long window);

/* Takes a window off the screen, and returns once the server has done so, or is gone. */
void cx11_unmap(void *display, unsigned long window);
