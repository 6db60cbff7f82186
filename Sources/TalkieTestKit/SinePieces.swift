internal import Glibc
internal import MediaCodecs
package import MediaCore
internal import MediaFiles
internal import SyncRendering

/// One long tone, cut at arbitrary samples into files of different codecs and rates and put together again: whatever is lost,
/// doubled or out of place at a joint shows as a step of its phase.
package struct SinePieces {
    /// A stretch of the tone as one file.
    package struct Piece: Sendable {
        package var codec: String
        package var ending: String
        package var rate: Int
        package var frames: Int
        package var channels: String

        package init(_ codec: String, _ ending: String, rate: Int, frames: Int, channels: String = "stereo") {
            (self.codec, self.ending, self.rate, self.frames, self.channels) = (codec, ending, rate, frames, channels)
        }

        package static func aac(_ rate: Int, _ frames: Int) -> Piece {
            Piece("aac -b:a 256k -cutoff 18000", "m4a", rate: rate, frames: frames)
        }
        package static func mp3(_ rate: Int, _ frames: Int) -> Piece {
            Piece("libmp3lame -b:a 320k", "mp3", rate: rate, frames: frames)
        }
        package static func alac(_ rate: Int, _ frames: Int) -> Piece {
            Piece("alac -sample_fmt s32p", "m4a", rate: rate, frames: frames)
        }
        package static func pcm(_ rate: Int, _ frames: Int, _ codec: String = "pcm_f32le") -> Piece {
            Piece(codec, "wav", rate: rate, frames: frames)
        }
        package static func flac(_ rate: Int, _ frames: Int) -> Piece {
            Piece("flac", "flac", rate: rate, frames: frames)
        }
    }

    /// What came of a joint.
    package struct Joint: Sendable {
        /// The tone's phase behind the joint against that before it, in frames of the output; positive is late.
        package var shift: Double
        /// How late the tone is behind the joint against where it belongs, in frames of the output.
        package var lateness: Double
        /// The largest distance from the tone within two milliseconds of the joint, against its amplitude.
        package var click: Double
    }

    /// Ten milliseconds of it are whole turns at every rate of outputs, so that its phase is measured exactly.
    package static let frequency = 1000.0
    package static let amplitude = 0.5

    package let output: PCMFormat
    /// The first channel of everything that came out.
    package private(set) var samples: [Float] = []
    /// Film time of each joint, in frames of the output.
    package private(set) var seams: [Double] = []
    /// Blocks that did not begin where the one before ended, by more than half a frame.
    package private(set) var jumps = 0
    /// How many frames there should be.
    package private(set) var expected = 0.0

    /// Makes the files, reads them one after the other into one converter, and keeps what comes out.
    package init(_ pieces: [Piece], to output: PCMFormat = PCMFormat(sampleRate: 48000, layout: .stereo)) throws {
        self.output = output
        let block = PCMBlock(format: output, capacity: 1000)
        var converter: (any PCMConverter)?
        var offset = MediaTime.zero
        var next: MediaTime?
        var (count, breaks, heard) = (0, 0, [Float]())
        func takeAll() throws {
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
                if try !converter.follow(format) { breaks += 1 }
            } else {
                converter = try FilmAudioCodecs().converter(from: format, to: output, speed: 1)
            }
            while let buffer = try reader.read() {
                try converter?.send(Self.moved(buffer, by: offset))
                try takeAll()
            }
            offset += MediaTime(value: Int64(piece.frames), timescale: Int32(piece.rate))
            count += 1
            if count < pieces.count { seams.append(offset.seconds * Double(output.sampleRate)) }
        }
        converter?.finish()
        try takeAll()
        (samples, jumps) = (heard, breaks)
        expected = offset.seconds * Double(output.sampleRate)
    }

    /// One stretch of the tone as a file, drawn by the `ffmpeg` program.
    package static func file(_ piece: Piece, from start: MediaTime) throws -> String {
        let tone = "\(amplitude)*sin(2*PI*\(frequency)*(t+\(start.seconds)))"
        let length = Double(piece.frames) / Double(piece.rate) + 0.1
        // A channel is left as it is only where it need not be mixed.
        let all = piece.channels == "mono" ? "'\(tone)'" : "'\(tone)'|'\(tone)'"
        let source = "aevalsrc=\(all):s=\(piece.rate):d=\(length),atrim=end_sample=\(piece.frames)"
        return try TestClips.make(
            "tone.\(piece.ending)",
            ["-f", "lavfi", "-i", "\(source),aformat=channel_layouts=\(piece.channels)", "-vn", "-c:a"]
                + TestClips.words(piece.codec) + (piece.ending == "m4a" ? ["-movie_timescale", "\(piece.rate)"] : []))
    }

    /// The same packets at a later place on the film.
    package static func moved(_ buffer: SampleBuffer, by offset: MediaTime) -> SampleBuffer {
        buffer.presentationTime.map { buffer.moved(to: $0 + offset) } ?? buffer
    }

    private func tone(_ frame: Double) -> Double {
        Self.amplitude * sin(2 * .pi * Self.frequency * frame / Double(output.sampleRate))
    }

    /// How late the tone is around some frame, in frames: by its phase over ten milliseconds.
    private func lateness(_ range: Range<Int>) -> Double {
        let turn = 2 * Double.pi * Self.frequency / Double(output.sampleRate)
        var (inPhase, quadrature) = (0.0, 0.0)
        for index in range where samples.indices.contains(index) {
            inPhase += Double(samples[index]) * sin(turn * Double(index))
            quadrature += Double(samples[index]) * cos(turn * Double(index))
        }
        return -atan2(quadrature, inPhase) / turn
    }

    /// What became of each joint.
    package var joints: [Joint] {
        let window = output.sampleRate / 100
        let guardBand = output.sampleRate / 500
        return seams.map { seam in
            let at = Int(seam.rounded())
            let before = lateness(at - guardBand - window..<at - guardBand)
            let after = lateness(at + guardBand..<at + guardBand + window)
            var worst = 0.0
            for index in at - guardBand..<at + guardBand where samples.indices.contains(index) {
                // Before the joint measured against the tone as it was there, behind it as it is there.
                let due = tone(Double(index) - (Double(index) < seam ? before : after))
                worst = max(worst, abs(Double(samples[index]) - due))
            }
            return Joint(shift: after - before, lateness: after, click: worst / Self.amplitude)
        }
    }
}
