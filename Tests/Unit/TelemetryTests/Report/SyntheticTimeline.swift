import Foundation
import TalkieTestKit

@testable import Telemetry

/// A timeline file with known offset, drift and faults.
struct SyntheticTimeline {
    private(set) var text = ""
    /// An instant that a Double cannot represent exactly.
    let origin: Int64 = 9_007_199_254_740_993

    func instant(_ seconds: Double) -> Int64 { origin + Int64((seconds * 1e9).rounded()) }

    mutating func add(_ event: String, at seconds: Double, _ members: String = "") {
        text += "{\"event\":\"\(event)\",\"host_ns\":\(instant(seconds))\(members.isEmpty ? "" : "," + members)}\n"
    }

    mutating func head() { add("timeline", at: 0, "\"version\":1,\"program\":\"talkie test\"") }

    mutating func start(at seconds: Double, film: Double = 0, rate: Double = 1, announced: Double? = nil) {
        add("anchor", at: announced ?? seconds, "\"film\":\(film),\"anchor_ns\":\(instant(seconds)),\"rate\":\(rate)")
    }

    mutating func frame(due: Double, lateMs: Double) {
        let presented = instant(due) + Int64((lateMs * 1e6).rounded())
        let members = "\"pts\":0,\"target_ns\":\(instant(due)),\"presented_ns\":\(presented)"
        text += "{\"event\":\"frame\",\"host_ns\":\(presented),\(members)}\n"
    }

    mutating func drift(at seconds: Double, errorMs: Double, route: Int = 0, ppm: Double = 0) {
        add("drift", at: seconds, "\"error\":\(errorMs / 1000),\"ppm\":\(ppm),\"route\":\(route)")
    }

    /// Adds 25 video frames per second, with a record about audio every second.
    mutating func play(from begin: Double, to end: Double, pictureMs: Double, soundMs: (Double) -> Double) {
        for second in Int(begin)..<Int(end) {
            drift(at: Double(second), errorMs: soundMs(Double(second)))
            for index in 0..<25 { frame(due: Double(second) + Double(index) / 25, lateMs: pictureMs) }
        }
        drift(at: end, errorMs: soundMs(end))
    }
}

extension TimelineReport {
    /// Reads text like a file with that content.
    init(text: String) throws {
        let folder = TemporaryFolder()
        try self.init(reading: folder.write(text, to: "t.jsonl"))
    }
}
