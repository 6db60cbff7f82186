#pragma once
/*
 * Queries of an X server that SDL does not offer: exact modes, current monitor positions, power management.
 *
 * The X extension libraries are loaded at run time; nothing is linked. `display` is an open Xlib display, used by one
 * thread.
 */

typedef struct {
  int x, y, width, height;
} cx11_rect;

/* A display mode as it is seen, with the rate in Hz. */
typedef struct {
  unsigned long id;
  int width, height;
  double rate;
  int is_current, is_preferred;
} cx11_mode;

/* Stores the modes of the monitor at a position of the root window, at most `room`, and returns their number; -1 if
 * unknown. */
int cx11_modes(void *display, int x, int y, cx11_mode *modes, int room);

/* Changes to a mode of the same size; SDL does not distinguish rates that round to one integer. Returns 0 on failure. */
int cx11_set_mode(void *display, int x, int y, unsigned long id);

/* Moves and resizes a window without a window manager, also one that SDL considers full-screen. */
void cx11_place(void *display, unsigned long window, int x, int y, int width, int height);

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
