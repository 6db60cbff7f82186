#pragma once
/* libplacebo behind a few calls. Its structures are filled by macros that Swift cannot import, and the library is opened at run
 * time: a film that is not drawn by a graphics processor loads neither it nor what it brings along. Nothing is linked.
 *
 * One thread, on which an OpenGL context is current, owns an output. */
#include <stdint.h>

typedef struct cpl_output cpl_output;
typedef struct cpl_texture cpl_texture;

typedef enum {
  cpl_ready,
  /* This program was built without libplacebo's headers, or with those of a version that it does not know. */
  cpl_not_built,
  /* The library of the version that this was built for is not installed. */
  cpl_no_library,
  /* The current context is none that libplacebo can draw with. */
  cpl_no_context,
} cpl_outcome;

/* One plane of a picture in memory. */
typedef struct {
  const void *pixels;
  /* Bytes from one row to the next; a multiple of a pixel's bytes. */
  int64_t stride;
  int32_t width, height;
  /* How many numbers stand side by side, and what each is: 0 Y or R, 1 Cb or G, 2 Cr or B, 3 alpha, -1 nothing. */
  int32_t components;
  int8_t meanings[4];
} cpl_plane;

typedef struct {
  cpl_plane planes[4];
  int32_t plane_count;
  int32_t width, height;
  /* Bits of a number in memory (8 or 16), those of them that count, and how many lie below them. */
  int32_t sample_bits, depth, shift;
  /* ITU-T H.273, tables 2, 3 and 4; 2 is "not said". */
  int32_t primaries, transfer, matrix;
  int32_t is_full_range;
  /* H.273, figure 1: 0 left, 1 centre, and so on; -1 where nobody says. */
  int32_t chroma_location;
  /* cd/m² of the brightest white of an HDR film; 0 is what its transfer has. */
  float peak;
  /* Clockwise, in quarters. */
  int32_t quarter_turns;
  /* Where it lies in the window, after the turn; may reach over the edges. */
  float left, top, right, bottom;
} cpl_picture;

/* What lies over the picture, in pixels of the window; its texture is stretched to that size. */
typedef struct {
  const cpl_texture *texture;
  int32_t x, y, width, height;
} cpl_overlay;

/* Which library would be opened, "libplacebo.so.208"; NULL where this was built without. */
const char *cpl_library_name(void);

/* Whether the library can be opened. */
cpl_outcome cpl_look(void);

/* What a person wants of it. */
typedef struct {
  /* A curve by libplacebo's name; NULL, or one that it does not have, is BT.2390's. */
  const char *tone_mapping;
  /* cd/m² of the screen's brightest white, for HDR films; 0 is that of SDR films. */
  float target_peak;
  /* What makes pictures larger, by libplacebo's name; NULL, or one that it does not have, is its own choice. */
  const char *scaler;
} cpl_wishes;

/* Makes an output on the current context; `swap` shows what was drawn. */
cpl_outcome cpl_open(cpl_output **output, cpl_wishes wishes, void (*swap)(void *window), void *window);
/* The context must still be current. */
void cpl_close(cpl_output *output);

/* Draws into the back buffer of that size: a picture (NULL is black), and what lies over it from the bottom up. 0 where the picture
 * could not be drawn. */
int cpl_draw(cpl_output *output, int32_t width, int32_t height, const cpl_picture *picture,
             const cpl_overlay *overlays, int32_t count);
/* Shows the back buffer. */
void cpl_swap(cpl_output *output);

/* B, G, R, A per pixel, straight alpha, rows without gaps; NULL when there is no memory for it. */
cpl_texture *cpl_texture_make(cpl_output *output, int32_t width, int32_t height, const uint8_t *pixels);
void cpl_texture_free(cpl_output *output, cpl_texture *texture);
