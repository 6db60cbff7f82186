internal import CFFmpeg

/// A chain of libavfilter filters from a source to a sink. Owned and called by one thread.
final class FilterGraph {
    /// A filter's name and its libavfilter options.
    struct Step {
        var name: String
        var settings: String?
    }

    private let library: FilterLibrary
    private var graph: UnsafeMutablePointer<AVFilterGraph>?
    private var input: UnsafeMutablePointer<AVFilterContext>?
    private var output: UnsafeMutablePointer<AVFilterContext>?

    /// Returns nil if libavfilter is missing, lacks a filter, or rejects an option. The
    /// graph has no threads of its own.
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

    /// Sends a frame; nil ends the input.
    ///
    /// - Parameter keeps: Whether the caller keeps its reference; otherwise the frame is empty after success.
    /// - Returns: False if the frame was rejected.
    @discardableResult
    func push(_ frame: UnsafeMutablePointer<AVFrame>?, keeps: Bool = false) -> Bool {
        library.push(input, frame, keeps ? Int32(AV_BUFFERSRC_FLAG_KEEP_REF) : 0) >= 0
    }

    /// Receives a frame into an empty one. Returns false if none is ready.
    func pull(into frame: UnsafeMutablePointer<AVFrame>) -> Bool { library.pull(output, frame) >= 0 }
}
