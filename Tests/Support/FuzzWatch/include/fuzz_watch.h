/* System calls of a library while it is watched. They are intercepted, because symbols of the executable take
   precedence over those of shared libraries. */
#pragma once
#include <stdint.h>

typedef struct {
  /* Opened files of the folder. */
  int32_t files;
  /* Attempts to open anything else; they fail. */
  int32_t outside;
  /* Devices, pipes and folders among them. */
  int32_t devices;
  /* Attempts to open a file for writing, at any path; they fail. */
  int32_t writes;
  /* Attempts to bind or listen on a port; they fail. */
  int32_t ports;
  /* Attempts to connect to or resolve anything except the test's server; they fail. */
  int32_t strangers;
  /* Number of waits. */
  int32_t waits;
  /* The path of the last device. */
  char path[512];
} fuzz_watch_seen;

/* Starts watching the calling thread. Only paths below `folder` can be opened, and only `port` of 127.0.0.1 can be
   connected to; 0 is none. `tired` is called at the maximum number of waits or opened files. */
void fuzz_watch_begin(const char *folder, uint16_t port, void (*tired)(void));
fuzz_watch_seen fuzz_watch_end(void);
