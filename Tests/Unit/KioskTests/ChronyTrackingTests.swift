import MediaCore
import Testing

@testable import Kiosk

@Suite struct ChronyTrackingTests {
    private func read(_ line: String) -> ChronyTracking? { ChronyTracking(Array(line.utf8)) }

    @Test func aReportIsUnderstoodToTheNanosecond() throws {
        let report = try #require(
            read(
                "CB00710F,192.0.2.15,3,1485510557.123456789,0.000006523,-0.000006747,0.000035822,3.225,-0.000,0.129,"
                    + "0.013639022,0.001100737,64.2,Normal\n"))
        #expect(report.reference == "CB00710F" && report.server == "192.0.2.15" && report.stratum == 3)
        #expect(report.correction == .nanoseconds(6523) && report.measured == 1_485_510_557_123_456_789)
        #expect(report.frequency == 3.225 && report.skew == 0.129)
        #expect(report.uncertainty == .nanoseconds(13_639_022 / 2 + 1_100_737))
        #expect(report.isSynchronised)
    }

    @Test func aClockWithoutASourceIsNotSynchronised() throws {
        let words =
            "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,"
        #expect(try #require(read(words + "Not synchronised")).isSynchronised == false)
        #expect(try #require(read(words + "Normal")).isSynchronised == false, "stratum 0 is nobody")
    }

    @Test(arguments: [
        "", "506 Cannot talk to daemon", "CB00710F,,3", ",,,,,,,,,,,,,", "\u{0}",
        "CB00710F,a,3,1,x,0,0,0,0,0,0,0,0,Normal", "CB00710F,a,99,1,0,0,0,0,0,0,0,0,0,Normal",
        "CB00710F,a,3,1,99999999999999999999,0,0,0,0,0,0,0,0,Normal", "CB00710F,a,3,1,nan,0,0,0,0,0,0,0,0,Normal",
        "CB00710F,a,3,1,-5000000000,0,0,0,0,0,0,0,0,Normal", String(repeating: "A,", count: 3000),
    ]) func whatIsNoReportIsNone(line: String) {
        #expect(read(line) == nil)
    }
}
