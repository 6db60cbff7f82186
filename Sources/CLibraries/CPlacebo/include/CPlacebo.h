#pragma once
/*
 * A wrapper of libplacebo. Swift cannot import the macros that initialize its structures. The library is loaded at run
 * time, so that software rendering does not load it and its dependencies; nothing is linked.
 *
 * An output is used by one thread, on which its OpenGL context is current.
 */
#include <stdint.h>

typedef struct cpl_output cpl_output;
typedef struct cpl_texture cpl_texture;

typedef enum {
  cpl_ready,
  /* Built without libplacebo's headers, or with those of an unsupported version. */
  cpl_not_built,
  /* The library of the version in the headers is not installed. */
  cpl_no_library,
  /* libplacebo cannot use the current context. */
  cpl_no_context,
} cpl_outcome;

/* One plane of a video frame in memory. */
typedef struct {
  const void *pixels;
  /* Bytes between rows; a multiple of the pixel size. */
  int64_t stride;
  int32_t width, height;
  /* Samples per pixel, and the component of each: 0 Y or R, 1 Cb or G, 2 Cr or B, 3 alpha, -1 unused. */
  int32_t components;
  int8_t meanings[4];
} cpl_plane;

/* A video frame and its placement in the window. */
typedef struct {
  cpl_plane planes[4];
  int32_t plane_count;
  int32_t width, height;
  /* Bits per sample in memory (8 or 16), significant bits, and unused low bits. */
  int32_t sample_bits, depth, shift;
  /* ITU-T H.273, tables 2, 3 and 4; 2 means unspecified. */
  int32_t primaries, transfer, matrix;
  int32_t is_full_range;
  /* H.273, figure 1: 0 left, 1 centre, …; -1 if unspecified. */
  int32_t chroma_location;
  /* Peak luminance of an HDR frame in cd/m²; 0 means the maximum of its transfer function. */
  float peak;
  /* Clockwise rotation in quarter turns. */
  int32_t quarter_turns;
  /* Edges in the window after the rotation; may exceed it. */
  float left, top, right, bottom;
} cpl_picture;

/* A bitmap over the frame, in window pixels; the texture is scaled to that size. */
typedef struct {
  const cpl_texture *texture;
  int32_t x, y, width, height;
} cpl_overlay;

/* Returns the name of the library to load, "libplacebo.so.208"; NULL if built without. */
const char *cpl_library_name(void);

/* Returns cpl_ready if the library can be loaded. */
cpl_outcome cpl_look(void);

/* User settings. */
typedef struct {
  /* A tone mapping curve by libplacebo's name; NULL or an unknown name selects BT.2390. */
  const char *tone_mapping;
  /* Peak luminance of the display for HDR video in cd/m²; 0 means that of SDR video. */
  float target_peak;
  /* An upscaler by libplacebo's name; NULL or an unknown name selects spline36. */
  const char *scaler;
} cpl_wishes;

/* Creates an output on the current context; `swap` presents the back buffer. */
cpl_outcome cpl_open(cpl_output **output, cpl_wishes wishes, void (*swap)(void *window), void *window);
/* Frees an output; its context must be current. */
void cpl_close(cpl_output *output);

/* Renders into a back buffer of that size: a frame (NULL is black) and overlays, bottom to top. Returns 0 if the frame
 * could not be rendered. */
int cpl_draw(cpl_output *output, int32_t width, int32_t height, const cpl_picture *picture,
             const cpl_overlay *overlays, int32_t count);
/* Presents the back buffer. */
void cpl_swap(cpl_output *output);

/* Creates a texture: B, G, R, A per pixel, straight alpha, rows without padding. NULL if out of memory. */
cpl_texture *cpl_texture_make(cpl_output *output, int32_t width, int32_t height, const uint8_t *pixels);
void cpl_texture_free(cpl_output *output, cpl_texture *texture);
