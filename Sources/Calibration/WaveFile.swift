internal import MediaCore
package import Storage

/// Reads and writes RIFF/WAVE recordings.
///
/// Microsoft's "Multimedia Programming Interface and Data Specifications 1.0", and WAVE_FORMAT_EXTENSIBLE. Input is
/// untrusted: limited by `Recording.longest`, never traps.
package enum WaveFile {
    /// Maximum size of a file in bytes: 300 s of two channels of 32 bits at 192 kHz, plus other chunks.
    package static let largestFile = 480 << 20

    private struct Format {
        var isFloat: Bool
        var channels: Int
        var rate: Int
        var bytesPerSample: Int
    }

    /// Returns the samples of the first two channels, without anchors.
    ///
    /// - Throws: `unreadable` with a predicate for the error message.
    package static func read(_ bytes: [UInt8]) throws(FileFailure) -> Recording {
        func integer(_ offset: Int, _ count: Int) -> Int? {
            guard offset >= 0, count <= 4, offset <= bytes.count - count else { return nil }
            return (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }
        func isTag(_ offset: Int, _ tag: StaticString) -> Bool {
            offset >= 0 && offset <= bytes.count - 4
                && tag.withUTF8Buffer { bytes[offset..<(offset + 4)].elementsEqual($0) }
        }
        guard isTag(0, "RIFF"), isTag(8, "WAVE") else { throw .unreadable("is not a WAV file") }
        var format: Format?
        var position = 12
        while let size = integer(position + 4, 4) {
            let body = position + 8
            if isTag(position, "fmt ") {
                format = try self.format(body, size, integer)
            } else if isTag(position, "data") {
                guard let format else { throw .unreadable("has samples before its format description") }
                // Programs that write to a pipe leave 0 or the maximum.
                let length = size == 0 || size >= 0xFFFF_FF00 ? bytes.count - body : min(size, bytes.count - body)
                return try samples(bytes[body..<(body + max(0, length))], format)
            }
            // Chunks are padded to 16-bit words.
            position = body + size + size % 2
        }
        throw .unreadable("contains no samples")
    }

    private static func format(
        _ body: Int, _ size: Int, _ integer: (Int, Int) -> Int?
    ) throws(FileFailure) -> Format {
        guard size >= 16, var tag = integer(body, 2), let channels = integer(body + 2, 2),
            let rate = integer(body + 4, 4),
            let bits = integer(body + 14, 2)
        else { throw .unreadable("is truncated in its format description") }
        // WAVE_FORMAT_EXTENSIBLE: the sub-format GUID begins with the actual tag.
        if tag == 0xFFFE, size >= 40, let real = integer(body + 24, 2) { tag = real }
        guard (tag == 1 && (bits == 16 || bits == 24 || bits == 32)) || (tag == 3 && bits == 32) else {
            throw .unreadable(
                "has an unsupported sample format; record 16, 24 or 32 bits without compression")
        }
        guard (1...64).contains(channels) else { throw .unreadable("has \(channels) channels") }
        guard Recording.rateRange.contains(rate) else {
            throw .unreadable("has \(rate) samples per second; record at 44100 or 48000 Hz")
        }
        return Format(isFloat: tag == 3, channels: channels, rate: rate, bytesPerSample: bits / 8)
    }

    private static func samples(_ data: ArraySlice<UInt8>, _ format: Format) throws(FileFailure) -> Recording {
        let width = format.channels * format.bytesPerSample
        let frames = data.count / width
        let longest = Int(Recording.longest.components.seconds)
        guard frames <= longest * format.rate else {
            throw .unreadable("is longer than \(longest) s; record one run only")
        }
        let kept = min(Recording.maxChannels, format.channels)
        var channels: [[Float]] = []
        data.withUnsafeBytes { bytes in
            for channel in 0..<kept {
                var offset = channel * format.bytesPerSample
                var samples = [Float](repeating: 0, count: frames)
                for frame in 0..<frames {
                    samples[frame] = value(bytes, offset, format)
                    offset += width
                }
                channels.append(samples)
            }
        }
        return Recording(sampleRate: format.rate, channels: channels, anchors: [])
    }

    private static func value(_ bytes: UnsafeRawBufferPointer, _ offset: Int, _ format: Format) -> Float {
        switch format.bytesPerSample {
        case 2:
            let raw = UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8
            return Float(Int16(bitPattern: raw)) / 32768
        case 3:
            let raw = UInt32(bytes[offset]) << 8 | UInt32(bytes[offset + 1]) << 16 | UInt32(bytes[offset + 2]) << 24
            return Float(Int32(bitPattern: raw) >> 8) / 8_388_608
        default:
            let raw = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            guard format.isFloat else { return Float(Int32(bitPattern: UInt32(littleEndian: raw))) / 2_147_483_648 }
            let sample = Float(bitPattern: UInt32(littleEndian: raw))
            // A non-finite sample would invalidate every sum.
            return sample.isFinite ? max(-16, min(16, sample)) : 0
        }
    }

    /// Returns a recording as 32-bit floats (WAVE_FORMAT_IEEE_FLOAT).
    package static func bytes(_ recording: Recording) -> [UInt8] {
        let channels = recording.channels.count
        let size = recording.frames * channels * 4
        var bytes: [UInt8] = Array("RIFF".utf8)
        bytes.reserveCapacity(size + 44)
        bytes.append(littleEndian: UInt32(clamping: size + 36))
        bytes += Array("WAVEfmt ".utf8)
        bytes.append(littleEndian: UInt32(16))
        bytes.append(littleEndian: UInt16(3))
        bytes.append(littleEndian: UInt16(clamping: channels))
        bytes.append(littleEndian: UInt32(clamping: recording.sampleRate))
        bytes.append(littleEndian: UInt32(clamping: recording.sampleRate * channels * 4))
        bytes.append(littleEndian: UInt16(clamping: channels * 4))
        bytes.append(littleEndian: UInt16(32))
        bytes += Array("data".utf8)
        bytes.append(littleEndian: UInt32(clamping: size))
        for frame in 0..<recording.frames {
            for channel in recording.channels { bytes.append(littleEndian: channel[frame].bitPattern) }
        }
        return bytes
    }
}
