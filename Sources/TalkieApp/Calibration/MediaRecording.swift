internal import Calibration
internal import Glibc
internal import MediaCodecs
internal import MediaCore
internal import MediaFiles
internal import SyncRendering

/// Reads recordings in media files: a video with its sound, or sound alone.
enum MediaRecording {
    /// Samples per cell of the grid in each direction. A screen at some metres covers more than one cell.
    private static let samplesPerCell = 6

    /// Returns whether a file is to be read by libavformat: anything that can be opened and is not RIFF/WAVE.
    static func isOther(_ path: String) -> Bool {
        let descriptor = FileBytes.openRegular(path)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var head = [UInt8](repeating: 0, count: 12)
        guard Glibc.read(descriptor, &head, head.count) == head.count else { return true }
        return !(head[0..<4].elementsEqual("RIFF".utf8) && head[8..<12].elementsEqual("WAVE".utf8))
    }

    /// Reads and decodes a file. May take seconds.
    ///
    /// - Throws: `cannotOpen` for a file that is no recording, or any error after an interruption.
    static func read(_ path: String, until interruption: Interruption) throws(TalkieError) -> Recording {
        do throws(MediaError) {
            var options = ReadOptions()
            options.opensRegularFilesOnly = true
            let file = try MediaFile.open(path, options: options)
            let tracks = file.summary.tracks
            let audio = tracks.filter { $0.kind == .audio }
            guard let track = audio.first(where: \.isDefault) ?? audio.first else {
                throw refusal("has no sound; film with sound")
            }
            var recording = try sound(of: track, in: file, interruption)
            if let track = tracks.first(where: { $0.kind == .video && !$0.isCoverArt && !$0.isStillImage }) {
                recording.film = try light(of: track, in: file, interruption)
            }
            return recording
        } catch {
            throw TalkieError(
                .cannotOpen, "the recording '\(path)' cannot be analysed: \(error.message); nothing was stored")
        }
    }

    private static func refusal(_ predicate: String) -> MediaError { MediaError(.unsupported, "it \(predicate)") }

    private static func check(_ interruption: Interruption) throws(MediaError) {
        if interruption.status != nil { throw MediaError(.cancelled, "reading was cancelled") }
    }

    private static var tooLong: MediaError {
        refusal("is longer than \(Recording.longest.components.seconds) s; record one run only")
    }

    // MARK: Sound

    private static func sound(
        of track: Track, in file: MediaFile, _ interruption: Interruption
    ) throws(MediaError) -> Recording {
        let source = try DecodedAudioSource(file.reader(for: track))
        let rate = source.format.sampleRate
        guard Recording.rateRange.contains(rate) else {
            throw refusal("has \(rate) samples per second; record at 44100 or 48000 Hz")
        }
        let count = min(Recording.maxChannels, source.format.channels)
        let longest = Int(Recording.longest.components.seconds) * rate
        var channels = [[Float]](repeating: [], count: count)
        while let buffer = try source.read() {
            try check(interruption)
            guard case .pcm(let block) = buffer.payload else { continue }
            let start = Int(clamping: (block.start.seconds * Double(rate)).rounded(), in: 0...longest + 1)
            let gap = start - channels[0].count
            guard channels[0].count + max(0, gap) + block.frames <= longest else { throw tooLong }
            for channel in 0..<count {
                // Timestamps are rounded; after the first one, only a jump is a gap.
                if gap > rate / 200 || gap > 0 && channels[channel].isEmpty {
                    channels[channel] += [Float](repeating: 0, count: gap)
                }
                let stride = source.format.channels
                for frame in 0..<block.frames { channels[channel].append(block.samples[frame * stride + channel]) }
            }
        }
        return Recording(sampleRate: rate, channels: channels, anchors: [])
    }

    // MARK: Picture

    private static func light(
        of track: Track, in file: MediaFile, _ interruption: Interruption
    ) throws(MediaError) -> FilmedLight {
        guard let format = track.videoFormat else { throw refusal("has no video format; convert it") }
        let reader = try file.reader(for: track)
        let decoder = try VideoDecoder(format: format)
        var film = FilmedLight()
        var isOver = false
        while !isOver {
            try check(interruption)
            if let buffer = try reader.read() {
                try decoder.send(buffer)
            } else {
                decoder.finish()
                isOver = true
            }
            while let frame = decoder.receive() {
                guard let picture = frame.videoFrame, let time = frame.presentationTime else { continue }
                guard film.times.count < FilmedLight.maxFrames else { throw tooLong }
                guard let light = cells(of: picture) else {
                    throw refusal("has an unsupported pixel format; convert it to H.264")
                }
                film.append(light, at: time.seconds)
            }
        }
        return film
    }

    /// The light of code values with 8 bits, approximately: the tone curves of cameras differ.
    private static let lightOfCode: [Float] = (0..<256).map { code in
        Float(pow(max(0, min(1, (Double(code) - 16) / 219)), 2.2))
    }

    /// Returns the mean light of each cell; nil if the pixels cannot be read.
    private static func cells(of picture: any VideoFrame) -> [Float]? {
        // Green contributes most to luma.
        guard let layout = picture.planeLayout, picture.size.width > 0, picture.size.height > 0,
            let place = place(of: layout.isRGB ? 1 : 0, in: layout)
        else { return nil }
        let bytes = layout.sampleBits / 8
        let step = layout.planes[place.plane].count * bytes
        let down = max(0, layout.depth - 8) + layout.shift
        let (rows, columns) = (FilmedLight.rows * samplesPerCell, FilmedLight.columns * samplesPerCell)
        var light = [Float](repeating: 0, count: FilmedLight.rows * FilmedLight.columns)
        let isRead = picture.withPlanes { planes in
            guard let base = planes[place.plane].base else { return false }
            lightOfCode.withUnsafeBufferPointer { lightOfCode in
                light.withUnsafeMutableBufferPointer { light in
                    for row in 0..<rows {
                        let line = base + picture.size.height * (2 * row + 1) / (2 * rows) * planes[place.plane].stride
                        let cells = row / samplesPerCell * FilmedLight.columns
                        for column in 0..<columns {
                            let pixel = line + picture.size.width * (2 * column + 1) / (2 * columns) * step
                            let sample = pixel + place.sample * bytes
                            let code = bytes == 1 ? Int(sample[0]) : (Int(sample[0]) | Int(sample[1]) << 8) >> down
                            light[cells + column / samplesPerCell] += lightOfCode[code & 255]
                        }
                    }
                }
            }
            return true
        }
        guard isRead else { return nil }
        let count = Float(samplesPerCell * samplesPerCell)
        return light.map { $0 / count }
    }

    /// Returns the plane with a component at full resolution, and the component's index in a pixel.
    private static func place(of component: Int8, in layout: PlaneLayout) -> (plane: Int, sample: Int)? {
        for (index, plane) in layout.planes.enumerated() where plane.halvedX == 0 && plane.halvedY == 0 {
            for sample in 0..<plane.count where plane.meanings[sample] == component { return (index, sample) }
        }
        return nil
    }
}
