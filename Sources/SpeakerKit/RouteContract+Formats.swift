internal import MediaCore
internal import SyncRendering
internal import TalkieTestKit
internal import Testing

extension RouteContract {
    /// One tone, cut at arbitrary samples into PCM, AAC, MP3 and ALAC of two rates and enqueued back to back, is
    /// audible as one tone: no samples are lost, repeated or displaced at the boundaries.
    public static func formatsJoinWithoutGaps(_ kind: some OpenableRoute) throws {
        let pieces: [SinePieces.Piece] = [
            .pcm(48000, 52_001), .aac(44100, 48_511), .mp3(48000, 57_013), .alac(48000, 50_021),
        ]
        // shairport-sync adds or drops a frame of each packet of 352 while its clock error exceeds its tolerance: up to
        // 24 samples of 48 kHz within the two windows of a boundary. `frameByFrame` disables that correction.
        let route = try kind.open(seconds: 5, isExact: true)
        // A passed-through packet cannot be cut where the next piece begins.
        route.renderer.allowsPassThrough = false
        let requests = try RequestedPieces(pieces, for: route.renderer, on: route.queue)
        let start = try start(route)
        var seams: [Double] = []
        var length = 0.0
        for piece in pieces {
            length += Double(piece.frames) / Double(piece.rate)
            seams.append(length)
        }
        route.run(until: start.advanced(by: .milliseconds(Int64(length * 1000) + 400)))
        #expect(requests.isOver, "\(route.name): not everything was asked for")
        let recording = try route.finish()
        try checkStart(recording, due: start, on: route)
        let hertz = Int(SinePieces.frequency)
        let stretches = recording.stretches(of: [hertz])
        print("\(route.name): \(stretches)")
        let heard = stretches.reduce(0) { $0 + $1.end - $1.start }
        let factor = route.promises.factor
        #expect(abs(heard - length) < 0.06 * factor, "\(stretches)")
        // With a hole, positions in the recording do not correspond to film positions.
        try #require(stretches.count == 1, "\(route.name): holes: \(stretches)")
        let onset = Double(try #require(recording.onset(above: 0.02))) / recording.rate
        var errors: [Double] = []
        for seam in seams.dropLast() {
            errors.append(recording.shift(of: hertz, at: onset + seam))
            let hole = recording.longestSilence(around: onset + seam, below: 0.05)
            #expect(hole < .milliseconds(2) * factor, "\(route.name): a hole of \(hole) at \(seam) s")
        }
        print("\(route.name): joint errors \(errors.map(rounded)) samples of 48 kHz")
        // A change of sample rate shifts the phase by up to half a sample.
        #expect(errors.sorted { abs($0) < abs($1) }[errors.count / 2].magnitude < 1.5, "\(route.name): \(errors)")
        #expect(errors.allSatisfy { abs($0) < 1.5 * factor }, "\(route.name): \(errors)")
    }
}
