internal import MediaCodecs
package import MediaCore
internal import MediaFiles
internal import SyncRendering

/// A film's pictures as a test sees them: when each is shown and how bright it is.
package struct SeenPictures: Sendable {
    package struct Seen: Sendable {
        package var start: MediaTime
        package var duration: MediaTime
        /// Mean of the luma samples, scaled to 0…255; nil where the format is not 8-bit planar.
        package var brightness: Double?
        package var size: PixelSize
    }
    package var pictures: [Seen] = []
    package var damagedPackets = 0

    package init() {}

    /// Film times at which it turns from dark to bright.
    package var flashes: [MediaTime] {
        var times: [MediaTime] = []
        var wasBright = false
        for picture in pictures {
            let isBright = (picture.brightness ?? 0) > 128
            if isBright, !wasBright { times.append(picture.start) }
            wasBright = isBright
        }
        return times
    }

    /// Decodes what `source` gives, from where it stands to its end or to `limit` pictures.
    package static func decode(
        _ source: any SampleSource, showingFrom time: MediaTime? = nil, limit: Int = .max
    ) throws -> SeenPictures {
        guard let format = source.track.videoFormat else { return SeenPictures() }
        let decoder = try VideoDecoder(format: format)
        let converter = SoftwarePictureConverter()
        if let time { decoder.discardPictures(before: time) }
        var seen = SeenPictures()
        var isOver = false
        while true {
            while seen.pictures.count < limit, let buffer = decoder.receive() {
                guard let picture = buffer.picture, let start = buffer.presentationTime else { continue }
                seen.pictures.append(
                    Seen(
                        start: start, duration: buffer.duration, brightness: brightness(of: picture, converter),
                        size: picture.size))
            }
            if isOver || seen.pictures.count >= limit { break }
            if let buffer = try source.readToLastByte() {
                try decoder.send(buffer)
            } else {
                decoder.finish()
                isOver = true
            }
        }
        seen.damagedPackets = decoder.damagedPackets
        return seen
    }

    /// Mean brightness of a small copy of the picture.
    private static func brightness(of picture: any Picture, _ converter: SoftwarePictureConverter) -> Double? {
        let side = 16
        return withUnsafeTemporaryAllocation(byteCount: side * side * 4 + 64, alignment: 64) { pixels in
            let target = PixelTarget(
                base: pixels.baseAddress!, stride: side * 4, size: PixelSize(width: side, height: side))
            guard converter.convert(picture, to: target) else { return nil }
            var sum = 0
            for index in 0..<side * side { sum += Int(pixels[index * 4 + 1]) }
            return Double(sum) / Double(side * side)
        }
    }
}

/// A film's sound as a test hears it: one channel, from one film time on, without holes.
package struct HeardSound: Sendable {
    package var start: MediaTime = .zero
    package var sampleRate = 48000
    /// The first channel.
    package var samples: [Float] = []
    /// Film times at which a block did not follow on from the one before.
    package var jumps: [MediaTime] = []
    package var damagedPackets = 0

    package init() {}

    package var end: MediaTime { start + MediaTime(value: Int64(samples.count), timescale: Int32(sampleRate)) }

    /// Film times of the middles of all beeps, in seconds, by where their energy lies.
    package var beeps: [Double] {
        var middles: [Double] = []
        var (weight, moment, quiet) = (0.0, 0.0, Int.max)
        let pause = sampleRate / 20
        for (index, sample) in samples.enumerated() {
            let energy = Double(sample * sample)
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
        if weight > 0 { middles.append(start.seconds + moment / weight / Double(sampleRate)) }
        return middles
    }

    /// Decodes what `source` gives, from where it stands to its end or to `limit`.
    package static func decode(
        _ source: any SampleSource, layout: ChannelLayout = .stereo, sampleRate: Int = 48000, speed: Double = 1,
        until limit: MediaTime? = nil
    ) throws -> HeardSound {
        guard let format = source.track.audioFormat else { return HeardSound() }
        let output = PCMFormat(sampleRate: sampleRate, layout: layout)
        let converter = try FilmAudioCodecs().converter(from: format, to: output, speed: speed)
        let block = PCMBlock(format: output, capacity: 1000)
        var heard = HeardSound()
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
        heard.damagedPackets = converter.damagedPackets
        return heard
    }
}

extension SampleSource {
    /// Returns the next samples; nil at the end, also where that is not the end of the film.
    fileprivate func readToLastByte() throws(MediaError) -> SampleBuffer? {
        do throws(MediaError) { return try read() } catch {
            guard error.code == .incomplete else { throw error }
            return nil
        }
    }
}
