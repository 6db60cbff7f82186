#pragma once
#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/avutil.h>
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
#include <libavutil/downmix_info.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/imgutils.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/replaygain.h>
#include <libavutil/tx.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Function-like macros and compound macros that Swift cannot import. */
static const int64_t cff_nopts_value = AV_NOPTS_VALUE;
static const int cff_error_eof = AVERROR_EOF;
static const int cff_error_again = AVERROR(EAGAIN);
static const int cff_error_invalid_data = AVERROR_INVALIDDATA;
static const int cff_error_exit = AVERROR_EXIT;
static const int cff_error_not_found_decoder = AVERROR_DECODER_NOT_FOUND;
static const int cff_error_stream_not_found = AVERROR_STREAM_NOT_FOUND;
static const int cff_error_http_not_found = AVERROR_HTTP_NOT_FOUND;
static const int cff_error_http_bad_request = AVERROR_HTTP_BAD_REQUEST;
static const int cff_error_http_unauthorized = AVERROR_HTTP_UNAUTHORIZED;
static const int cff_error_http_forbidden = AVERROR_HTTP_FORBIDDEN;
static const int cff_error_http_other_4xx = AVERROR_HTTP_OTHER_4XX;
static const int cff_error_http_server = AVERROR_HTTP_SERVER_ERROR;
static const int cff_error_protocol_not_found = AVERROR_PROTOCOL_NOT_FOUND;
static const int cff_error_demuxer_not_found = AVERROR_DEMUXER_NOT_FOUND;
static inline int cff_error_from_errno(int e) { return AVERROR(e); }

/* av_log is variadic; quietening it is the only thing we want of it. */
static inline void cff_log_silence(void) { av_log_set_level(AV_LOG_QUIET); }

/* A compound literal macro. */
static inline AVRational cff_microseconds(void) { return AV_TIME_BASE_Q; }

/* memfd_create(2), which glibc declares for _GNU_SOURCE only; 1 is MFD_CLOEXEC. */
static inline int cff_memory_file(void) { return (int)syscall(SYS_memfd_create, "authorities", 1); }

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

static inline int cff_guarded_open(AVFormatContext *context, AVIOContext **input, const char *url, int flags,
                                   AVDictionary **options) {
  cff_open_policy *policy = (cff_open_policy *)context->opaque;
  AVDictionary *own = NULL;
  AVDictionary **all = options ? options : &own;
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
  return status;
}

static inline void cff_guard_opens(AVFormatContext *context, cff_open_policy *policy) {
  policy->open = context->io_open;
  context->opaque = policy;
  context->io_open = cff_guarded_open;
}
