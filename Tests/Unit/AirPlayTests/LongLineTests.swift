import MediaCore
import Testing

@testable import AirPlay

@Suite struct LongLineTests {
    /// A circle of 32 bits is 24.8 hours at 48 kHz; distances on it are good for half of that.
    @Test func aLineThatIsDaysLongKeepsItsPlaceToTheFrame() {
        var line = SoundLine(sampleRate: 48_000, first: RTPTimestamp(rawValue: 0xFFFF_0000))
        // Three days in pieces that are no whole part of anything.
        let piece = 352 * 1009
        var frames: Int64 = 0
        while frames < 3 * 24 * 3600 * 48_000 {
            let time = MediaTime(value: frames, timescale: 48_000)
            let place = line.place(time, frames: piece, isContiguous: false)
            guard place == RTPTimestamp(rawValue: 0xFFFF_0000).advanced(byFrames: frames) else {
                Issue.record("at \(time) the packet lies elsewhere")
                return
            }
            frames += Int64(piece)
            guard line.end == MediaTime(value: frames, timescale: 48_000) else {
                Issue.record("at \(time) the line ends at \(String(describing: line.end))")
                return
            }
        }
        let moment = MediaTime(value: frames - 48_000, timescale: 48_000)
        let timestamp = RTPTimestamp(rawValue: 0xFFFF_0000).advanced(byFrames: frames - 48_000)
        #expect(line.timestamp(of: moment, rate: 1) == timestamp)
        #expect(line.media(of: timestamp) == moment)
    }
}
