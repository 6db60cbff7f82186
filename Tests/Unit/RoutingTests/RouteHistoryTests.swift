import Foundation
import Routing
import Storage
import Testing

@Suite struct RouteHistoryTests {
    private let path = FileManager.default.temporaryDirectory.appendingPathComponent("history-\(UUID())").path
    private var history: RouteHistory { RouteHistory(StateFolder(path: path)) }
    private let series = RouteHistory.folder(of: "/films/series/1.mkv")

    private func record(_ routes: String..., folder: UInt64, hour: Int, minutes: Int?) throws {
        try history.append(RouteHistory.Entry(folder: folder, hour: hour, minutes: minutes, routes: routes))
    }

    @Test func nothingIsLikelyBeforeAnythingWasPlayed() {
        #expect(history.likely(folder: series, hour: 20, minutes: 45).routes == nil)
    }

    @Test func theSameFolderSpeaksLoudestThenTheHourAndTheLength() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try record("Kitchen", folder: series, hour: 20, minutes: 45)
        try record("local", folder: 7, hour: 9, minutes: 3)
        #expect(history.likely(folder: series, hour: 10, minutes: 120).routes == ["Kitchen"])
        #expect(history.likely(folder: 99, hour: 21, minutes: 50).routes == ["Kitchen"], "the hour and the length")
        #expect(history.likely(folder: 99, hour: 8, minutes: 5).routes == ["local"])
        #expect(history.likely(folder: 99, hour: 15, minutes: 120).routes == nil, "too little is known")
        #expect(history.likely(folder: 99, hour: 22, minutes: 50).routes == ["Kitchen"])
    }

    @Test func whatIsLongerAgoSpeaksMoreSoftly() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        for _ in 0..<2 { try record("Kitchen", folder: series, hour: 20, minutes: 45) }
        for _ in 0..<2 { try record("Living room", "local", folder: series, hour: 20, minutes: 45) }
        #expect(history.likely(folder: series, hour: 20, minutes: 45).routes == ["Living room", "local"])
    }

    @Test func whatWasHeardInManyPlacesIsKeptForAsLongAsThereIsRoom() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let places = (0..<16).map { "sink-" + String(repeating: "x", count: 45) + String($0) }
        for hour in 0..<40 {
            #expect(try history.append(.init(folder: 1, hour: hour % 24, minutes: 90, routes: places)) == nil)
        }
        let (entries, note) = history.read()
        #expect(note == nil && entries.count > 30 && entries.last?.hour == 15)
    }

    @Test func midnightIsNoWall() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try record("Bed", folder: 1, hour: 23, minutes: 30)
        #expect(history.likely(folder: 2, hour: 0, minutes: 30).routes == ["Bed"])
    }

    @Test func onlyTheNewestAreKeptAndStrangeNamesSurvive() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        for number in 0..<(RouteHistory.maxEntries + 5) {
            try record("name:Küche, \(number)\n", folder: 1, hour: 1, minutes: nil)
        }
        #expect(history.read().entries.count == RouteHistory.maxEntries)
        #expect(history.read().entries.last?.routes == ["name:Küche, \(RouteHistory.maxEntries + 4)\n"])
        #expect(history.read().entries.last?.minutes == nil)
    }

    @Test func aDamagedFileIsNothingKnown() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try record("Kitchen", folder: 1, hour: 1, minutes: 1)
        try Data([0, 1, 2, 255]).write(to: URL(fileURLWithPath: path + "/route-habits"))
        #expect(history.read().entries.isEmpty)
        try record("local", folder: 1, hour: 1, minutes: 1)
        #expect(history.read().entries.count == 1)
    }

    @Test func filmsOfOneFolderAndOfOneAddressAreTheSamePlace() {
        #expect(RouteHistory.folder(of: "/a/b/1.mkv") == RouteHistory.folder(of: "/a/b/2.mkv"))
        #expect(RouteHistory.folder(of: "/a/b/1.mkv") != RouteHistory.folder(of: "/a/c/1.mkv"))
        #expect(RouteHistory.folder(of: "1.mkv") == RouteHistory.folder(of: "2.mkv"))
        #expect(RouteHistory.folder(of: "https://host/x/1") == RouteHistory.folder(of: "https://host/x/2"))
    }
}
