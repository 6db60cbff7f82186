import Foundation
import MediaCore
import TalkieTestKit
import Testing

@testable import Storage
@testable import TalkieApp

@Suite struct ResumePositionStoreTests {
    private let folder = TemporaryFolder()
    private var state: StateFolder { StateFolder(path: folder.path("state")) }
    private var places: ResumePositionStore { ResumePositionStore(state) }

    private func film(_ number: Int) throws -> FilmKey {
        try #require(FilmKey(kept: Hexadecimal.text(withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) })))
    }

    private func seconds(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: 1) }

    @Test func theLastThousandAreKeptAndTheFileIsItsOwners() throws {
        for number in 1...(ResumePositionStore.maxFilms + 5) {
            // Only the last few are written one by one, because a thousand writes are slow.
            if number == ResumePositionStore.maxFilms - 5 { try preload(number) }
            if number >= ResumePositionStore.maxFilms - 5 { try places.store(seconds(604_000), of: film(number)) }
        }
        let (entries, note) = places.read()
        #expect(note == nil && entries.count == ResumePositionStore.maxFilms)
        #expect(try entries.first?.film == film(6) && entries.last?.film == film(1005))
        let attributes = try FileManager.default.attributesOfItem(atPath: state.path + "/film-places")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try #require(attributes[.size] as? Int) < StateFolder.fileLimit)
    }

    /// Writes a file with all entries before a number.
    private func preload(_ number: Int) throws {
        var record = StateRecord(kind: "film-places", version: 1)
        for earlier in 1..<number { record["film-\(earlier - 1)"] = "\(try film(earlier).text) 604000000" }
        try state.write("film-places", record.encoded())
    }

    @Test func howAFilmWasPlayedIsKeptBesideItsPlaceWhereEarlierVersionsDoNotLook() throws {
        let settings = ["aid": "2", "language:alsa:hdmi:CARD=PCH,DEV=0": "de,en", "odd name%": "a b\nc"]
        try places.store(seconds(10), of: film(1), settings: settings)
        try places.store(seconds(20), of: film(2))
        #expect(places.read().entries.map(\.settings) == [settings, [:]])
        let text = String(decoding: try #require(try state.read("film-places")), as: UTF8.self)
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("film-") }
        #expect(try lines == ["film-0 \(film(1).text) 10000", "film-1 \(film(2).text) 20000"])
        // The newest ones are kept if there are too many.
        for number in 3..<30 {
            try places.store(seconds(10), of: film(number), settings: ["aid": String(repeating: "1", count: 1900)])
        }
        let kept = places.read().entries
        #expect(kept.count == 29 && kept.last?.settings.isEmpty == false && kept.first?.settings.isEmpty == true)
    }

    @Test func aFilmHasOnePlaceUntilItIsForgotten() throws {
        try places.store(seconds(10), of: film(1))
        try places.store(seconds(20), of: film(2))
        try places.store(seconds(30), of: film(1))
        #expect(try places.read().entries.map(\.film) == [film(2), film(1)])
        #expect(places.read().entries.last?.position == seconds(30))
        try places.forget(film(1))
        try places.forget(film(9))
        #expect(try places.read().entries.map(\.film) == [film(2)])
    }

    @Test func aFilmThatWasChangedOrMovedIsAnotherOne() throws {
        let path = folder.write("film", to: "a.mkv")
        let key = try #require(FilmKey(path))
        #expect(FilmKey(folder.path + "/../" + (folder.path as NSString).lastPathComponent + "/a.mkv") == key)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 5)], ofItemAtPath: path)
        let touched = try #require(FilmKey(path))
        #expect(touched != key)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 5)], ofItemAtPath: folder.write("longer film", to: "a.mkv"))
        #expect(FilmKey(path) != touched)
        #expect(FilmKey(folder.write("film", to: "b.mkv")) != key)
    }

    @Test func whatHasNoNameOfItsOwnIsNotKeptNorAnAddressWithAPassword() {
        #expect(FilmKey("-") == nil && FilmKey("/no/such/film") == nil && FilmKey(folder.path) == nil)
        #expect(FilmKey("https://me:secret@host/film.mkv") == nil && FilmKey("https://me@host/film.mkv") == nil)
        #expect(FilmKey("https://host/film.mkv") != nil)
    }

    @Test func neitherNamesNorFoldersAreWritten() throws {
        let key = try #require(FilmKey(folder.write("film", to: "secret.mkv")))
        try places.store(seconds(10), of: key)
        let text = String(decoding: try #require(try state.read("film-places")), as: UTF8.self)
        #expect(!text.contains("secret") && text.contains(key.text))
    }

    @Test func aDamagedFileIsSetAsideAndANewerOneIsLeftAlone() throws {
        try places.store(seconds(10), of: film(1))
        try state.write("film-places", Array("talkie film-places 1\nrubbish".utf8))
        let (entries, note) = places.read()
        #expect(entries.isEmpty && note?.contains("film-places.damaged") == true)
        let newer = Array("talkie film-places 2\n{}\n".utf8)
        try state.write("film-places", newer)
        #expect(throws: StateError.self) { try places.store(seconds(10), of: film(1)) }
        #expect(try state.read("film-places") == newer)
    }
}
