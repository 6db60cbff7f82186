internal import CFFmpeg
internal import Glibc

/// The functions of libavfilter, found when the first filter is wanted.
///
/// Debian's libavfilter brings thirty libraries along, speech synthesis among them: 12 MB of memory, for every film. Few films need
/// a filter.
struct FilterLibrary: Sendable {
    let makeGraph: cff_avfilter_graph_alloc
    let freeGraph: cff_avfilter_graph_free
    let find: cff_avfilter_get_by_name
    let create: cff_avfilter_graph_create_filter
    let link: cff_avfilter_link
    let configure: cff_avfilter_graph_config
    let push: cff_av_buffersrc_add_frame_flags
    let pull: cff_av_buffersink_get_frame

    /// Nil where the library is not installed, or is of another FFmpeg than the one that decodes. Stays loaded.
    static let shared = FilterLibrary()

    private init?() {
        guard let library = dlopen("libavfilter.so.\(LIBAVFILTER_VERSION_MAJOR)", RTLD_NOW | RTLD_LOCAL) else {
            return nil
        }
        struct Absent: Error {}
        func find<Function>(_ name: String) throws -> Function {
            guard let address = dlsym(library, name) else { throw Absent() }
            return unsafeBitCast(address, to: Function.self)
        }
        do {
            makeGraph = try find("avfilter_graph_alloc")
            freeGraph = try find("avfilter_graph_free")
            self.find = try find("avfilter_get_by_name")
            create = try find("avfilter_graph_create_filter")
            link = try find("avfilter_link")
            configure = try find("avfilter_graph_config")
            push = try find("av_buffersrc_add_frame_flags")
            pull = try find("av_buffersink_get_frame")
        } catch {
            return nil
        }
    }
}
