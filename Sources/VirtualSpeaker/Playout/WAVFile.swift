internal import Glibc
internal import MediaCore
internal import Synchronization

/// A recording of a speaker: a 16-bit stereo WAV file, with a JSON file that contains the time of each second.
///
/// Silence is not written; the file is sparse there. Used by one thread at a time.
final class WAVFile: PlayoutSink {
    /// RIFF sizes are 32 bits; a recording ends there (6.7 hours at 44.1 kHz).
    private static let largestFrame: Int64 = (1 << 32 - 1 - 44) / 4
    private static let headerSize: Int64 = 44

    private let path: String
    private let sampleRate: Int
    private let descriptor: Int32
    private let complain: @Sendable (String) -> Void
    /// Set by the writing thread.
    private let hasComplained = Atomic<Bool>(false)

    /// Creates the file.
    ///
    /// - Parameter complain: Called once, on the writing thread, when a write fails; playback continues.
    /// - Throws: `cannotWrite`.
    init(
        path: String, sampleRate: Int, complain: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(SpeakerError) {
        self.path = path
        self.sampleRate = sampleRate
        self.complain = complain
        descriptor = PrivateFile.create(path, O_RDWR)
        guard descriptor >= 0 else {
            throw SpeakerError(.cannotWrite, "Cannot write \(path) (\(SystemCause.text(errno))); choose another path.")
        }
        writeHeader(frames: 0)
    }

    deinit { close(descriptor) }

    private func writeHeader(frames: Int64) {
        var header: [UInt8] = Array("RIFF".utf8)
        let bytes = UInt32(clamping: frames * 4)
        header.append(littleEndian: bytes &+ 36)
        header += Array("WAVEfmt ".utf8)
        header.append(littleEndian: UInt32(16))
        header.append(littleEndian: UInt16(1))
        header.append(littleEndian: UInt16(2))
        header.append(littleEndian: UInt32(sampleRate))
        header.append(littleEndian: UInt32(sampleRate * 4))
        header.append(littleEndian: UInt16(4))
        header.append(littleEndian: UInt16(16))
        header += Array("data".utf8)
        header.append(littleEndian: bytes)
        put(header, at: 0)
    }

    /// Writes all bytes at an offset, or reports the error.
    private func put(_ bytes: [UInt8], at position: Int64) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBufferPointer {
                pwrite(descriptor, $0.baseAddress! + offset, bytes.count - offset, Int(position) + offset)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return recordError(count == 0 ? ENOSPC : errno) }
            offset += count
        }
    }

    private func recordError(_ code: Int32) {
        guard !hasComplained.exchange(true, ordering: .relaxed) else { return }
        complain("parts of the recording \(path) are missing (\(SystemCause.text(code)))")
    }

    /// Writes interleaved stereo samples. Frames before the start or beyond the maximum size are dropped.
    func write(_ samples: ArraySlice<Float>, at frame: DeviceFrame) {
        guard frame.index >= 0, frame.index < Self.largestFrame else { return }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(samples.count * 2)
        for sample in samples {
            let scaled = Int16(clamping: Double(sample) * 32768, in: .min ... .max)
            bytes.append(UInt8(truncatingIfNeeded: scaled))
            bytes.append(UInt8(truncatingIfNeeded: scaled >> 8))
        }
        put(bytes, at: Self.headerSize + frame.index * 4)
    }

    func silence(from first: DeviceFrame, until end: DeviceFrame) {
        let count = min(first.distance(to: end), Int64(sampleRate) * 60)
        guard first.index >= 0, count > 0 else { return }
        let zeros = [UInt8](repeating: 0, count: Int(count) * 4)
        put(zeros, at: Self.headerSize + first.index * 4)
    }

    /// Completes the file so that it is readable; more may be written afterwards.
    func finish(frames: DeviceFrame, origin: HostInstant) {
        let count = max(0, min(frames.index, Self.largestFrame))
        if ftruncate(descriptor, Int(Self.headerSize + count * 4)) != 0 { recordError(errno) }
        writeHeader(frames: count)
        writeSidecar(frames: count, origin: origin)
    }

    /// Writes the times of the recording in the format of the meters: anchors once a second, points ten times a second.
    private func writeSidecar(frames: Int64, origin: HostInstant) {
        var real = timespec()
        clock_gettime(CLOCK_REALTIME, &real)
        let shift = Int64(real.tv_sec) * 1_000_000_000 + Int64(real.tv_nsec) - HostInstant.now.nanoseconds
        func nanoseconds(_ frame: Int64) -> Int64 {
            origin.nanoseconds + Int64(clamping: Int128(frame) * 1_000_000_000 / Int128(sampleRate))
        }
        let anchors = stride(from: 0, through: frames, by: sampleRate).map { frame -> JSONValue in
            .object([
                ("frame", .integer(Int(frame))), ("realtime_ns", .integer(Int(nanoseconds(frame) + shift))),
                ("monotonic_ns", .integer(Int(nanoseconds(frame)))),
            ])
        }
        let points = stride(from: 0, through: frames, by: max(1, sampleRate / 10)).map { frame -> JSONValue in
            .array([.integer(Int(frame)), .integer(Int(nanoseconds(frame) + shift)), .integer(Int(nanoseconds(frame)))])
        }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let text =
            JSONValue.object([
                ("wav", .text(name)), ("rate", .integer(sampleRate)), ("sample_rate", .integer(sampleRate)),
                ("channels", .integer(2)), ("frames", .integer(Int(frames))),
                ("first_frame_realtime_ns", .integer(Int(nanoseconds(0) + shift))),
                ("first_frame_monotonic_ns", .integer(Int(nanoseconds(0)))), ("anchors", .array(anchors)),
                ("points", .array(points)),
            ]).compact + "\n"
        let side = PrivateFile.create(path + ".json", O_WRONLY)
        guard side >= 0 else { return recordError(errno) }
        if let code = CompleteWrite.write(Array(text.utf8), to: side) { recordError(code) }
        close(side)
    }
}
