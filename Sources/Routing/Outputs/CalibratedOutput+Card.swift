internal import AirPlay
package import LocalOutput
internal import MediaCore
package import Profiles

extension CalibratedOutput {
    /// What profiles of a card of this computer are kept under: the sink that plays. No key, and so no profile, where that
    /// is not known.
    ///
    /// - Parameter device: ALSA's name, for people who have no better one.
    package static func card(_ sink: SinkKnowledge, device: String) -> CalibratedOutput {
        let plain = device == RouteOutputs.defaultCard ? "sound card" : device
        return CalibratedOutput(
            key: sink.sink?.key ?? "", name: sink.sink.map { PrintableText.of($0.title) } ?? plain,
            query: "local",
            route: cardRoute)
    }

    /// Only characters that a key may hold.
    fileprivate static func plain(_ text: String) -> String {
        let bytes = text.utf8.prefix(50).map { byte in
            LatencyProfile.Key.isSpeakerKey("x" + String(UnicodeScalar(byte))) ? byte : UInt8(ascii: "_")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ChosenSpeaker {
    /// What calibrations know it by: its id, or where it does not say who it is, its address.
    package var calibrated: CalibratedOutput {
        CalibratedOutput(
            key: speaker.id?.digits ?? "host-" + CalibratedOutput.plain(address.description), name: name,
            query: query,
            route: route.rawValue, address: address.description)
    }
}
