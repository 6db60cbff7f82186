internal import MediaCore

@testable import Telemetry

/// Parses a timeline file and a speaker's record, and produces their text, results and plot.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTimeline(_ start: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    var reader = LineReader()
    var report = TimelineReport()
    let bytes = UnsafeRawBufferPointer(start: start, count: size)
    // Timeline and speaker's record in one file: each parser ignores the lines of the other.
    var record = HeardRecord()
    var parser = JSONReader()
    reader.feed(bytes) { if let object = parser.read($0) { record.add(object) } }
    record.order()
    if size % 2 == 0 { report.heard = record }
    reader = LineReader()
    reader.feed(bytes) { report.add(line: $0) }
    reader.finish { report.add(lastLine: $0) }
    report.finish()
    precondition(report.routes.count <= TimelineContext.maxRoutes)
    _ = report.text
    _ = report.json.formatted
    var plot = ReportPlot(report)
    precondition(plot.svg().utf8.count < 8 << 20)
    return 0
}
