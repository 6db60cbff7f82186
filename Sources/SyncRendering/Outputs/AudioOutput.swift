public import MediaCore

/// The form in which an output receives audio.
public enum AudioDelivery: Sendable, Equatable {
    /// Decoded, mixed and resampled to this format.
    case pcm(PCMFormat)
    /// The media's packets, unchanged. The output may complete a format that the container states in part.
    case passThrough(AudioFormat)
    /// Decoded, resampled and encoded again to this format.
    case encoded(AudioFormat, from: PCMFormat)
}

/// The kind of an audio route; determines the permitted content. An open set: a new kind of output adds its own.
public struct AudioRouteKind: Hashable, Sendable {
    /// The identifier in recordings.
    public let rawValue: String
    /// Whether audio leaves this computer. Short sounds would then play late and disturb others.
    public let isRemote: Bool

    /// Creates a kind.
    public init(rawValue: String, isRemote: Bool) {
        self.rawValue = rawValue
        self.isRemote = isRemote
    }

    /// A sound card of this computer.
    public static let soundCard = AudioRouteKind(rawValue: "soundCard", isRemote: false)
    /// A network speaker with a buffered stream.
    public static let bufferedSpeaker = AudioRouteKind(rawValue: "bufferedSpeaker", isRemote: true)
    /// A network speaker with a realtime stream.
    public static let realtimeSpeaker = AudioRouteKind(rawValue: "realtimeSpeaker", isRemote: true)
    /// Several outputs of any kind.
    public static let group = AudioRouteKind(rawValue: "group", isRemote: true)
    /// A card of a test.
    public static let virtual = AudioRouteKind(rawValue: "virtual", isRemote: false)
}

/// Where a renderer plays: an output, or several in an `OutputGroup`.
public protocol AudioDestination: AnyObject, Sendable {
    /// The name for the user: `"HDMI 0"`, `"Kitchen"`.
    var name: String { get }
    /// The kind of route.
    var kind: AudioRouteKind { get }

    /// Returns the outputs as a group; an output makes a group with one member.
    ///
    /// - Parameter codecs: The factory of decoders and encoders of a group that is made.
    func group(codecs: any AudioCodecs) -> OutputGroup
}

/// A destination of audio: a sound card, a network speaker, or a virtual card in tests.
///
/// The data calls (`prepare`, `accept…`, `finish`, `flush`, `close`) are made by the renderer's feeder thread, one at a
/// time. `timebaseDidChange` is called by the thread that commanded the synchronizer and must not block. The output
/// reads `timebase`, subtracts its own delay, and places every sample so that media time M is audible at host instant
/// H. It never becomes the clock.
///
/// Data is pushed with back-pressure: an output that is full accepts less than offered and raises `room` once it has
/// space.
public protocol AudioOutput: AudioDestination {
    /// The current timing requirements of this output. Any thread.
    var latency: OutputLatency { get }
    /// How far ahead of the playhead the renderer should be filled, in media time at speed 1.
    var desiredDepth: Duration { get }

    /// How much media the output must have accepted before a start can be met.
    var preroll: Duration { get }

    /// Returns the delivery for audio of a format. Any thread, no side effects.
    ///
    /// - Parameter mustDecode: Whether the samples will be modified (speed, gain), which excludes packets.
    func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery

    /// Returns how audio of another format continues the current stream without loss and without a gap. Nil if the
    /// stream must end and another one begin; the feeder then waits until the old one has played.
    func continuation(of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool) -> AudioDelivery?

    /// Starts to open the device in the background, in advance of audio. The result is reported by `prepare`. Any
    /// thread; must not block. The default does nothing.
    func open()

    /// Prepares the output for a delivery. May block while a device opens or a speaker connects.
    ///
    /// Called again when the delivery changes. After a failure the output is closed and the call may be repeated.
    func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError)

    /// Accepts decoded audio from frame `offset` of the block on; returns the number of frames accepted. Never blocks.
    func accept(_ block: PCMBlock, from offset: Int) -> Int

    /// Accepts packets from index `offset` of the batch on; returns the number of packets accepted. Never blocks.
    func accept(_ batch: PacketBatch, from offset: Int) -> Int

    /// Sets the media seconds per second of subsequent packets: an output that places packets by their media time must
    /// know how long they take. Called by the feeder, after a flush or before the first audio.
    func setSpeed(_ speed: Double)

    /// Signals the end of input: queued audio plays out, and an empty queue is no underrun.
    func finish()

    /// Whether all accepted audio has been converted; the output raises `room` when this becomes true.
    var isDrained: Bool { get }

    /// Whether the output knows its own delay; false for a fraction of a second after it was opened, when a start would
    /// be misplaced. The output raises `room` when this becomes true. Any thread, allocates nothing.
    var isReadyToStart: Bool { get }

    /// The earliest feasible start as currently known, because a speaker still has to synchronize its clock. May change
    /// before a scheduled start, which is then announced again. Nil if `latency.startLead` suffices. Any thread,
    /// allocates nothing.
    var earliestStart: HostInstant? { get }

    /// The reason why a start has to wait; nil if `latency.startLead` suffices. Any thread.
    var wait: OutputWait? { get }

    /// The reason why the output is permanently silent, if it failed after `prepare`; nil otherwise.
    var failure: OutputError? { get }

    /// The reason why the output is currently silent: `failure`, or it was lost and recovers without another `prepare`.
    /// Nil while it plays. Any thread.
    var loss: OutputError? { get }

    /// Whether the output is unresponsive. It may still play its buffered audio: a stopped network and a stopped device
    /// are indistinguishable. Any thread.
    var isUnresponsive: Bool { get }

    /// Whether the first audio since the output was opened or restored has played; replaced outputs play until then.
    /// Any thread.
    var isAudible: Bool { get }

    /// The reason why the last gain is not in effect; nil if it is. Any thread.
    var gainFailure: OutputError? { get }

    /// The timeline of delivered audio, if the output's clock cannot be adjusted; the timebase is steered to it. Nil
    /// for outputs that follow the timebase, which most do. Any thread.
    var remoteTimeline: TimebaseSegment? { get }

    /// Adjusts the rate of `remoteTimeline` to differ from this computer's clock by a ratio, for about a second; the
    /// caller repeats it. Returns false, without effect, if the device follows only its own clock. Any thread.
    func adjustRemoteRate(by offset: Double) -> Bool

    /// The end of the audio accepted since the last flush, in media time; nil if there is none.
    var acceptedUntil: MediaTime? { get }

    /// Drops all accepted audio that is not yet audible. The next audio starts afresh.
    func flush()

    /// Applies a changed timeline: a start, a stop or a seek. Must not block; longer work is done on the output's own
    /// thread.
    func timebaseDidChange(_ snapshot: TimebaseSnapshot)

    /// Sets the item that plays, for outputs that display it; nil: none. Also for later uses of the output. Any thread;
    /// must not block.
    func setNowPlaying(_ nowPlaying: NowPlaying?)

    /// Sets the linear gain: 0 is silent, 1 is unchanged (0 dB). Applied as a ramp. Any thread.
    func setGain(_ gain: Float)

    /// Restores the owner's volume from before the first `setGain`. Any thread.
    func restoreGain()

    /// The owner's volume, 0…100 (`VolumeCurve`); nil if the output has none or it is not yet known. Any thread; reads
    /// a field.
    var ownVolume: Double? { get }

    /// False while the output has a loudness of its own that it has not reported yet; true once it is prepared. Any
    /// thread; reads a field.
    var isOwnVolumeKnown: Bool { get }

    /// Silences the output and releases the device or speaker. May block briefly. The output may be prepared again.
    func close()
}

/// The objects that a renderer lends to an output in use.
public struct AudioOutputContext: Sendable {
    /// The timeline of the output.
    public let timebase: Timebase
    /// Raised by the output, from any thread, when it has space.
    public let writable: Signal
    /// The log for the output's events.
    public let events: EventLog
    /// The output's ID in events.
    public let id: OutputID
    /// The objects shared with the other members of the group; nil outside a group.
    public let group: GroupSharedContext?
    /// Receives the output's commands with its ID; see `send`.
    let onCommand: @Sendable (OutputCommand, OutputID) -> Void

    /// Creates a context.
    ///
    /// - Parameter onCommand: Receives the output's commands with its ID, on any thread; must not block.
    public init(
        timebase: Timebase, writable: Signal, events: EventLog, id: OutputID, group: GroupSharedContext? = nil,
        onCommand: @escaping @Sendable (OutputCommand, OutputID) -> Void = { _, _ in }
    ) {
        self.timebase = timebase
        self.writable = writable
        self.events = events
        self.id = id
        self.group = group
        self.onCommand = onCommand
    }

    /// Sends a command of the output to the player. Any thread; returns at once. The output limits their number.
    public func send(_ command: OutputCommand) { onCommand(command, id) }
}

extension AudioOutput {
    /// A group with this output.
    public func group(codecs: any AudioCodecs) -> OutputGroup { OutputGroup(members: [self], codecs: codecs) }

    /// Prepares the output for a delivery. A device may reveal only when it is opened that it accepts less than was
    /// expected: then for the one that the output asks for instead.
    ///
    /// - Parameters:
    ///   - format: The format of the audio that is delivered.
    ///   - mustDecode: Whether packets cannot be passed through.
    /// - Returns: The delivery that the output is prepared for.
    /// - Throws: The last error, with the output closed.
    func prepare(
        _ delivery: AudioDelivery, for format: AudioFormat, mustDecode: Bool, context: AudioOutputContext
    ) throws(OutputError) -> AudioDelivery {
        var delivery = delivery
        // More deliveries than any output has.
        for _ in 0..<4 {
            do throws(OutputError) {
                try prepare(delivery, context: context)
                return delivery
            } catch {
                let other = self.delivery(for: format, mustDecode: mustDecode)
                guard other != delivery else { throw error }
                delivery = other
            }
        }
        try prepare(delivery, context: context)
        return delivery
    }

    /// Decoded and encoded audio is converted to the stream's format; packets continue only in the same format.
    public func continuation(
        of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool
    ) -> AudioDelivery? {
        switch delivery {
        case .pcm, .encoded: delivery
        case .passThrough(let old): old == format && !mustDecode ? delivery : nil
        }
    }

    /// 60 ms.
    public var preroll: Duration { .milliseconds(60) }
    /// Sets the gain to 1: the output has no volume of its own.
    public func restoreGain() { setGain(1) }
    /// Nil: the output has no volume of its own.
    public var ownVolume: Double? { nil }
    /// True: there is no volume to report.
    public var isOwnVolumeKnown: Bool { true }
    /// Accepts no decoded audio.
    public func accept(_ block: PCMBlock, from offset: Int) -> Int { 0 }
    /// Accepts no packets.
    public func accept(_ batch: PacketBatch, from offset: Int) -> Int { 0 }
    /// Does nothing: the device opens in `prepare`.
    public func open() {}
    /// Does nothing: blocks have their speed.
    public func setSpeed(_ speed: Double) {}
    /// Does nothing: the output displays nothing.
    public func setNowPlaying(_ nowPlaying: NowPlaying?) {}
    /// True: accepted audio needs no conversion.
    public var isDrained: Bool { true }
    /// True: the delay is known from the start.
    public var isReadyToStart: Bool { true }
    /// Nil: `latency.startLead` suffices.
    public var earliestStart: HostInstant? { nil }
    /// The output's own delay until `isReadyToStart` is true; nil from then on.
    public var wait: OutputWait? { isReadyToStart ? nil : OutputWait(.ownDelay, of: name) }
    /// Nil: the output never fails after `prepare`.
    public var failure: OutputError? { nil }
    /// `failure`: the output does not recover automatically.
    public var loss: OutputError? { failure }
    /// False: the output always responds.
    public var isUnresponsive: Bool { false }
    /// True: no other output is to be replaced.
    public var isAudible: Bool { true }
    /// Nil: a gain takes effect at once.
    public var gainFailure: OutputError? { nil }
    /// Nil: the output follows the timebase.
    public var remoteTimeline: TimebaseSegment? { nil }
    /// False: there is no clock to adjust.
    public func adjustRemoteRate(by offset: Double) -> Bool { false }
}
