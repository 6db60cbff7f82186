/* What a library asks of the system while it is watched. The library's calls come here because a program's own symbols go before
   those of shared libraries. */
#pragma once
#include <stdint.h>

typedef struct {
  /* Files of the folder that were opened. */
  int32_t files;
  /* Anything else that was to be opened; nothing outside is. */
  int32_t outside;
  /* Devices, pipes and folders among those. */
  int32_t devices;
  /* Anything that was to be written, wherever it lies. */
  int32_t writes;
  /* Ports that were to be bound or listened on. */
  int32_t ports;
  /* Connections and names that were asked for beside those of the own server; none is made. */
  int32_t strangers;
  /* Times that the library wanted to wait. */
  int32_t waits;
  /* The path of the last of the devices. */
  char path[512];
} fuzz_watch_seen;

/* From now on. Paths below `folder` may be opened, and connections to `port` of 127.0.0.1 be made; 0 for none.
   `tired` is called when the library has waited or opened files for longer than is worth while. */
void fuzz_watch_begin(const char *folder, uint16_t port, void (*tired)(void));
fuzz_watch_seen fuzz_watch_end(void);
