internal import Glibc
internal import MediaCodecs
package import MediaCore
internal import MediaFiles
internal import SyncRendering

/// One long tone, cut at arbitrary samples into files of different codecs and rates, and played as one.
///
/// Lost, repeated or displaced audio at a gapless boundary is visible as a phase step.
package struct SinePieces {
    /// A section of the tone in one file.
    package struct Piece: Sendable {
        /// The codec and its options for `ffmpeg`.
        package var codec: String
        /// The extension of the file, which selects the container.
        package var ending: String
        /// Frames per second.
        package var rate: Int
        /// The number of frames.
        package var frames: Int
        /// The channel layout by FFmpeg's name.
        package var channels: String

        package init(_ codec: String, _ ending: String, rate: Int, frames: Int, channels: String = "stereo") {
            (self.codec, self.ending, self.rate, self.frames, self.channels) = (codec, ending, rate, frames, channels)
        }

        /// Returns a section in AAC.
        package static func aac(_ rate: Int, _ frames: Int) -> Piece {
            Piece("aac -b:a 256k -cutoff 18000", "m4a", rate: rate, frames: frames)
        }
        /// Returns a section in MP3.
        package static func mp3(_ rate: Int, _ frames: Int) -> Piece {
            Piece("libmp3lame -b:a 320k", "mp3", rate: rate, frames: frames)
        }
        /// Returns a section in ALAC.
        package static func alac(_ rate: Int, _ frames: Int) -> Piece {
            Piece("alac -sample_fmt s32p", "m4a", rate: rate, frames: frames)
        }
        /// Returns a section in PCM.
        package static func pcm(_ rate: Int, _ frames: Int, _ codec: String = "pcm_f32le") -> Piece {
            Piece(codec, "wav", rate: rate, frames: frames)
        }
        /// Returns a section in FLAC.
        package static func flac(_ rate: Int, _ frames: Int) -> Piece {
            Piece("flac", "flac", rate: rate, frames: frames)
        }
    }

    /// The measurement of one gapless boundary.
    package struct Joint: Sendable {
        /// Phase after the boundary minus phase before it, in output frames; positive: late.
        package var shift: Double
        /// Lateness of the tone after the boundary, in output frames.
        package var lateness: Double
        /// The largest deviation from the tone within two milliseconds of the boundary, relative to its amplitude.
        package var click: Double
    }

    /// Hertz. Ten milliseconds contain whole periods at every output rate, so that the phase is measured exactly.
    package static let frequency = 1000.0
    /// The amplitude; full scale is 1.
    package static let amplitude = 0.5

    /// The output format.
    package let output: PCMFormat
    /// The first channel of the output.
    package private(set) var samples: [Float] = []
    /// Positions of the boundaries in output frames.
    package private(set) var seams: [Double] = []
    /// The number of blocks that begin more than half a frame off the end of the previous one.
    package private(set) var jumps = 0
    /// The expected number of output frames.
    package private(set) var expected = 0.0

    /// Creates the files and decodes them one after another with one converter.
    package init(_ pieces: [Piece], to output: PCMFormat = PCMFormat(sampleRate: 48000, layout: .stereo)) throws {
        self.output = output
        let block = PCMBlock(format: output, capacity: 1000)
        var converter: (any PCMConverter)?
        var offset = MediaTime.zero
        var next: MediaTime?
        var (count, breaks, heard) = (0, 0, [Float]())
        func drain() throws {
            while try converter?.receive(into: block) == true {
                if let next, abs((block.start - next).seconds) * Double(output.sampleRate) > 0.5 { breaks += 1 }
                next = block.end
                for frame in 0..<block.frames { heard.append(block.samples[frame * output.channels]) }
            }
        }
        for piece in pieces {
            let file = try MediaFile.open(try Self.file(piece, from: offset))
            guard let track = file.summary.track(.audio), let format = track.audioFormat else { continue }
            let reader = try file.reader(for: track)
            if let converter {
                if try !converter.adopt(format) { breaks += 1 }
            } else {
                converter = try FilmAudioCodecs().converter(from: format, to: output, speed: 1)
            }
            while let buffer = try reader.read() {
                try converter?.send(Self.moved(buffer, by: offset))
                try drain()
            }
            offset += MediaTime(value: Int64(piece.frames), timescale: Int32(piece.rate))
            count += 1
            if count < pieces.count { seams.append(offset.seconds * Double(output.sampleRate)) }
        }
        converter?.finish()
        try drain()
        (samples, jumps) = (heard, breaks)
        expected = offset.seconds * Double(output.sampleRate)
    }

    /// Creates a section of the tone with the `ffmpeg` program. Returns the path.
    package static func file(_ piece: Piece, from start: MediaTime) throws -> String {
        let tone = "\(amplitude)*sin(2*PI*\(frequency)*(t+\(start.seconds)))"
        let length = Double(piece.frames) / Double(piece.rate) + 0.1
        // Without mixing FFmpeg leaves a channel's samples unchanged.
        let all = piece.channels == "mono" ? "'\(tone)'" : "'\(tone)'|'\(tone)'"
        let source = "aevalsrc=\(all):s=\(piece.rate):d=\(length),atrim=end_sample=\(piece.frames)"
        return try TestClips.make(
            "tone.\(piece.ending)",
            ["-f", "lavfi", "-i", "\(source),aformat=channel_layouts=\(piece.channels)", "-vn", "-c:a"]
                + TestClips.arguments(piece.codec)
                + (piece.ending == "m4a" ? ["-movie_timescale", "\(piece.rate)"] : []))
    }

    /// Returns the same packets at a later media time.
    package static func moved(_ buffer: SampleBuffer, by offset: MediaTime) -> SampleBuffer {
        buffer.presentationTime.map { buffer.moved(to: $0 + offset) } ?? buffer
    }

    private func tone(_ frame: Double) -> Double {
        Self.amplitude * sin(2 * .pi * Self.frequency * frame / Double(output.sampleRate))
    }

    /// Returns the lateness of the tone in frames, from its phase over ten milliseconds.
    private func lateness(_ range: Range<Int>) -> Double {
        let turn = 2 * Double.pi * Self.frequency / Double(output.sampleRate)
        var (inPhase, quadrature) = (0.0, 0.0)
        for index in range where samples.indices.contains(index) {
            inPhase += Double(samples[index]) * sin(turn * Double(index))
            quadrature += Double(samples[index]) * cos(turn * Double(index))
        }
        return -atan2(quadrature, inPhase) / turn
    }

    /// The measurements of all boundaries.
    package var joints: [Joint] {
        let window = output.sampleRate / 100
        let guardBand = output.sampleRate / 500
        return seams.map { seam in
            let at = Int(seam.rounded())
            let before = lateness(at - guardBand - window..<at - guardBand)
            let after = lateness(at + guardBand..<at + guardBand + window)
            var worst = 0.0
            for index in at - guardBand..<at + guardBand where samples.indices.contains(index) {
                // Before the boundary relative to the tone's phase there, after it relative to the phase after it.
                let due = tone(Double(index) - (Double(index) < seam ? before : after))
                worst = max(worst, abs(Double(samples[index]) - due))
            }
            return Joint(shift: after - before, lateness: after, click: worst / Self.amplitude)
        }
    }
}
