import AirPlay
import AirPlayTransport
import AirPlayWire
import Foundation
import MediaCore
import PTP
import Testing

@testable import RouteTestSupport

/// Plays to shairport-sync and analyses the recording.
extension SpeakerLabTests {
    @Suite struct BufferedPlaybackTests {
        private let identity = SenderIdentity.random(name: "Talkie test")

        private func session(_ host: String, _ port: UInt16) -> AirPlaySession {
            AirPlaySession(
                .init(address: SpeakerAddress(host: host, port: port), identity: identity),
                clocks: PTPDirectory(identity: identity.clock))
        }

        /// Waits until the speaker's clock is synchronized.
        private func waitForClock(_ session: AirPlaySession) throws {
            let deadline = HostInstant.now.advanced(by: .seconds(8))
            while session.clock.readiness != .ready {
                try #require(HostInstant.now < deadline, "the speaker's clock is not ready after 8 s")
                HostInstant.now.advanced(by: .milliseconds(20)).sleep()
            }
        }

        private func report(_ what: String, _ errors: [Double]) {
            let mean = errors.reduce(0, +) / Double(max(1, errors.count))
            print(
                "\(what): \(errors.count) beeps, mean error \(String(format: "%+.3f", mean)) ms,",
                "least \(String(format: "%+.3f", errors.min() ?? .nan)), most \(String(format: "%+.3f", errors.max() ?? .nan))"
            )
        }

        @Test(.timeLimit(.minutes(2)), arguments: [StreamFormat.aac48000, .aac44100], Receiver.defaultReceivers)
        func aacIsHeardAtTheAnchoredInstant(format: StreamFormat, receiver: Receiver) throws {
            let peer = try Peer(receiver)
            let units = try peer.lab.aacBeeps(seconds: 10, rate: format.sampleRate)
            try peer.record(seconds: 14)
            let began = HostInstant.now
            let session = session(peer.host, peer.port)
            defer { session.end() }
            let info = try session.connect()
            #expect(info.features?.contains(.bufferedAudio) == true)
            _ = try session.startStream(format)
            try session.setVolume(decibels: 0)
            // FFmpeg's encoder has a delay of one unit: the first unit decodes to audio before the track's start.
            let start = RTPTimestamp(rawValue: .random(in: 0 ... .max))
            for (index, unit) in units.enumerated() {
                let timestamp = start.advanced(byFrames: Int64(index - 1) * 1024)
                try #require(session.write(unit, timestamp: timestamp) == .accepted)
            }
            try waitForClock(session)
            let anchor = HostInstant.now.advanced(by: .milliseconds(500))
            try session.play(start, at: anchor)
            print("clock ready \((anchor - began).inMilliseconds - 500) ms after the connection began")
            anchor.advanced(by: .milliseconds(6500)).sleep()
            #expect(!session.isLost)
            session.end()
            let heard = try peer.heard()
            let errors = Lab.errors(heard, from: anchor)
            report("AAC \(format.sampleRate), \(receiver)", errors)
            #expect(errors.count >= 6)
            #expect(Bounds.areTogether(errors, claim: 3), "\(errors)")
        }
    }
}
