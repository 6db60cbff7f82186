internal import MediaCore
internal import Playback
import Telemetry

extension KioskConfiguration {
    /// `[timeline]`: the file of the flight recorder.
    struct Timeline: Sendable, Equatable {
        /// An absolute path.
        var file: String
        /// At most half a gigabyte: about two days of films with a frame rate of 24.
        var rotation = TimelineRotation(maxSize: 64 << 20, maxAge: .seconds(86_400), keep: 7)
    }

    /// Reads `[timeline]`: `file`, `max_size`, `max_age`, `keep`.
    mutating func readTimeline(_ reader: inout TableReader, folder: String) {
        guard let node = reader.node("timeline") else { return }
        guard case .table(let table) = node.value else {
            return reader.addMistake(node.line, "timeline: expected a table, [timeline] with file = \"timeline.jsonl\"")
        }
        var inner = reader.inside(table)
        let file = inner.value("file") { value throws(ValueError) in
            guard case .string(let text) = value, !text.isEmpty, !text.contains("://") else {
                throw ValueError("expected the name of a file")
            }
            return Programme.whole(text, in: folder)
        }
        if table["file"] == nil {
            inner.addMistake(table.line, "a timeline needs file, such as file = \"timeline.jsonl\"")
        }
        var timeline = Timeline(file: file ?? "")
        if let size = inner.value(
            "max_size",
            { value throws(ValueError) in
                switch value {
                case .integer(let bytes): return try TimelineRotation.size(parsing: "\(bytes)")
                case .string(let text): return try TimelineRotation.size(parsing: text)
                default: throw TimelineRotation.sizeError
                }
            })
        {
            timeline.rotation.maxSize = size
        }
        if let age = inner.value(
            "max_age",
            { value throws(ValueError) in
                switch value {
                case .integer(let seconds): return try TimelineRotation.age(seconds: Double(seconds))
                case .string(let text):
                    // ignored: the error that is thrown instead states the valid ages.
                    guard case .fromStart(let time)? = try? FilmPosition(parsing: text) else {
                        throw TimelineRotation.ageError
                    }
                    return try TimelineRotation.age(seconds: time.seconds)
                default: throw TimelineRotation.ageError
                }
            })
        {
            timeline.rotation.maxAge = age
        }
        if let keep = inner.value(
            "keep",
            { value throws(ValueError) in
                guard case .integer(let number) = value else { throw TimelineRotation.keepError }
                return try TimelineRotation.fileCount(Int(clamping: number))
            })
        {
            timeline.rotation.keep = keep
        }
        inner.finish()
        reader.addMistakes(inner.mistakes)
        if file != nil { self.timeline = timeline }
    }
}
