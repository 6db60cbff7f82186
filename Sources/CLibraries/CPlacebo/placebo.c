#include "CPlacebo.h"

#if __has_include(<libplacebo/config.h>)
#include <libplacebo/config.h>
#endif

/* The structures differ between versions, so only the library of the headers is opened. Compiled and drawn with 208
 * (Debian 12), 349 (Debian 13) and 360 (testing). */
#if defined(PL_API_VER) && PL_API_VER >= 208

#include <dlfcn.h>
#include <libplacebo/opengl.h>
#include <libplacebo/renderer.h>
#include <libplacebo/utils/upload.h>
#include <stdlib.h>
#include <string.h>

#define CPL_TEXT(number) #number
#define CPL_NUMBER(number) CPL_TEXT(number)
#define CPL_LIBRARY "libplacebo.so." CPL_NUMBER(PL_API_VER)

#define CPL_FUNCTIONS(use)                                                                                             \
  use(pl_opengl_create) use(pl_opengl_destroy) use(pl_opengl_create_swapchain) use(pl_swapchain_destroy)               \
  use(pl_swapchain_resize) use(pl_swapchain_start_frame) use(pl_swapchain_submit_frame) use(pl_swapchain_swap_buffers) \
  use(pl_frame_from_swapchain) use(pl_frame_clear_rgba) use(pl_renderer_create) use(pl_renderer_destroy)               \
  use(pl_render_image) use(pl_upload_plane) use(pl_frame_set_chroma_location) use(pl_color_primaries_guess)            \
  use(pl_find_filter_preset) use(pl_find_fmt) use(pl_tex_create) use(pl_tex_destroy) use(pl_gpu_flush)

/* The first version with functions that map gamuts; before, colours are clipped by default. */
#define CPL_GAMUT_FUNCTIONS 269

#define CPL_MEMBER(name) __typeof__(name) *name;
static struct {
  CPL_FUNCTIONS(CPL_MEMBER)
  const struct pl_render_params *defaults;
  const struct pl_color_map_params *color_map;
  /* NULL-terminated. The lookup function is declared in the header, but not exported by Debian's library. */
  const struct pl_tone_map_function *const *curves;
  const struct pl_tone_map_function *bt2390;
#if PL_API_VER >= CPL_GAMUT_FUNCTIONS
  const struct pl_gamut_map_function *clip;
#endif
} library;

enum { cpl_most_overlays = 64 };

struct cpl_output {
  pl_opengl gl;
  pl_swapchain swapchain;
  pl_renderer renderer;
  pl_fmt overlay_format;
  struct pl_render_params settings;
  struct pl_color_map_params color_map;
  float target_peak;
  pl_tex planes[4];
  int width, height;
  struct pl_overlay overlays[cpl_most_overlays];
  struct pl_overlay_part parts[cpl_most_overlays];
};

struct cpl_texture {
  pl_tex texture;
};

const char *cpl_library_name(void) { return CPL_LIBRARY; }

/* Never unloaded: graphics drivers that were loaded with it may not support that. */
static int cpl_load(void) {
  static int state;
  if (state) return state > 0;
  state = -1;
  void *handle = dlopen(CPL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return 0;
#define CPL_FIND(name)                                                                                                 \
  if (!(library.name = (__typeof__(name) *)dlsym(handle, #name))) return 0;
  CPL_FUNCTIONS(CPL_FIND)
  library.defaults = dlsym(handle, "pl_render_default_params");
  library.color_map = dlsym(handle, "pl_color_map_default_params");
  library.curves = dlsym(handle, "pl_tone_map_functions");
  library.bt2390 = dlsym(handle, "pl_tone_map_bt2390");
  if (!library.defaults || !library.color_map || !library.curves || !library.bt2390) return 0;
#if PL_API_VER >= CPL_GAMUT_FUNCTIONS
  if (!(library.clip = dlsym(handle, "pl_gamut_map_clip"))) return 0;
#endif
  state = 1;
  return 1;
}

cpl_outcome cpl_look(void) { return cpl_load() ? cpl_ready : cpl_no_library; }

cpl_outcome cpl_open(cpl_output **result, cpl_wishes wishes, void (*swap)(void *), void *window) {
  *result = NULL;
  if (!cpl_load()) return cpl_no_library;
  cpl_output *output = calloc(1, sizeof *output);
  if (!output) return cpl_no_context;
  /* The caller has already decided about software rendering. */
  output->gl = library.pl_opengl_create(NULL, pl_opengl_params(.allow_software = true));
  if (output->gl) {
    output->swapchain = library.pl_opengl_create_swapchain(
        output->gl, pl_opengl_swapchain_params(.swap_buffers = swap, .priv = window));
    output->renderer = library.pl_renderer_create(NULL, output->gl->gpu);
    output->overlay_format = library.pl_find_fmt(output->gl->gpu, PL_FMT_UNORM, 4, 8, 8,
                                                 PL_FMT_CAP_SAMPLEABLE | PL_FMT_CAP_LINEAR);
  }
  if (!output->gl || !output->swapchain || !output->renderer || !output->overlay_format) {
    cpl_close(output);
    return cpl_no_context;
  }
  output->color_map = *library.color_map;
  output->color_map.tone_mapping_function = library.bt2390;
#if PL_API_VER >= CPL_GAMUT_FUNCTIONS
  output->color_map.gamut_mapping = library.clip;
#endif
  for (const struct pl_tone_map_function *const *curve = library.curves; wishes.tone_mapping && *curve; curve++) {
    if (strcmp((*curve)->name, wishes.tone_mapping) == 0) output->color_map.tone_mapping_function = *curve;
  }
  output->target_peak = wishes.target_peak;
  output->settings = *library.defaults;
  output->settings.color_map_params = &output->color_map;
  /* Later versions have other defaults. */
  const struct pl_filter_preset *scaler = wishes.scaler ? library.pl_find_filter_preset(wishes.scaler) : NULL;
  if (!scaler) scaler = library.pl_find_filter_preset("spline36");
  if (scaler) output->settings.upscaler = scaler->filter;
  scaler = library.pl_find_filter_preset("mitchell");
  if (scaler) output->settings.downscaler = scaler->filter;
  /* Disabled for reproducible output: detection depends on the frames before. */
  output->settings.peak_detect_params = NULL;
  *result = output;
  return cpl_ready;
}

void cpl_close(cpl_output *output) {
  if (!output) return;
  if (output->gl) {
    for (int i = 0; i < 4; i++) library.pl_tex_destroy(output->gl->gpu, &output->planes[i]);
    library.pl_renderer_destroy(&output->renderer);
    library.pl_swapchain_destroy(&output->swapchain);
    library.pl_opengl_destroy(&output->gl);
  }
  free(output);
}

/* MARK: H.273 to libplacebo's names */

static enum pl_color_system cpl_system(int32_t matrix) {
  switch (matrix) {
  case 0: return PL_COLOR_SYSTEM_RGB;
  case 1: return PL_COLOR_SYSTEM_BT_709;
  case 7: return PL_COLOR_SYSTEM_SMPTE_240M;
  case 8: return PL_COLOR_SYSTEM_YCGCO;
  case 9: return PL_COLOR_SYSTEM_BT_2020_NC;
  case 10: return PL_COLOR_SYSTEM_BT_2020_C;
  default: return PL_COLOR_SYSTEM_BT_601;
  }
}

static enum pl_color_transfer cpl_transfer(int32_t transfer) {
  switch (transfer) {
  case 4: return PL_COLOR_TRC_GAMMA22;
  case 5: return PL_COLOR_TRC_GAMMA28;
  case 8: return PL_COLOR_TRC_LINEAR;
  case 13: return PL_COLOR_TRC_SRGB;
  case 16: return PL_COLOR_TRC_PQ;
  case 18: return PL_COLOR_TRC_HLG;
  default: return PL_COLOR_TRC_BT_1886;
  }
}

static enum pl_color_primaries cpl_primaries(const cpl_picture *picture) {
  switch (picture->primaries) {
  case 1: return PL_COLOR_PRIM_BT_709;
  case 4: return PL_COLOR_PRIM_BT_470M;
  case 5: return PL_COLOR_PRIM_BT_601_625;
  case 6:
  case 7: return PL_COLOR_PRIM_BT_601_525;
  case 8: return PL_COLOR_PRIM_FILM_C;
  case 9: return PL_COLOR_PRIM_BT_2020;
  case 10: return PL_COLOR_PRIM_CIE_1931;
  case 11: return PL_COLOR_PRIM_DCI_P3;
  case 12: return PL_COLOR_PRIM_DISPLAY_P3;
  case 22: return PL_COLOR_PRIM_EBU_3213;
  }
  /* HDR without primaries is BT.2020 (BT.2100). */
  if (picture->transfer == 16 || picture->transfer == 18) return PL_COLOR_PRIM_BT_2020;
  return library.pl_color_primaries_guess(picture->width, picture->height);
}

/* MARK: Drawing */

static int cpl_upload(cpl_output *output, const cpl_picture *picture, struct pl_frame *frame) {
  const int bytes = picture->sample_bits / 8;
  for (int i = 0; i < picture->plane_count; i++) {
    const cpl_plane *plane = &picture->planes[i];
    struct pl_plane_data data = {
      .type = PL_FMT_UNORM,
      .width = plane->width,
      .height = plane->height,
      .pixel_stride = (size_t)(bytes * plane->components),
      .row_stride = (size_t)plane->stride,
      .pixels = plane->pixels,
    };
    for (int c = 0; c < plane->components; c++) {
      data.component_size[c] = picture->sample_bits;
      data.component_map[c] = plane->meanings[c];
    }
    if (!library.pl_upload_plane(output->gl->gpu, &frame->planes[i], &output->planes[i], &data)) return 0;
  }
  frame->num_planes = picture->plane_count;
  return 1;
}

static int cpl_fill(cpl_output *output, const cpl_picture *picture, struct pl_frame *frame) {
  *frame = (struct pl_frame){
    .repr = {
      .sys = cpl_system(picture->matrix),
      .levels = picture->is_full_range ? PL_COLOR_LEVELS_FULL : PL_COLOR_LEVELS_LIMITED,
      .bits = {.sample_depth = picture->sample_bits, .color_depth = picture->depth, .bit_shift = picture->shift},
    },
    .color = {
      .primaries = cpl_primaries(picture),
      .transfer = cpl_transfer(picture->transfer),
      .hdr = {.max_luma = picture->peak},
    },
    .crop = {0, 0, picture->width, picture->height},
    .rotation = picture->quarter_turns,
  };
  if (!cpl_upload(output, picture, frame)) return 0;
  enum pl_chroma_location location = (enum pl_chroma_location)(picture->chroma_location + 1);
  /* Unspecified: left as in MPEG-2 and all later codecs; centre as in JPEG if the range is full. */
  if (location <= PL_CHROMA_UNKNOWN || location >= PL_CHROMA_COUNT) {
    location = picture->is_full_range ? PL_CHROMA_CENTER : PL_CHROMA_LEFT;
  }
  if (picture->plane_count > 1) library.pl_frame_set_chroma_location(frame, location);
  return 1;
}

static void cpl_lay_over(cpl_output *output, struct pl_frame *target, const cpl_overlay *overlays, int32_t count) {
  if (count > cpl_most_overlays) count = cpl_most_overlays;
  for (int i = 0; i < count; i++) {
    const cpl_overlay *overlay = &overlays[i];
    output->parts[i] = (struct pl_overlay_part){
      .src = {0, 0, overlay->texture->texture->params.w, overlay->texture->texture->params.h},
      .dst = {overlay->x, overlay->y, overlay->x + overlay->width, overlay->y + overlay->height},
    };
    output->overlays[i] = (struct pl_overlay){
      .tex = overlay->texture->texture,
      .mode = PL_OVERLAY_NORMAL,
      .coords = PL_OVERLAY_COORDS_DST_FRAME,
      .repr = {.sys = PL_COLOR_SYSTEM_RGB, .levels = PL_COLOR_LEVELS_FULL, .alpha = PL_ALPHA_INDEPENDENT},
      /* Overlay values are not converted, as in the other rendering paths. */
      .color = target->color,
      .parts = &output->parts[i],
      .num_parts = 1,
    };
  }
  target->overlays = output->overlays;
  target->num_overlays = count;
}

int cpl_draw(cpl_output *output, int32_t width, int32_t height, const cpl_picture *picture,
             const cpl_overlay *overlays, int32_t count) {
  if (width != output->width || height != output->height) {
    int w = width, h = height;
    if (!library.pl_swapchain_resize(output->swapchain, &w, &h)) return 0;
    output->width = width;
    output->height = height;
  }
  struct pl_frame image;
  int is_shown = !picture || cpl_fill(output, picture, &image);
  struct pl_swapchain_frame back;
  if (!library.pl_swapchain_start_frame(output->swapchain, &back)) return 0;
  struct pl_frame target;
  library.pl_frame_from_swapchain(&target, &back);
  if (picture && is_shown && output->target_peak > 0 &&
      (image.color.transfer == PL_COLOR_TRC_PQ || image.color.transfer == PL_COLOR_TRC_HLG)) {
    target.color.hdr.max_luma = output->target_peak;
  }
  cpl_lay_over(output, &target, overlays, count);
  if (picture && is_shown) {
    target.crop = (struct pl_rect2df){picture->left, picture->top, picture->right, picture->bottom};
    is_shown = library.pl_render_image(output->renderer, &image, &target, &output->settings);
  } else {
    const float black[4] = {0, 0, 0, 1};
    library.pl_frame_clear_rgba(output->gl->gpu, &target, black);
    library.pl_render_image(output->renderer, NULL, &target, &output->settings);
  }
  /* Submits upload and rendering now; only the flip remains. */
  library.pl_swapchain_submit_frame(output->swapchain);
  library.pl_gpu_flush(output->gl->gpu);
  return is_shown;
}

void cpl_swap(cpl_output *output) { library.pl_swapchain_swap_buffers(output->swapchain); }

cpl_texture *cpl_texture_make(cpl_output *output, int32_t width, int32_t height, const uint8_t *pixels) {
  if (width < 1 || height < 1) return NULL;
  const size_t count = (size_t)width * (size_t)height;
  cpl_texture *made = calloc(1, sizeof *made);
  uint8_t *turned = malloc(count * 4);
  if (made && turned) {
    for (size_t i = 0; i < count * 4; i += 4) {
      turned[i] = pixels[i + 2];
      turned[i + 1] = pixels[i + 1];
      turned[i + 2] = pixels[i];
      turned[i + 3] = pixels[i + 3];
    }
    made->texture = library.pl_tex_create(
        output->gl->gpu, pl_tex_params(.w = width, .h = height, .format = output->overlay_format, .sampleable = true,
                                       .initial_data = turned));
  }
  free(turned);
  if (made && made->texture) return made;
  free(made);
  return NULL;
}

void cpl_texture_free(cpl_output *output, cpl_texture *texture) {
  library.pl_tex_destroy(output->gl->gpu, &texture->texture);
  free(texture);
}

#else

const char *cpl_library_name(void) { return 0; }
cpl_outcome cpl_look(void) { return cpl_not_built; }
cpl_outcome cpl_open(cpl_output **output, cpl_wishes wishes, void (*swap)(void *), void *window) {
  (void)wishes, (void)swap, (void)window;
  *output = 0;
  return cpl_not_built;
}
void cpl_close(cpl_output *output) { (void)output; }
int cpl_draw(cpl_output *output, int32_t width, int32_t height, const cpl_picture *picture,
             const cpl_overlay *overlays, int32_t count) {
  (void)output, (void)width, (void)height, (void)picture, (void)overlays, (void)count;
  return 0;
}
void cpl_swap(cpl_output *output) { (void)output; }
cpl_texture *cpl_texture_make(cpl_output *output, int32_t width, int32_t height, const uint8_t *pixels) {
  (void)output, (void)width, (void)height, (void)pixels;
  return 0;
}
void cpl_texture_free(cpl_output *output, cpl_texture *texture) { (void)output, (void)texture; }

#endif
