internal import MediaCodecs
package import MediaCore
internal import MediaFiles
internal import SyncRendering

/// The decoded frames of a film: when each is displayed, and its brightness.
package struct FilmFrames: Sendable {
    /// A decoded frame.
    package struct Seen: Sendable {
        /// Media time of the frame.
        package var start: MediaTime
        /// The duration of the frame.
        package var duration: MediaTime
        /// Mean green component of a 16 × 16 copy, 0…255; nil if the frame cannot be converted.
        package var brightness: Double?
        /// The size in pixels.
        package var size: PixelSize
    }
    /// The frames in display order.
    package var frames: [Seen] = []
    /// The number of packets that could not be decoded.
    package var decodeErrorCount = 0

    package init() {}

    /// Media times of changes from dark to bright.
    package var flashes: [MediaTime] {
        var times: [MediaTime] = []
        var wasBright = false
        for frame in frames {
            let isBright = (frame.brightness ?? 0) > 128
            if isBright, !wasBright { times.append(frame.start) }
            wasBright = isBright
        }
        return times
    }

    /// Decodes the rest of a source, at most `limit` frames.
    ///
    /// - Parameter time: Frames that end before it are dropped; nil: none.
    package static func decode(
        _ source: any SampleSource, showingFrom time: MediaTime? = nil, limit: Int = .max
    ) throws -> FilmFrames {
        guard let format = source.track.videoFormat else { return FilmFrames() }
        let decoder = try VideoDecoder(format: format)
        let converter = SoftwareFrameConverter()
        if let time { decoder.dropFrames(before: time) }
        var seen = FilmFrames()
        var isOver = false
        while true {
            while seen.frames.count < limit, let buffer = decoder.receive() {
                guard let frame = buffer.videoFrame, let start = buffer.presentationTime else { continue }
                seen.frames.append(
                    Seen(
                        start: start, duration: buffer.duration, brightness: brightness(of: frame, converter),
                        size: frame.size))
            }
            if isOver || seen.frames.count >= limit { break }
            if let buffer = try source.readToLastByte() {
                try decoder.send(buffer)
            } else {
                decoder.finish()
                isOver = true
            }
        }
        seen.decodeErrorCount = decoder.decodeErrorCount
        return seen
    }

    /// Returns the mean brightness of a small copy of the frame.
    private static func brightness(of frame: any VideoFrame, _ converter: SoftwareFrameConverter) -> Double? {
        let side = 16
        return withUnsafeTemporaryAllocation(byteCount: side * side * 4 + 64, alignment: 64) { pixels in
            let target = PixelTarget(
                base: pixels.baseAddress!, stride: side * 4, size: PixelSize(width: side, height: side))
            guard converter.convert(frame, to: target) else { return nil }
            var sum = 0
            for index in 0..<side * side { sum += Int(pixels[index * 4 + 1]) }
            return Double(sum) / Double(side * side)
        }
    }
}

/// The decoded audio of a film: one channel from a media time on.
package struct FilmAudio: Sendable {
    /// Media time of the first sample.
    package var start: MediaTime = .zero
    /// Frames per second.
    package var sampleRate = 48000
    /// The first channel.
    package var samples: [Float] = []
    /// Media times of blocks that do not continue the previous one (more than 30 µs).
    package var jumps: [MediaTime] = []
    /// The number of packets that could not be decoded.
    package var decodeErrorCount = 0

    package init() {}

    /// Media time after the last sample.
    package var end: MediaTime { start + MediaTime(value: Int64(samples.count), timescale: Int32(sampleRate)) }

    /// Media times of the energy centres of all beeps, in seconds.
    package var beeps: [Double] {
        var middles: [Double] = []
        var (weight, moment, quiet) = (0.0, 0.0, Int.max)
        let pause = sampleRate / 20
        // By pointer and index: without optimization `enumerated()` takes ten times as long for each sample.
        samples.withUnsafeBufferPointer { samples in
            for index in 0..<samples.count {
                let energy = Double(samples[index] * samples[index])
                if energy > 0.0004 {
                    weight += energy
                    moment += energy * Double(index)
                    quiet = 0
                } else if quiet < .max {
                    quiet += 1
                    if quiet == pause, weight > 0 {
                        middles.append(start.seconds + moment / weight / Double(sampleRate))
                        (weight, moment, quiet) = (0, 0, .max)
                    }
                }
            }
        }
        if weight > 0 { middles.append(start.seconds + moment / weight / Double(sampleRate)) }
        return middles
    }

    /// Decodes the rest of a source, up to media time `limit`.
    package static func decode(
        _ source: any SampleSource, layout: ChannelLayout = .stereo, sampleRate: Int = 48000, speed: Double = 1,
        until limit: MediaTime? = nil
    ) throws -> FilmAudio {
        guard let format = source.track.audioFormat else { return FilmAudio() }
        let output = PCMFormat(sampleRate: sampleRate, layout: layout)
        let converter = try FilmAudioCodecs().converter(from: format, to: output, speed: speed)
        let block = PCMBlock(format: output, capacity: 1000)
        var heard = FilmAudio()
        heard.sampleRate = sampleRate
        var expected: MediaTime?
        var isOver = false
        while true {
            while try converter.receive(into: block) {
                if let expected {
                    if (block.start - expected).nanoseconds.magnitude > 30_000 { heard.jumps.append(block.start) }
                } else {
                    heard.start = block.start
                }
                expected = block.end
                for frame in 0..<block.frames { heard.samples.append(block.samples[frame * output.channels]) }
            }
            if let limit, let expected, expected >= limit { break }
            if isOver { break }
            if let buffer = try source.readToLastByte() {
                try converter.send(buffer)
            } else {
                converter.finish()
                isOver = true
            }
        }
        heard.decodeErrorCount = converter.decodeErrorCount
        return heard
    }
}

extension SampleSource {
    /// Returns the next samples; nil at the end, also for an incomplete file.
    fileprivate func readToLastByte() throws(MediaError) -> SampleBuffer? {
        do throws(MediaError) { return try read() } catch {
            guard error.isIncomplete else { throw error }
            return nil
        }
    }
}
