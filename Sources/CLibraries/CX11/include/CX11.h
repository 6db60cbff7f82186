#pragma once
/*
 * Queries of an X server that SDL does not offer: preferred modes, current monitor positions, power management.
 *
 * The X extension libraries are loaded at run time; nothing is linked. `display` is an open Xlib display, used by one
 * thread.
 */

typedef struct {
  int x, y, width, height;
} cx11_rect;

/* Returns the preferred mode of the monitor at a position of the root window, `rate` in Hz. 0 if unknown. */
int cx11_preferred_mode(void *display, int x, int y, int *width, int *height, int *rate);

/* Stores the rectangles of active monitors, at most `room`, and returns their number; -1 if unknown. */
int cx11_monitors(void *display, cx11_rect *monitors, int room);

/* Queries the pointer's position on the root window and the state of its first button. 0 if it is on another screen. */
int cx11_pointer(void *display, int *x, int *y, int *is_pressed);

/* Selects events for connected, disconnected and reconfigured monitors. Returns their type; 0 if unsupported. */
int cx11_change_event(void *display);

/* Switches all monitors off through DPMS. `was_enabled` is for cx11_power_on. Returns 0 if unsupported. */
int cx11_power_off(void *display, int *was_enabled);
/* Switches the monitors on and restores the server's DPMS state. */
void cx11_power_on(void *display, int was_enabled);

/* Unmaps a window; returns after the server has done so, or is gone. */
void cx11_unmap(void *display, unsigned long window);
