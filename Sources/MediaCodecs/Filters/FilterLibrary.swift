internal import CFFmpeg
internal import MediaCore

/// The functions of libavfilter, loaded on first use.
///
/// Debian's libavfilter loads thirty libraries, speech synthesis among them: 12 MB of memory. Few films need a filter.
struct FilterLibrary: Sendable {
    let makeGraph: cff_avfilter_graph_alloc
    let freeGraph: cff_avfilter_graph_free
    let find: cff_avfilter_get_by_name
    let create: cff_avfilter_graph_create_filter
    let link: cff_avfilter_link
    let configure: cff_avfilter_graph_config
    let push: cff_av_buffersrc_add_frame_flags
    let pull: cff_av_buffersink_get_frame

    /// Nil if the library is missing or belongs to another FFmpeg than the decoder. Never unloaded.
    static let shared = FilterLibrary()

    private init?() {
        guard let library = OptionalLibrary("libavfilter.so.\(LIBAVFILTER_VERSION_MAJOR)") else { return nil }
        do {
            makeGraph = try library.function("avfilter_graph_alloc")
            freeGraph = try library.function("avfilter_graph_free")
            self.find = try library.function("avfilter_get_by_name")
            create = try library.function("avfilter_graph_create_filter")
            link = try library.function("avfilter_link")
            configure = try library.function("avfilter_graph_config")
            push = try library.function("av_buffersrc_add_frame_flags")
            pull = try library.function("av_buffersink_get_frame")
        } catch {
            return nil
        }
    }
}
