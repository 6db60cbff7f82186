internal import MediaCore
internal import SyncRendering

/// Finds audio packets that cannot be decoded, of a codec that outputs receive undecoded: nothing else reports these.
/// Confined to the pipeline's thread.
final class PacketCheck {
    private let codecs: any AudioCodecs
    private var converter: (any PCMConverter)?
    private var block: PCMBlock?
    private var format: AudioFormat?

    init(_ codecs: any AudioCodecs) { self.codecs = codecs }

    /// Returns true if packets of a format may be passed through.
    static func covers(_ format: AudioFormat?) -> Bool { format?.parameters.codec == "aac" }

    /// Decodes a buffer, and returns the audio that could not be decoded, in its media time; nil if all of it could.
    func undecodable(in buffer: SampleBuffer) -> UndecodableAudio? {
        guard case .encodedAudio(let incoming, _) = buffer.payload, Self.covers(incoming) else { return nil }
        if format != incoming {
            format = incoming
            let output = PCMFormat(sampleRate: incoming.sampleRate, layout: .stereo)
            // ignored: the renderer reports a format that cannot be decoded.
            converter = try? codecs.converter(from: incoming, to: output, speed: 1)
            block = PCMBlock(format: output, capacity: 4096)
        }
        guard let converter, let block else { return nil }
        do throws(MediaError) {
            try converter.send(buffer)
            while try converter.receive(into: block) {}
        } catch {
            return buffer.presentationTime.map { UndecodableAudio(start: $0, duration: buffer.audioLength) }
        }
        return converter.consumeUndecodableAudio()
    }

    /// Discards the state of the decoder, for a seek.
    func reset() { converter?.reset() }
}
