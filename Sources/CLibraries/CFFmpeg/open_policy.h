#pragma once
#include <errno.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <string.h>
#include <sys/stat.h>

/* What an input, and what its demuxer opens by itself, is held to. In C because the callback must hand on to the one that it
   replaces. */
typedef enum { cff_refused_nothing, cff_refused_count, cff_refused_downgrade } cff_refusal;

typedef struct {
  /* How many more a demuxer may open; negative for any number. A playlist that contains itself would open inputs for ever. */
  int left;
  /* Whether servers must prove by a certificate who they are. */
  int verifies;
  /* A file of authorities in place of the system's, or NULL. */
  const char *authorities;
  cff_refusal refusal;
  int (*open)(AVFormatContext *, AVIOContext **, const char *, int, AVDictionary **);
} cff_open_policy;

static inline int cff_begins(const char *url, const char *scheme) { return av_strstart(url, scheme, NULL); }

/* Whether an answer that was asked for safely came from an address where anybody could have written it. */
static inline int cff_was_sent_on_in_clear(const char *url, AVIOContext *input) {
  uint8_t *location = NULL;
  if (!cff_begins(url, "https:") && !cff_begins(url, "crypto+https:")) return 0;
  if (av_opt_get(input, "location", AV_OPT_SEARCH_CHILDREN, &location) < 0 || !location) return 0;
  const int is_clear = !cff_begins((const char *)location, "https:");
  av_free(location);
  return is_clear;
}

/* Films lie in ordinary files: opening a device can do something, opening a named pipe can wait for ever, and standard input is
   somebody else's. What is not there is told by whoever opens it. */
static inline int cff_is_ordinary(const char *url) {
  struct stat status;
  while (av_strstart(url, "crypto+", &url) || av_strstart(url, "crypto:", &url)) {
  }
  const char *protocol = avio_find_protocol_name(url);
  if (!protocol || strcmp(protocol, "file")) return !protocol || strcmp(protocol, "pipe");
  av_strstart(url, "file:", &url);
  return stat(url, &status) != 0 || S_ISREG(status.st_mode);
}

/* Puts bytes back before what would be read next (the fields of AVIOContext, libavformat/avio.h). */
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

/* Whether a playlist names segments and no further playlists (RFC 8216, section 4.1: never both), by the lines that libavformat's
   demuxer makes of it. */
static inline int cff_names_segments(const uint8_t *text, int size) {
  int is_announced = 0, count = 0;
  for (int begin = 0, end; begin < size; begin = end + 1) {
    for (end = begin; end < size && text[end] != '\n' && text[end] != '\r' && text[end]; end++) {
    }
    const uint8_t *line = text + begin;
    int length = end - begin;
    while (length > 0 && av_isspace(line[length - 1])) length--;
    if (cff_line_begins(line, length, "#EXT-X-STREAM-INF:") || cff_line_begins(line, length, "#EXT-X-MEDIA:")) return 0;
    if (cff_line_begins(line, length, "#EXTINF:")) is_announced = 1;
    else if (length > 0 && line[0] != '#' && is_announced) count = 1;
  }
  return count;
}

/* A playlist without a segment that another playlist leads to ends a program: FFmpeg 5.1 reads from a demuxer that it has not
   opened. So does one that leads on, because what that leads to is looked at too late. Longer ones are refused as well, because they
   must be read whole: a day of segments of a second takes 9 MB. */
enum { cff_longest_playlist = 64 << 20 };

static inline int cff_refuse_hollow(AVIOContext *input) {
  static const char head[] = "#EXTM3U";
  int room = 64 << 10, count = 0, got, status;
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
  if (is_playlist && (count >= cff_longest_playlist || !cff_names_segments(text, count))) status = AVERROR_INVALIDDATA;
  else status = cff_put_back(input, text, count);
  av_free(text);
  return status;
}

static inline int cff_guarded_open(AVFormatContext *context, AVIOContext **input, const char *url, int flags,
                                   AVDictionary **options) {
  cff_open_policy *policy = (cff_open_policy *)context->opaque;
  AVDictionary *own = NULL;
  AVDictionary **all = options ? options : &own;
  /* Not what a person named, which is opened first; a playlist may name itself. */
  const int is_led_to = context->pb || !context->url || strcmp(url, context->url);
  if (is_led_to && !cff_is_ordinary(url)) return AVERROR_INVALIDDATA;
  if (policy->left == 0) {
    policy->refusal = cff_refused_count;
    return AVERROR(EMLINK);
  }
  if (policy->left > 0) policy->left--;
  if (policy->verifies) {
    /* HTTP keeps what it does not know itself for the TLS below it, also after a redirect and for each new connection. */
    av_dict_set(all, "tls_verify", "1", 0);
    if (policy->authorities) av_dict_set(all, "ca_file", policy->authorities, 0);
  }
  int status = policy->open(context, input, url, flags, all);
  av_dict_free(&own);
  if (status >= 0 && policy->verifies && cff_was_sent_on_in_clear(url, *input)) {
    avio_closep(input);
    policy->refusal = cff_refused_downgrade;
    status = AVERROR(EPERM);
  }
  if (status >= 0 && is_led_to && context->iformat && !strcmp(context->iformat->name, "hls")) {
    status = cff_refuse_hollow(*input);
    if (status < 0) avio_closep(input);
  }
  return status;
}

static inline void cff_guard_opens(AVFormatContext *context, cff_open_policy *policy) {
  policy->open = context->io_open;
  context->opaque = policy;
  context->io_open = cff_guarded_open;
}
