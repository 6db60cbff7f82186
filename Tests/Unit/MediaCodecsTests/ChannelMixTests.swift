import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

@testable import MediaCodecs
@testable import SyncRendering

/// The samples of a film's parts against those of the whole, as an output receives them.
@Suite struct ChannelMixTests {
    private static let rate = 48_000
    /// Front left and right, centre, low frequency, side left and right.
    private static let voices = [400, 600, 900, 60, 1900, 2500]

    private func film(_ layout: String, _ channels: Int, volume: Double = 0.2) throws -> String {
        let tones = Self.voices.prefix(channels).map { "\(volume)*sin(2*PI*\($0)*t)" }.joined(separator: "|")
        return try TestClips.make(
            "part-\(layout)-\(volume).flac",
            ["-f", "lavfi", "-i", "aevalsrc='\(tones)':c=\(layout):s=\(Self.rate):d=1", "-c:a", "flac"])
    }

    /// Returns the interleaved samples that an output of a layout receives of a film.
    private func samples(
        of file: String, _ channels: ChannelSelection = .whole, layout: ChannelLayout = .stereo,
        processing: AudioProcessing = .none
    ) throws -> [Float] {
        let film = try MediaFile.open(file)
        let reader = try film.reader(for: try #require(film.summary.track(.audio)))
        var run = ConversionRun()
        var format: AudioFormat?
        let batch = PacketBatch()
        var (samples, resume) = ([Float](), ResumePoint())
        func receive() throws {
            while let pending = try run.receive(into: batch, until: nil, from: &resume) {
                guard case .block(let block, let offset) = pending else { continue }
                let width = block.format.channels
                samples += UnsafeBufferPointer(
                    start: block.samples + offset * width, count: (block.frames - offset) * width)
            }
        }
        while let buffer = try reader.read() {
            let incoming = buffer.audioFormat(after: format)
            if format == nil {
                try run.begin(
                    ConversionRun.Setup(
                        format: incoming, target: nil, pcm: PCMFormat(sampleRate: Self.rate, layout: layout), speed: 1,
                        processing: processing, channels: channels), codecs: FilmAudioCodecs())
            }
            format = incoming
            try run.converter?.send(buffer)
            try receive()
        }
        run.converter?.finish()
        try receive()
        return samples
    }

    private func channel(_ index: Int, of samples: [Float], _ count: Int = 2) -> [Float] {
        stride(from: index, to: samples.count, by: count).map { samples[$0] }
    }

    @Test(arguments: [("stereo", 2), ("5.1(side)", 6)])
    func leftAndRightAreThoseOfTheMixToStereo(_ layout: String, _ count: Int) throws {
        let film = try film(layout, count)
        let whole = try samples(of: film)
        #expect(whole.count == Self.rate * 2)
        for (index, part) in [ChannelSelection.left, .right].enumerated() {
            let heard = try samples(of: film, part)
            #expect(channel(0, of: heard) == channel(index, of: whole), "each sample at its place")
            #expect(channel(1, of: heard) == channel(0, of: heard), "on both sides")
        }
        let mono = channel(0, of: try samples(of: film, .mono))
        let mean = zip(channel(0, of: whole), channel(1, of: whole)).map { ($0 + $1) / 2 }
        #expect(zip(mono, mean).allSatisfy { abs($0 - $1) < 1e-7 } && mono.count == mean.count)
    }

    @Test func aChannelOfSurroundSoundHasItsOwnLevel() throws {
        let film = try film("5.1(side)", 6)
        let whole = try samples(of: film, layout: .surround51)
        let positions: [ChannelPosition] = [
            .frontLeft, .frontRight, .frontCenter, .lowFrequency, .sideLeft, .sideRight,
        ]
        for (index, position) in positions.enumerated() {
            let heard = try samples(of: film, .position(position))
            #expect(channel(0, of: heard) == channel(index, of: whole, 6), "\(position)")
            #expect(channel(1, of: heard) == channel(0, of: heard))
        }
        #expect(
            try samples(of: film, .position(.backLeft)) == samples(of: film, .position(.sideLeft)),
            "5.1 has one pair of surround channels")
    }

    @Test func aPartIsOnTheFirstTwoChannelsOfAnOutput() throws {
        let film = try film("stereo", 2)
        let left = channel(0, of: try samples(of: film, .left))
        #expect(try samples(of: film, .left, layout: .mono) == left)
        let surround = try samples(of: film, .left, layout: .surround51)
        #expect(channel(0, of: surround, 6) == left && channel(1, of: surround, 6) == left)
        for index in 2..<6 { #expect(channel(index, of: surround, 6).allSatisfy { $0 == 0 }) }
    }

    @Test func aFilmWithoutTheChannelIsHeard() throws {
        let stereo = try film("stereo", 2)
        #expect(try samples(of: stereo, .position(.frontCenter)) == samples(of: stereo, .mono))
        #expect(try samples(of: stereo, .position(.sideRight)) == samples(of: stereo, .right))
        let mono = try film("mono", 1)
        let whole = try samples(of: mono)
        for part in [ChannelSelection.left, .right, .mono, .position(.frontLeft), .position(.frontCenter)] {
            #expect(try samples(of: mono, part) == whole)
        }
    }

    @Test func fullScaleInEveryChannelDoesNotClip() throws {
        let file = try TestClips.make(
            "part-full.flac",
            [
                "-f", "lavfi", "-i",
                "aevalsrc='\([String](repeating: "sin(2*PI*440*t)", count: 6).joined(separator: "|"))'"
                    + ":c=5.1(side):s=\(Self.rate):d=1", "-c:a", "flac",
            ])
        for part in [ChannelSelection.left, .mono, .position(.frontCenter)] {
            let peak = try samples(of: file, part).map(abs).max() ?? 0
            #expect(peak > 0.9 && peak <= 1.0001, "\(part)")
        }
    }

    /// Otherwise the louder side of a stereo pair would be compressed more than the other.
    @Test func nightModeTreatsAllPartsLikeTheWhole() throws {
        let film = try film("stereo", 2, volume: 0.8)
        var processing = AudioProcessing()
        processing.isNight = true
        let whole = try samples(of: film, processing: processing)
        #expect(whole != (try samples(of: film)))
        for (index, part) in [ChannelSelection.left, .right].enumerated() {
            let heard = try samples(of: film, part, processing: processing)
            #expect(channel(0, of: heard) == channel(index, of: whole))
        }
    }

    @Test func anotherLayoutNeedsAnotherConverter() throws {
        let (stereo, surround) = (ChannelLayout.stereo, ChannelLayout.surround51)
        func format(_ layout: ChannelLayout) -> AudioFormat {
            AudioFormat(parameters: CodecParameters(codec: "ac3"), sampleRate: Self.rate, layout: layout)
        }
        func isAdopted(_ channels: ChannelSelection, _ next: ChannelLayout) throws -> Bool {
            var run = ConversionRun()
            try run.begin(
                ConversionRun.Setup(
                    format: format(surround), target: nil, pcm: PCMFormat(sampleRate: Self.rate, layout: .stereo),
                    speed: 1, processing: .none, channels: channels), codecs: FilmAudioCodecs())
            return run.adopt(format(next))
        }
        #expect(try isAdopted(.whole, stereo) && isAdopted(.left, stereo))
        #expect(try isAdopted(.position(.frontCenter), surround) && !isAdopted(.position(.frontCenter), stereo))
    }
}
