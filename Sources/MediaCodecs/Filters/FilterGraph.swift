internal import CFFmpeg

/// Filters of libavfilter in a row, from a source of frames to a sink. Owned and called by one thread.
final class FilterGraph {
    /// A filter by name, and its settings as libavfilter writes them.
    struct Step {
        var name: String
        var settings: String?
    }

    private let library: FilterLibrary
    private var graph: UnsafeMutablePointer<AVFilterGraph>?
    private var input: UnsafeMutablePointer<AVFilterContext>?
    private var output: UnsafeMutablePointer<AVFilterContext>?

    /// Nil where libavfilter is not installed, has no such filter, or refuses the settings. Works on the thread that calls it alone.
    init?(_ steps: [Step]) {
        guard let library = FilterLibrary.shared else { return nil }
        self.library = library
        guard let graph = library.makeGraph() else { return nil }
        self.graph = graph
        graph.pointee.nb_threads = 1
        for step in steps {
            var made: UnsafeMutablePointer<AVFilterContext>?
            guard library.create(&made, library.find(step.name), nil, step.settings, nil, graph) >= 0, let made else {
                return nil
            }
            if let output, library.link(output, 0, made, 0) < 0 { return nil }
            if input == nil { input = made }
            output = made
        }
        guard library.configure(graph, nil) >= 0 else { return nil }
    }

    deinit { library.freeGraph(&graph) }

    /// Puts a frame in; nil says that no more follows.
    ///
    /// - Parameter keeps: the frame is the caller's still; otherwise it is empty afterwards, if it was taken.
    /// - Returns: false where it was not taken.
    @discardableResult
    func push(_ frame: UnsafeMutablePointer<AVFrame>?, keeps: Bool = false) -> Bool {
        library.push(input, frame, keeps ? Int32(AV_BUFFERSRC_FLAG_KEEP_REF) : 0) >= 0
    }

    /// Takes a frame out, into an empty one; false when nothing is ready.
    func pull(into frame: UnsafeMutablePointer<AVFrame>) -> Bool { library.pull(output, frame) >= 0 }
}
