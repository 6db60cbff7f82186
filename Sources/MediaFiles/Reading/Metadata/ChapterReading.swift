internal import CFFmpeg
internal import MediaCore

/// Reads the chapters of a container, sorted by start.
enum ChapterReading {
    private enum Limit {
        /// The maximum number of chapters; damaged files declare millions.
        static let chapters = 1000
        static let title = 200
    }

    static func chapters(of context: DemuxContext, origin: MediaTime) -> [Chapter] {
        var chapters: [Chapter] = []
        for chapter in context.chapters.prefix(Limit.chapters) {
            let base = chapter.pointee.time_base
            guard
                let start = MediaTime(
                    boundedTicks: chapter.pointee.start, numerator: base.num, timescale: base.den)
            else { continue }
            chapters.append(
                Chapter(
                    start: max(.zero, start - origin),
                    title: DemuxContext.value(of: "title", in: chapter.pointee.metadata).map {
                        String($0.prefix(Limit.title))
                    }))
        }
        return chapters.sorted { $0.start < $1.start }
    }
}
