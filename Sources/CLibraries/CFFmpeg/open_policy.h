#pragma once
#include <errno.h>
#include <fcntl.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Restrictions on an input and on the resources that its demuxer opens. In C because the callback must call the one
 * that it replaces. */
typedef enum { cff_refused_nothing, cff_refused_count, cff_refused_downgrade } cff_refusal;

typedef struct {
  /* Remaining number of nested opens; negative means unlimited. A playlist that contains itself would open inputs
   * endlessly. */
  int left;
  /* Estimated memory in bytes of the playlists that were opened while `left` was not negative. */
  int64_t playlist_bytes;
  /* Nonzero if servers must present a valid certificate. */
  int verifies;
  /* Path of a CA file that replaces the system's, or NULL. */
  const char *authorities;
  cff_refusal refusal;
  int (*open)(AVFormatContext *, AVIOContext **, const char *, int, AVDictionary **);
  int (*close)(AVFormatContext *, AVIOContext *);
  /* Opens HTTP URLs instead of libavformat; NULL uses libavformat. `is_opening` is nonzero while the input itself is
   * being opened, when the user waits. */
  int (*web)(void *owner, const char *url, int is_opening, AVDictionary *options, AVIOContext **input);
  /* Closes an input if `web` opened it; returns nonzero then. */
  int (*close_web)(void *owner, AVIOContext *input);
  /* Called with each URL that a playlist's demuxer opens while the input is being opened; may be NULL. */
  void (*leads_to)(void *owner, const char *url);
  /* Called with each media playlist, including one at the input's own URL. `location` is the URL after redirects. May
   * store a replacement allocated with av_malloc in `other` and return its length; otherwise returns 0. May be NULL. */
  int (*revise)(void *owner, const char *url, const char *location, const uint8_t *text, int count, uint8_t **other);
  /* Called with each address that could not be opened, and the error of libavutil; with 0 before an address is
   * requested again. May be NULL. */
  void (*failed)(void *owner, const char *url, int error);
  void *owner;
  /* Nonzero if the first URL also comes from a playlist, so that it is not user-provided. */
  int is_led_to;
  /* Nonzero if of local files only regular ones may be opened, also at the first URL. */
  int regular_only;
  /* Set if a master playlist has subtitles in playlists of their own, which FFmpeg 5.1 does not read. */
  int has_subtitles;
} cff_open_policy;

/* The opaque object of an AVIOContext that reads from a web server. Demuxers read its option `location`, the base of
 * relative URLs after a redirect; probing reads `mime_type`. */
typedef struct {
  const AVClass *class;
  char *location;
  char *mime_type;
  void *owner;
} cff_web_place;

static const AVOption cff_web_options[] = {
  {"location", NULL, offsetof(cff_web_place, location), AV_OPT_TYPE_STRING, {.str = NULL}, 0, 0, AV_OPT_FLAG_EXPORT},
  {"mime_type", NULL, offsetof(cff_web_place, mime_type), AV_OPT_TYPE_STRING, {.str = NULL}, 0, 0, AV_OPT_FLAG_EXPORT},
  {NULL}};
static const AVClass cff_web_place_class = {
  .class_name = "web", .item_name = av_default_item_name, .option = cff_web_options, .version = LIBAVUTIL_VERSION_INT};
static inline void *cff_web_child(void *input, void *before) { return before ? NULL : ((AVIOContext *)input)->opaque; }
static const AVClass cff_web_class = {.class_name = "AVIOContext", .item_name = av_default_item_name, .version = LIBAVUTIL_VERSION_INT,
                                      .child_next = cff_web_child};

static inline AVIOContext *cff_web_input(void *owner, const char *location, const char *type, int (*read)(void *, uint8_t *, int),
                                         int64_t (*seek)(void *, int64_t, int)) {
  const int size = 32 << 10;
  uint8_t *buffer = av_malloc(size);
  cff_web_place *place = av_mallocz(sizeof *place);
  AVIOContext *input = buffer && place ? avio_alloc_context(buffer, size, 0, place, read, NULL, seek) : NULL;
  if (!input) {
    av_free(buffer);
    av_free(place);
    return NULL;
  }
  place->class = &cff_web_place_class;
  place->location = av_strdup(location);
  place->mime_type = type ? av_strdup(type) : NULL;
  place->owner = owner;
  input->av_class = &cff_web_class;
  return input;
}

static inline void cff_web_free(AVIOContext *input) {
  cff_web_place *place = (cff_web_place *)input->opaque;
  av_free(place->location);
  av_free(place->mime_type);
  av_free(place);
  av_freep(&input->buffer);
  avio_context_free(&input);
}

static inline int cff_is_web(const char *url) {
  while (av_strstart(url, "crypto+", &url) || av_strstart(url, "crypto:", &url)) {
  }
  return av_stristart(url, "http:", NULL) || av_stristart(url, "https:", NULL);
}

/* Opens a regular file with O_PATH, so that neither a FIFO blocks nor a device acts. Returns a descriptor, or a libavutil
 * error: AVERROR_INVALIDDATA for another kind of file. */
static inline int cff_find_regular(const char *path) {
  struct stat status;
  const int descriptor = open(path, __O_PATH | O_CLOEXEC);
  if (descriptor < 0) return AVERROR(errno);
  if (!fstat(descriptor, &status) && S_ISREG(status.st_mode)) return descriptor;
  close(descriptor);
  return AVERROR_INVALIDDATA;
}

/* Opens an address of a playlist: of local files only regular ones. libavformat opens the inode that was checked, also
 * if the path names another one meanwhile; standard input is in use. */
static inline int cff_open_regular(cff_open_policy *policy, AVFormatContext *context, AVIOContext **input, const char *url,
                                   int flags, AVDictionary **options) {
  const char *path = url;
  while (av_strstart(path, "crypto+", &path) || av_strstart(path, "crypto:", &path)) {
  }
  const int prefix = (int)(path - url);
  const char *protocol = avio_find_protocol_name(path);
  if (protocol && !strcmp(protocol, "pipe")) return AVERROR_INVALIDDATA;
  if (!protocol || strcmp(protocol, "file")) return policy->open(context, input, url, flags, options);
  av_strstart(path, "file:", &path);
  const int descriptor = cff_find_regular(path);
  if (descriptor < 0) return descriptor;
  char *checked = av_asprintf("%.*sfile:/proc/self/fd/%d", prefix, url, descriptor);
  const int status = checked ? policy->open(context, input, checked, flags, options) : AVERROR(ENOMEM);
  av_free(checked);
  close(descriptor);
  return status;
}

/* Pushes bytes back into the read buffer (the fields of AVIOContext, libavformat/avio.h). */
static inline int cff_put_back(AVIOContext *input, const uint8_t *bytes, int count) {
  const int left = (int)(input->buf_end - input->buf_ptr);
  const int size = FFMAX(input->buffer_size, count + left);
  uint8_t *buffer = av_malloc(size);
  if (!buffer) return AVERROR(ENOMEM);
  memcpy(buffer, bytes, count);
  memcpy(buffer + count, input->buf_ptr, left);
  av_free(input->buffer);
  input->buffer = input->buf_ptr = buffer;
  input->buf_end = buffer + count + left;
  input->buffer_size = size;
  input->eof_reached = 0;
  return 0;
}

static inline int cff_line_begins(const uint8_t *line, int length, const char *tag) {
  const int size = (int)strlen(tag);
  return length >= size && !memcmp(line, tag, size);
}

/* Limits of a playlist's text, of its variants and renditions (as many as may be opened), and of the memory for all
 * playlists of an input: libavformat keeps each segment with its own copies of its URL and key URL. A day of
 * two-second segments takes 2 MB of text and 20 MB of memory. */
enum { cff_longest_playlist = 32 << 20, cff_max_variants = 500, cff_max_playlist_bytes = 128 << 20 };

/* Size of a resolved URL. libavformat truncates lines and URLs to 4096 bytes. */
static inline int cff_url_size(const uint8_t *line, int length, int base) {
  return FFMIN(length + (av_strnstr((const char *)line, "://", length) ? 0 : base), 4096);
}

/* Returns nonzero if the text begins with a scheme, in any case. */
static inline int cff_has_scheme(const uint8_t *text, int length, const char *scheme) {
  const int size = (int)strlen(scheme);
  return length >= size && !av_strncasecmp((const char *)text, scheme, size);
}

/* What the addresses of a playlist refer to. */
enum { cff_refers_to_file = 1, cff_refers_to_http = 2 };

static inline int cff_reference(const uint8_t *url, int length) {
  const char *local[] = {"file:", "file,", "crypto:", "crypto+", "pipe:"};
  for (int i = 0; i < 5; i++)
    if (cff_has_scheme(url, length, local[i])) return cff_refers_to_file;
  /* A colon before a path, query or fragment makes an address absolute. If what precedes it is no scheme, libavformat
   * opens a local file of that name. */
  int end = 0, is_scheme = 1;
  for (; end < length && !memchr(":/?#", url[end], 4); end++) {
    const uint8_t letter = url[end] | 0x20;
    is_scheme &= (letter >= 'a' && letter <= 'z') || memchr("0123456789+-.", url[end], 13) != NULL;
  }
  if (end < length && url[end] == ':' && !is_scheme) return cff_refers_to_file;
  return cff_has_scheme(url, length, "http:") ? cff_refers_to_http : 0;
}

/* The same for the URI attributes of a tag, quoted or not. */
static inline int cff_references_in_tag(const uint8_t *line, int length) {
  int found = 0;
  for (int i = 0; i + 4 < length; i++) {
    if (memcmp(line + i, "URI=", 4)) continue;
    const int is_quoted = line[i + 4] == '"', begin = i + 4 + is_quoted;
    int end = begin;
    while (end < length && line[end] != (is_quoted ? '"' : ',')) end += 1 + (is_quoted && line[end] == '\\');
    found |= cff_reference(line + begin, FFMIN(end, length) - begin);
  }
  return found;
}

typedef struct {
  int segments, variants, subtitles;
  /* Of the addresses that the demuxer opens. */
  int references;
  /* Estimated memory of the segments; their structures and the allocations' padding take 256 bytes each. */
  int64_t bytes;
  /* Nonzero if the interrupt callback ended the reading. */
  int is_cancelled;
} cff_playlist_content;

static inline int cff_is_interrupted(const AVIOInterruptCB *interrupt) {
  return interrupt->callback && interrupt->callback(interrupt->opaque);
}

/* Splits lines as libavformat's demuxer does. `base` is the length of the URL that others are relative to. A playlist at
 * the limit above has millions of lines, so the callback is called every thousand of them. */
static inline cff_playlist_content cff_read_playlist(const uint8_t *text, int size, int base,
                                                     const AVIOInterruptCB *interrupt) {
  cff_playlist_content content = {0};
  int is_announced = 0, key = 0, lines = 0;
  for (int begin = 0, end; begin < size; begin = end + 1) {
    if (++lines % 1024 == 0 && cff_is_interrupted(interrupt)) {
      content.is_cancelled = 1;
      break;
    }
    for (end = begin; end < size && text[end] != '\n' && text[end] != '\r' && text[end]; end++) {
    }
    const uint8_t *line = text + begin;
    int length = end - begin;
    while (length > 0 && av_isspace(line[length - 1])) length--;
    const int is_segment = is_announced && length > 0 && line[0] != '#';
    if (length > 0 && line[0] != '#') content.references |= cff_reference(line, length);
    if (cff_line_begins(line, length, "#EXT-X-KEY:") || cff_line_begins(line, length, "#EXT-X-MAP:") ||
        cff_line_begins(line, length, "#EXT-X-MEDIA:"))
      content.references |= cff_references_in_tag(line, length);
    if (cff_line_begins(line, length, "#EXT-X-STREAM-INF:")) content.variants++;
    else if (cff_line_begins(line, length, "#EXT-X-MEDIA:")) {
      content.variants++;
      content.subtitles += av_strnstr((const char *)line, "TYPE=SUBTITLES", length) != NULL;
    }
    else if (cff_line_begins(line, length, "#EXT-X-KEY:")) key = cff_url_size(line, length, base);
    else if (cff_line_begins(line, length, "#EXTINF:")) is_announced = 1;
    if (!is_segment && !cff_line_begins(line, length, "#EXT-X-MAP:")) continue;
    content.bytes += 256 + key + cff_url_size(line, length, base);
    if (!is_segment) continue;
    content.segments++;
    is_announced = 0;
  }
  return content;
}

/* Reads a playlist completely: one whose transfer breaks off would be played as a live stream. Refuses one of a server
 * that refers to local files, one of an https server that refers to http, one inside an address of another, one beyond
 * the limits above, and one without segments that another playlist refers to: FFmpeg 5.1 crashes on the latter, because it
 * reads from a demuxer that is not open. Nested master playlists have the same effect, because their contents are
 * checked too late. */
static inline int cff_check_playlist(AVIOContext *input, cff_open_policy *policy, const char *url, int is_led_to,
                                     const AVIOInterruptCB *interrupt) {
  static const char head[] = "#EXTM3U";
  int room = 64 << 10, count = 0, got, status;
  int is_revised = 0;
  uint8_t *text = av_malloc(room);
  if (!text) return AVERROR(ENOMEM);
  if ((got = avio_read(input, text, sizeof head - 1)) > 0) count = got;
  const int is_playlist = count == sizeof head - 1 && !memcmp(text, head, count);
  while (is_playlist && count < cff_longest_playlist && (got = avio_read(input, text + count, room - count)) > 0) {
    count += got;
    if (count < room || count >= cff_longest_playlist) continue;
    uint8_t *more = av_realloc(text, room *= 2);
    if (!more) {
      av_free(text);
      return AVERROR(ENOMEM);
    }
    text = more;
  }
  if (is_playlist && got < 0 && got != AVERROR_EOF) {
    av_free(text);
    /* A live playlist that is reloaded during playback: `DemuxContext` continues, and libavformat reloads it again. */
    return policy->left < 0 && got != AVERROR_EXIT ? AVERROR(EAGAIN) : got;
  }
  if (is_playlist) {
    const cff_web_place *place = input->av_class == &cff_web_class ? (const cff_web_place *)input->opaque : NULL;
    const char *location = place ? place->location : url;
    const cff_playlist_content content = cff_read_playlist(text, count, (int)strcspn(location, "?#"), interrupt);
    if (content.is_cancelled) {
      av_free(text);
      return AVERROR_EXIT;
    }
    const int is_hollow = !content.segments || content.variants;
    policy->has_subtitles |= content.subtitles > 0;
    if (content.references & cff_refers_to_http && av_stristart(location, "https:", NULL)) {
      policy->refusal = cff_refused_downgrade;
      av_free(text);
      return AVERROR(EPERM);
    }
    const int64_t bytes = content.bytes + (policy->left < 0 ? 0 : policy->playlist_bytes);
    if (count >= cff_longest_playlist || content.variants > cff_max_variants || bytes > cff_max_playlist_bytes ||
        (is_hollow && is_led_to) || (is_led_to && av_stristart(url, "data:", NULL)) ||
        (content.references & cff_refers_to_file && cff_is_web(location))) {
      av_free(text);
      return AVERROR_INVALIDDATA;
    }
    if (policy->left >= 0) policy->playlist_bytes = bytes;
    uint8_t *other = NULL;
    const int length =
      !is_hollow && policy->revise ? policy->revise(policy->owner, url, location, text, count, &other) : 0;
    if (length > 0) {
      av_free(text);
      text = other;
      count = length;
      is_revised = 1;
    }
  }
  status = cff_put_back(input, text, count);
  /* The buffer holds the complete input. Probing rewinds it by the distance from its end. */
  if (is_revised) input->pos = input->buf_end - input->buf_ptr;
  av_free(text);
  return status;
}

/* `is_first` is nonzero for the input itself, whose format may be unknown yet. */
static inline int cff_check_opened(AVFormatContext *context, AVIOContext **input, const char *url, int is_first,
                                   int is_led_to) {
  if (context->iformat ? strcmp(context->iformat->name, "hls") : !is_first) return 0;
  const AVIOInterruptCB *interrupt = &context->interrupt_callback;
  int status = cff_check_playlist(*input, (cff_open_policy *)context->opaque, url, is_led_to, interrupt);
  /* libavformat parses the text without checking for cancellation. */
  if (status >= 0 && cff_is_interrupted(interrupt)) status = AVERROR_EXIT;
  if (status < 0) {
    context->io_close2(context, *input);
    *input = NULL;
  }
  return status;
}

/* Requests a playlist twice if its transfer breaks off. A seekable input has already resumed it. */
static inline int cff_open_web(AVFormatContext *context, AVIOContext **input, const char *url, AVDictionary *options,
                               int is_first, int is_led_to) {
  const cff_open_policy *policy = (const cff_open_policy *)context->opaque;
  for (int is_second = 0;; is_second = 1) {
    int status = policy->web(policy->owner, url, policy->left >= 0, options, input);
    if (status < 0) return status;
    /* Otherwise libavformat would close it as its own. */
    if (is_first) context->flags |= AVFMT_FLAG_CUSTOM_IO;
    const int is_seekable = (*input)->seekable;
    status = cff_check_opened(context, input, url, is_first, is_led_to);
    if (status >= 0 || status == AVERROR_INVALIDDATA || status == AVERROR(EPERM) || is_seekable || is_second)
      return status;
    if (policy->failed) policy->failed(policy->owner, url, 0);
  }
}

static inline int cff_open_by_policy(AVFormatContext *context, AVIOContext **input, const char *url, int flags,
                                     AVDictionary **options) {
  cff_open_policy *policy = (cff_open_policy *)context->opaque;
  AVDictionary *own = NULL;
  AVDictionary **all = options ? options : &own;
  /* The first open is the user-provided URL; a playlist may contain its own URL. */
  const int is_first = !context->pb && context->url && !strcmp(url, context->url);
  const int is_led_to = !is_first || policy->is_led_to;
  if (policy->left == 0) {
    policy->refusal = cff_refused_count;
    return AVERROR(EMLINK);
  }
  if (policy->left > 0) policy->left--;
  if (!is_first && policy->left >= 0 && policy->leads_to) policy->leads_to(policy->owner, url);
  if (policy->web && cff_is_web(url)) {
    const int status = cff_open_web(context, input, url, *all, is_first, is_led_to);
    av_dict_free(&own);
    return status;
  }
  /* The default is 0 in FFmpeg 5.1 and 7.1, and 1 in 9. */
  av_dict_set(all, "tls_verify", policy->verifies ? "1" : "0", 0);
  if (policy->verifies && policy->authorities) av_dict_set(all, "ca_file", policy->authorities, 0);
  int status = is_led_to || policy->regular_only ? cff_open_regular(policy, context, input, url, flags, all)
                                                 : policy->open(context, input, url, flags, all);
  av_dict_free(&own);
  return status < 0 ? status : cff_check_opened(context, input, url, is_first, is_led_to);
}

static inline int cff_guarded_open(AVFormatContext *context, AVIOContext **input, const char *url, int flags,
                                   AVDictionary **options) {
  const cff_open_policy *policy = (const cff_open_policy *)context->opaque;
  const int status = cff_open_by_policy(context, input, url, flags, options);
  if (status < 0 && policy->failed) policy->failed(policy->owner, url, status);
  return status;
}

static inline int cff_guarded_close(AVFormatContext *context, AVIOContext *input) {
  cff_open_policy *policy = (cff_open_policy *)context->opaque;
  if (policy->close_web && policy->close_web(policy->owner, input)) return 0;
  return policy->close(context, input);
}

static inline void cff_guard_opens(AVFormatContext *context, cff_open_policy *policy) {
  policy->open = context->io_open;
  context->opaque = policy;
  context->io_open = cff_guarded_open;
  policy->close = context->io_close2;
  context->io_close2 = cff_guarded_close;
}
