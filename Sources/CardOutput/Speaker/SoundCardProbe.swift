internal import CALSA
internal import Glibc
package import MediaCore
package import SyncRendering

/// Information about the sound devices of this computer. Plays nothing.
package enum SoundCardProbe {
    /// A device named in ALSA's configuration.
    package struct Device: Sendable, Hashable {
        /// The ALSA name.
        package var name: String
        /// The user-facing description, one line.
        package var description: String
    }

    /// The scheduling priority of the thread that writes to a card: two thirds of the range of sched(7), above
    /// decoders and below kernel threads.
    package static let priority = WorkerThread.Priority.realtime(50)

    /// A safety limit; configurations have fewer.
    private static let maxDevices = 200

    /// The playback devices named in ALSA's configuration, in its order. Reads files.
    package static var devices: [Device] {
        calsa_be_quiet()
        var hints: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
        guard snd_device_name_hint(-1, "pcm", &hints) == 0, let hints else { return [] }
        defer { snd_device_name_free_hint(hints) }
        var devices: [Device] = []
        var index = 0
        while let hint = hints[index], devices.count < maxDevices {
            index += 1
            // A missing IOID means both directions.
            if let direction = text("IOID", of: hint), direction != "Output" { continue }
            guard let name = text("NAME", of: hint), name != "null" else { continue }
            let description = (text("DESC", of: hint) ?? "").split(separator: "\n").joined(separator: ", ")
            devices.append(Device(name: name, description: description))
        }
        return devices
    }

    /// Returns the user-facing name of a device: the first line of ALSA's description, or else its ALSA name.
    package static func title(of device: String) -> String {
        let found = devices.first { $0.name == device }?.description.split(separator: ",").first
        return found.map(String.init) ?? device
    }

    /// Returns the number of a card; -1 if there is no such card.
    ///
    /// - Parameter text: An identifier or number, as after `CARD=` in ALSA names; what follows a comma is ignored.
    static func number(ofCard text: Substring) -> Int32 {
        snd_card_get_index(String(text.prefix { $0 != "," }))
    }

    /// Returns the replacement candidates for a lost device: the system default, then each card, in ALSA's order.
    ///
    /// None for a sink: where its audio goes when it is gone is the desktop's choice, and a headset's must not be heard
    /// from the loudspeakers unless that decides so.
    static func substitutes(for device: String) -> [String] {
        guard SinkAddress.name(in: device) == nil else { return [] }
        return (["default"] + devices.map(\.name).filter { $0.hasPrefix("sysdefault:CARD=") }).filter { $0 != device }
    }

    private static func text(_ key: String, of hint: UnsafeMutableRawPointer) -> String? {
        guard let value = snd_device_name_get_hint(hint, key) else { return nil }
        defer { free(value) }
        return String(cString: value)
    }

    /// The timeout for the sound server to report the sink of a stream.
    private static let sinkTimeout = Duration.seconds(1)

    /// Opens a device as for playback, queries its sink, and closes it. Plays nothing; may block for 1 s.
    ///
    /// - Throws: `OutputError` if it cannot be opened.
    package static func sink(of device: String) throws(OutputError) -> SinkKnowledge {
        let sinkFound = Signal()
        let finder = SinkFinder { _, now in if now.sink != nil || now == .noServer { sinkFound.raise() } }
        defer { finder.stop() }
        let opened = try ALSADevice(name: device)
        try opened.configure(opened.nearest(to: 48_000, layout: .stereo))
        finder.register(opened)
        if opened.way == .elsewhere, SoundServer.shared != nil {
            sinkFound.wait(until: .now.advanced(by: sinkTimeout))
        }
        return withExtendedLifetime(opened) { finder.knowledge(of: device) }
    }

    /// Plays silence on a card until its delay is measured, and returns what it states; closes it. Blocks for at most
    /// a second. A card that cannot be opened states what it does before it is.
    package static func latency(of card: SoundCard) -> OutputLatency {
        let format = AudioFormat(parameters: CodecParameters(codec: "pcm_f32le"), sampleRate: 48_000, layout: .stereo)
        let (events, wakeSignal) = (EventLog(clock: MonotonicClock()), Signal())
        let synchronizer = RenderSynchronizer(events: events)
        defer { card.close() }
        card.setSinkHandler { wakeSignal.raise() }
        do throws(OutputError) {
            try card.prepare(
                card.delivery(for: format, mustDecode: true),
                context: AudioOutputContext(
                    timebase: synchronizer.timebase, writable: wakeSignal, events: events, id: OutputID(0)))
        } catch {
            return card.latency
        }
        let deadline = HostInstant.now.advanced(by: sinkTimeout)
        while !card.isReadyToStart || card.sink.sink == nil, HostInstant.now < deadline {
            wakeSignal.wait(until: deadline)
            wakeSignal.clear()
        }
        return card.latency
    }

    /// Opens a device, returns the format it would use for 48 kHz stereo, and closes it. May block.
    ///
    /// - Throws: `OutputError` if it cannot be opened or has no suitable format.
    package static func format(of device: String) throws(OutputError) -> PCMFormat {
        try ALSADevice(name: device).nearest(to: 48_000, layout: .stereo)
    }
}
