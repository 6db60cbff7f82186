import Glibc
import MediaCore
import Testing

@testable import MediaFiles
@testable import TalkieTestKit

/// A file that ends before the length in its header is reported as incomplete, not as ended.
@Suite struct IncompleteFileTests {
    private let folder = TemporaryFolder()

    private static let codecs = [
        "mp4": "-c:v libx264 -g 25 -c:a aac -movflags +faststart", "mkv": "-c:v libx264 -g 25 -c:a aac",
        "wav": "-c:a pcm_s16le -vn", "flv": "-c:v libx264 -g 25 -c:a aac -ar 44100 -flvflags add_keyframe_index",
        "avi": "-c:v libx264 -g 25 -c:a libmp3lame", "wmv": "-c:v wmv2 -g 25 -c:a wmav2",
    ]

    private func clip(_ ending: String) throws -> [UInt8] {
        try TestClips.bytes(
            of: try TestClips.flashAndBeep("incomplete." + ending, Self.codecs[ending] ?? "", seconds: 12))
    }

    /// Reads a track; returns the end of its samples, and the error that ended reading.
    private func read(_ reader: any SampleSource) -> (end: MediaTime?, error: MediaError?) {
        var end: MediaTime?
        do {
            while let buffer = try reader.read() { end = max(end ?? .zero, buffer.end ?? .zero) }
        } catch { return (end, error) }
        return (end, nil)
    }

    @Test(arguments: ["mp4", "mkv", "wav", "flv", "avi", "wmv"])
    func aTruncatedFileEndsWithAFailureBehindItsLastSample(_ ending: String) throws {
        let bytes = try clip(ending)
        for (share, isWhole) in [(45, false), (100, true)] {
            let path = try folder.write(Array(bytes.prefix(bytes.count * share / 100)), to: "film." + ending)
            let film = try MediaFile.open(path)
            for track in film.summary.tracks {
                let reader = try film.reader(for: track)
                let (end, error) = read(reader)
                #expect(
                    error?.code == (isWhole ? nil : .incomplete),
                    "\(track.kind) of \(share) %: \(String(describing: error))")
                let seconds = try #require(end).seconds
                // An AVI without its index is read by other rules.
                if ending != "avi" { #expect(isWhole ? seconds > 11.5 : seconds < 11.5) }
                // A repeated read has the same result.
                if !isWhole { #expect(read(reader).error?.code == .incomplete) }
            }
            if ["mp4", "mkv"].contains(ending) { #expect(film.summary.isDurationStated) }
        }
    }

    /// The player compares the duration with what was read.
    @Test(arguments: ["flv", "flac", "mp3"]) func aTruncatedFileStatesTheDurationOfTheWhole(_ ending: String) throws {
        let codec = [
            "flv": "-c:v libx264 -g 25 -c:a aac -ar 44100", "flac": "-c:a flac -vn", "mp3": "-c:a libmp3lame -vn",
        ]
        let bytes = try TestClips.bytes(
            of: try TestClips.flashAndBeep("stated." + ending, codec[ending] ?? "", seconds: 12))
        let film = try MediaFile.open(
            try folder.write(Array(bytes.prefix(bytes.count * 45 / 100)), to: "film." + ending))
        #expect(film.summary.isDurationStated)
        #expect(abs(try #require(film.summary.duration).seconds - 12) < 0.2)
    }

    @Test func aFileThatIsTruncatedWhileItIsReadIsReportedAsSuch() throws {
        let bytes = try clip("mp4")
        let path = try folder.write(bytes, to: "film.mp4")
        let film = try MediaFile.open(path)
        let reader = try film.reader(for: try #require(film.summary.track(.audio)))
        _ = try reader.read()
        truncate(path, bytes.count * 45 / 100)
        #expect(read(reader).error?.code == .truncated)
    }

    @Test func theLengthOfAContainerIsReadFromItsFirstBytes() {
        func matroska(_ size: [UInt8]) -> Int64? {
            ContainerLength.end(statedBy: ([0x1A, 0x45, 0xDF, 0xA3, 0x81, 0, 0x18, 0x53, 0x80, 0x67] + size)[...])
        }
        #expect(matroska([0x84]) == 15)
        #expect(matroska([0x01, 0, 0, 0, 0, 0, 1, 0]) == 274)
        // Unknown, truncated, and larger than any file.
        #expect(matroska([0xFF]) == nil && matroska([0x01, 255, 255, 255, 255, 255, 255, 255]) == nil)
        #expect(matroska([0x01, 255, 255, 255, 255, 255, 255, 254]) == nil)
        #expect(matroska([]) == nil && matroska([0]) == nil && matroska([0x08, 1]) == nil)
        func riff(_ size: UInt32) -> Int64? {
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: size >> (8 * $0)) }
            return ContainerLength.end(statedBy: (Array("RIFF".utf8) + bytes + Array("WAVE".utf8))[...])
        }
        // Programs count from byte 0, or a byte of padding that is not there.
        #expect(riff(100) == 100)
        #expect(riff(0) == nil && riff(.max) == nil && riff(0x7FFF_FFFF) == nil)
        #expect(ContainerLength.end(statedBy: []) == nil)
        func asf(_ size: [UInt8], isBroadcast: Bool = false) -> Int64? {
            let properties: [UInt8] = [
                0xA1, 0xDC, 0xAB, 0x8C, 0x47, 0xA9, 0xCF, 0x11, 0x8E, 0xE4, 0, 0xC0, 0x0C, 0x20, 0x53, 0x65,
            ]
            let header: [UInt8] = [
                0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0, 0xAA, 0, 0x62, 0xCE, 0x6C,
            ]
            let rest = [UInt8](repeating: 0, count: 40) + [isBroadcast ? 1 : 2] + [UInt8](repeating: 0, count: 15)
            return ContainerLength.end(
                statedBy: (header + [UInt8](repeating: 0, count: 14) + properties + [UInt8](repeating: 0, count: 24)
                    + size + rest)[...])
        }
        #expect(asf([0, 1, 0, 0, 0, 0, 0, 0]) == 256)
        #expect(asf([0, 1, 0, 0, 0, 0, 0, 0], isBroadcast: true) == nil)
        #expect(asf([UInt8](repeating: 255, count: 8)) == nil && asf([UInt8](repeating: 0, count: 8)) == nil)
    }

    /// A track of another film, if all tracks share one reader.
    @Test func anUnknownTrackIsRefused() throws {
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        _ = try folder.write(try clip("mp4"), to: "film.mp4")
        let film = try MediaFile.open(server.url("whole/film.mp4"))
        #expect(film.summary.sharesReader)
        var track = try #require(film.summary.track(.audio))
        track.id = 77
        #expect(throws: MediaError.self) { try film.reader(for: track) }
    }

    /// The seek reads to the end of a server's data; ranges are not supported.
    @Test func aSeekBehindTheEndOfATruncatedFileIsNotItsEnd() throws {
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let bytes = try clip("mp4")
        let cases: [(Int, MediaError.Code?)] = [(45, .incomplete), (100, nil)]
        for (share, code) in cases {
            let name = "film\(share).mp4"
            _ = try folder.write(Array(bytes.prefix(bytes.count * share / 100)), to: name)
            let film = try MediaFile.open(server.url("whole/" + name))
            #expect(film.summary.sharesReader && film.summary.isSeekable)
            let readers = try film.summary.tracks.map { try film.reader(for: $0) }
            for reader in readers { try reader.seek(to: MediaTime(value: 100, timescale: 1), mode: .exact) }
            for reader in readers { #expect(read(reader).error?.code == code) }
        }
    }

    @Test func aServerThatEndsBeforeItsContentLengthIsAFailure() throws {
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        _ = try folder.write(try clip("mp4"), to: "film.mp4")
        var options = ReadOptions()
        options.readTimeout = .seconds(3)
        let film = try MediaFile.open(server.url("short/film.mp4"), options: options)
        let (end, error) = read(try film.reader(for: try #require(film.summary.track(.audio))))
        #expect(try #require(error).code != .cancelled)
        #expect(try #require(end).seconds < 10)
    }
}
