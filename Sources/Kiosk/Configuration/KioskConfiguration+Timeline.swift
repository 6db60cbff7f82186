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

}

extension KioskConfiguration.Timeline {
    /// Reads the table: `file`, `max_size`, `max_age`, `keep`. Nil if it is absent or has no valid file.
    init?(_ reader: inout TableReader, folder: String) {
        let expected = "a table, [timeline] with file = \"timeline.jsonl\""
        guard var inner = reader.inside("timeline", expected: expected) else { return nil }
        let file = inner.value("file") { value throws(ValueError) in
            guard case .string(let text) = value, !text.isEmpty, !text.contains("://") else {
                throw ValueError("expected the name of a file")
            }
            return KioskConfiguration.DaySettings.absolute(text, in: folder)
        }
        if inner.table["file"] == nil {
            inner.addMistake(inner.table.line, "a timeline needs file, such as file = \"timeline.jsonl\"")
        }
        self.init(file: file ?? "")
        inner.read("max_size", into: &rotation.maxSize) { value throws(ValueError) in
            switch value {
            case .integer(let bytes): return try TimelineRotation.size(parsing: "\(bytes)")
            case .string(let text): return try TimelineRotation.size(parsing: text)
            default: throw TimelineRotation.sizeError
            }
        }
        inner.read("max_age", into: &rotation.maxAge) { value throws(ValueError) in
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
        }
        if let node = inner.table["max_age"], case .integer(let seconds) = node.value {
            inner.addRemark(
                node.line,
                "max_age: a number without a unit is in seconds, here \(seconds); write \"24:00:00\" for a day")
        }
        inner.read("keep", into: &rotation.keep) { value throws(ValueError) in
            guard case .integer(let number) = value, number > 0 else {
                throw ValueError("1 to 99 older files can be kept")
            }
            return try TimelineRotation.fileCount(Int(clamping: number))
        }
        reader.finish(inner)
        if file == nil { return nil }
    }
}
