import Foundation
import Testing

/// External measurement of one run of a player by Tools/meter.
struct MeterRun {
    static let meter = Program.root.appending(path: "Tools/meter/meter").path

    let json: [String: Any]

    /// Runs a player on a private X server.
    ///
    /// - Parameters:
    ///   - options: of `meter run`, such as another audio recorder.
    ///   - player: the command; `{clip}` in it is replaced by the clip.
    init(
        of clip: String, _ options: [String] = [], environment: [String: String] = [:], player: [String]
    ) throws {
        let scratch = try Scratch()
        let report = scratch.path("report.json")
        let result = try Program.run(
            Self.meter, ["run", "--clip", clip, "--json", report] + options + ["--"] + player,
            environment: environment, atMost: 120)
        try #require(result.status == 0, "\(result.output)\(result.errors)")
        let any = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: report)))
        json = try #require(any as? [String: Any])
        try #require(number("exit") == 0, "\(result.output)\(result.errors)")
    }

    func number(_ keys: String...) -> Double? {
        var value: Any? = json
        for key in keys { value = (value as? [String: Any])?[key] }
        return value as? Double ?? (value as? Int).map(Double.init)
    }

    /// Audio minus video in milliseconds, the numbers of detected events and frames, and disturbances of the machine.
    var figure: String {
        func text(_ keys: String...) -> String {
            var value: Any? = json
            for key in keys { value = (value as? [String: Any])?[key] }
            return (value as? Double).map { String(format: "%+.2f", $0) } ?? "nothing"
        }
        func count(_ one: String, _ other: String) -> String {
            number(one, other).map { String(Int($0)) } ?? "?"
        }
        return "sound minus picture: median \(text("offset_ms", "median")) ms, p5 \(text("offset_ms", "p5")), "
            + "p95 \(text("offset_ms", "p95")); \(count("events", "heard")) of \(count("events", "expected")) beeps, "
            + "\(count("frames", "shown")) of \(count("frames", "expected")) pictures, "
            + "worst stall \(text("meter", "worst_stall_ms")) ms"
    }

    /// True if the offset's median is within 2 ms and its p5 and p95 within 8 ms (docs/performance.md), every beep was
    /// recorded, and no frame was dropped.
    var isWhole: Bool {
        guard let median = number("offset_ms", "median"), let low = number("offset_ms", "p5"),
            let high = number("offset_ms", "p95"), let heard = number("events", "heard"),
            let expected = number("events", "expected"), let dropped = number("frames", "dropped")
        else { return false }
        return abs(median) <= 2 && low >= -8 && high <= 8 && heard == expected && dropped == 0
    }
}
