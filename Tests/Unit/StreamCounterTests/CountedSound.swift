import MediaCore

@testable import VirtualSpeaker

/// Audio in which every frame encodes its number, and checks of what a speaker's device played.
final class CountedSound: PlayoutSink {
    struct State {
        /// The device's frame minus the audio's.
        var offset: Int64?
        /// The frame that is expected next.
        var next: Int64 = 0
        var frames: Int64 = 0
        var faults: [String] = []
    }

    private let state = Lock(State())

    /// Number of frames played so far.
    var frames: Int64 { state.withLock { $0.frames } }
    /// Errors so far: frames that were skipped, played twice, or played at another time.
    var faults: [String] { state.withLock { $0.faults } }
    /// The device's frame minus the audio's.
    var offset: Int64? { state.withLock { $0.offset } }

    static func samples(from first: Int64, frames: Int) -> [Int16] {
        var samples: [Int16] = []
        samples.reserveCapacity(frames * 2)
        for index in first..<first + Int64(frames) {
            samples.append(Int16(truncatingIfNeeded: index))
            samples.append(Int16(truncatingIfNeeded: index >> 16))
        }
        return samples
    }

    /// Sets the next expected frame after an intentional gap.
    func expect(_ frame: Int64) { state.withLock { $0.next = frame } }

    func write(_ samples: ArraySlice<Float>, at frame: DeviceFrame) {
        let count = samples.count / 2
        guard count > 0 else { return }
        func bits(_ index: Int) -> UInt32 { UInt32(UInt16(bitPattern: Int16(samples[index] * 32768))) }
        func number(_ frame: Int) -> UInt32 {
            let index = samples.startIndex + frame * 2
            return bits(index) | bits(index + 1) << 16
        }
        state.withLock { state in
            let missed = Int32(bitPattern: number(0) &- UInt32(truncatingIfNeeded: state.next))
            if missed != 0 { state.fault("\(missed) frames left out before \(state.next)") }
            let first = state.next + Int64(missed)
            if number(count - 1) != UInt32(truncatingIfNeeded: first + Int64(count) - 1) {
                state.fault("\(count) frames from \(first) on are not in a row")
            }
            let offset = frame.index - first
            if let known = state.offset, known != offset { state.fault("\(offset - known) frames late at \(first)") }
            state.offset = offset
            state.next = first + Int64(count)
            state.frames += Int64(count)
        }
    }

    func silence(from first: DeviceFrame, until end: DeviceFrame) {
        state.withLock { $0.fault("\(first.distance(to: end)) frames taken back") }
    }

    func finish(frames: DeviceFrame, origin: HostInstant) {}
}

extension CountedSound.State {
    fileprivate mutating func fault(_ text: String) { if faults.count < 10 { faults.append(text) } }
}
