#pragma once
#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavformat/avformat.h>
#include <libavutil/aes.h>
#include <libavutil/avstring.h>
#include <libavutil/avutil.h>
#include <libavutil/base64.h>
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
#include <libavutil/downmix_info.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/imgutils.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/md5.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/replaygain.h>
#include <libavutil/sha.h>
#include <libavutil/tx.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "open_policy.h"

/* Function-like and compound macros, which Swift does not import. */
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

/* av_log is variadic; only its level is needed. */
static inline void cff_log_silence(void) { av_log_set_level(AV_LOG_QUIET); }

/* A compound literal macro. */
static inline AVRational cff_microseconds(void) { return AV_TIME_BASE_Q; }

/* Returns stream-level side data of a type. FFmpeg 6.1 moved it; FFmpeg 8 removed the old function. */
static inline const uint8_t *cff_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type, size_t *size) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)
  const AVPacketSideData *found =
      av_packet_side_data_get(stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, type);
  if (found) *size = found->size;
  return found ? found->data : NULL;
#else
  return av_stream_get_side_data(stream, type, size);
#endif
}

/* Properties of a decoded frame. FFmpeg 6 and 6.1 moved them; FFmpeg 8 removed the old fields. */
static inline int64_t cff_frame_duration(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  return frame->duration;
#else
  return frame->pkt_duration;
#endif
}

static inline int cff_frame_is_key(const AVFrame *frame) {
#ifdef AV_FRAME_FLAG_KEY
  return (frame->flags & AV_FRAME_FLAG_KEY) != 0;
#else
  return frame->key_frame;
#endif
}

static inline int cff_frame_is_interlaced(const AVFrame *frame) {
#ifdef AV_FRAME_FLAG_INTERLACED
  return (frame->flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
  return frame->interlaced_frame;
#endif
}

/* An opaque type before FFmpeg 7, a structure since; the constants changed their type. */
typedef __typeof__(sws_alloc_context()) cff_scaler;
static const int cff_scale_nearest = SWS_POINT;
static const int cff_scale_bilinear = SWS_BILINEAR;
static const int cff_scale_bicubic = SWS_BICUBIC;
static const int cff_scale_lanczos = SWS_LANCZOS;

/* memfd_create(2), which glibc declares only with _GNU_SOURCE. 1 is MFD_CLOEXEC. */
static inline int cff_memory_file(void) { return (int)syscall(SYS_memfd_create, "authorities", 1); }

/* libavfilter is loaded on demand (FilterLibrary.swift). The types take its function signatures from the headers. */
typedef __typeof__(&avfilter_graph_free) cff_avfilter_graph_free;
typedef __typeof__(&avfilter_get_by_name) cff_avfilter_get_by_name;
typedef __typeof__(&avfilter_graph_create_filter) cff_avfilter_graph_create_filter;
typedef __typeof__(&avfilter_link) cff_avfilter_link;
typedef __typeof__(&avfilter_graph_config) cff_avfilter_graph_config;
typedef __typeof__(&av_buffersrc_add_frame_flags) cff_av_buffersrc_add_frame_flags;
typedef __typeof__(&av_buffersink_get_frame) cff_av_buffersink_get_frame;
typedef __typeof__(&avfilter_graph_alloc) cff_avfilter_graph_alloc;

