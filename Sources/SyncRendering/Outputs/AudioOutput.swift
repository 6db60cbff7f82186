public import MediaCore

/// How an output wants to be handed sound of some format.
public enum AudioDelivery: Sendable, Equatable {
    /// Decoded, mixed and resampled to this.
    case pcm(PCMFormat)
    /// The film's own packets, untouched.
    case passThrough(AudioFormat)
    /// Decoded, resampled and encoded again to this.
    case encoded(AudioFormat, from: PCMFormat)
    /// The film's buffers as they are, at every speed: the output converts by itself, as a group does for its members.
    case sampleBuffers(AudioFormat)
}

/// What kind of way the sound takes; decides what may be sent there. An open set: a new kind of output adds its own.
public struct AudioRouteKind: Hashable, Sendable {
    /// As recordings name it.
    public let rawValue: String
    /// It leaves this computer: short sounds would come late there, and interrupt the neighbours.
    public let isRemote: Bool

    public init(rawValue: String, isRemote: Bool) {
        self.rawValue = rawValue
        self.isRemote = isRemote
    }

    public static let soundCard = AudioRouteKind(rawValue: "soundCard", isRemote: false)
    public static let bufferedSpeaker = AudioRouteKind(rawValue: "bufferedSpeaker", isRemote: true)
    public static let realtimeSpeaker = AudioRouteKind(rawValue: "realtimeSpeaker", isRemote: true)
    /// Several at once, which may be of any kind.
    public static let group = AudioRouteKind(rawValue: "group", isRemote: true)
    /// A card of a test.
    public static let virtual = AudioRouteKind(rawValue: "virtual", isRemote: false)
}

/// Where sound goes: a sound card, a speaker across the network, a group, or a virtual card in tests.
///
/// The renderer's feeder thread owns the data calls (`prepare`, `accept…`, `finish`, `flush`, `close`) and makes
/// them one at a time. `timebaseDidChange` comes from the thread that commanded the synchronizer and must return at
/// once. The output reads `timebase` itself, subtracts its own delay, and places every sample so that film moment M
/// is heard at host instant H. It never becomes the clock.
///
/// Data is pushed with back-pressure: when an output cannot take more it returns less than offered and raises
/// `room` when it can.
public protocol AudioOutput: AnyObject, Sendable {
    /// For people: `"HDMI 0"`, `"Kitchen"`.
    var name: String { get }
    var kind: AudioRouteKind { get }
    /// What this output costs in time, as known now. Any thread.
    var latency: OutputLatency { get }
    /// How far ahead of the playhead, in film time at speed 1, this output wants the renderer filled.
    var desiredDepth: Duration { get }

    /// How much film the output must have taken before a start can be kept.
    var preroll: Duration { get }

    /// How sound of this format should be handed over. Any thread, no side effects.
    /// - Parameter mustDecode: true when the sound is to be changed on the way (speed, gain), so packets won't do.
    func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery

    /// How sound of another format goes on in the stream that is under way, so that nothing is lost and no gap is heard;
    /// nil when the stream must end and another begin. The feeder waits then until the old one has been heard.
    func continuation(of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool) -> AudioDelivery?

    /// Begins to open a device in the background, ahead of need: a renderer was added, and sound will come. Whether it worked
    /// is told by `prepare`. Any thread; must return at once. Does nothing by default.
    func open()

    /// Gets ready to take sound delivered that way. May block while a device opens or a speaker answers.
    ///
    /// Called again when the delivery changes. On failure nothing is held and the call may be repeated.
    func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError)

    /// Takes decoded sound from frame `offset` of the block on; returns how many frames it took. Never blocks.
    func accept(_ block: PCMBlock, from offset: Int) -> Int

    /// Takes packets from index `offset` of the batch on; returns how many packets it took. Never blocks.
    func accept(_ batch: PacketBatch, from offset: Int) -> Int

    /// Takes a buffer whole, or not at all; only outputs that asked for `sampleBuffers` are offered any. Never blocks.
    func accept(_ buffer: SampleBuffer) -> Bool

    /// Film seconds per second of the sound that follows, for outputs that convert by themselves.
    func setSpeed(_ speed: Double)

    /// No more material follows for now: what is queued plays out, and running dry is no underrun.
    func finish()

    /// True when nothing accepted waits to be converted any more; an output raises `room` when it becomes true.
    var isDrained: Bool { get }

    /// False while the output is still finding out its own delay, for a fraction of a second after it was opened: a
    /// start would be misplaced. The output raises `room` when it turns true. Any thread, allocates nothing.
    var isReadyToStart: Bool { get }

    /// No start before this instant can be kept, as known now: a speaker has yet to learn the clock. It may move while
    /// a start lies ahead, which is then announced anew. Nil when `latency.startLead` says all. Any thread, allocates
    /// nothing.
    var earliestStart: HostInstant? { get }

    /// What a start would have to wait for; nil when it can be kept with `latency.startLead`. Any thread.
    var wait: OutputWait? { get }

    /// Why nothing is heard any more, when an output found that out by itself after `prepare`; nil otherwise.
    var failure: OutputError? { get }

    /// Why nothing is heard at present: `failure`, or the output was lost and tries to come back without being prepared again. Nil
    /// while it plays. Any thread.
    var loss: OutputError? { get }

    /// True while the output shows no sign of life and may still play the sound that it holds: a network or a device that has stopped
    /// looks the same from here. Any thread.
    var isUnresponsive: Bool { get }

    /// False while the first sound since the output was opened, or came back, is still to be heard: outputs that it replaces play
    /// until then. Any thread.
    var isAudible: Bool { get }

    /// Why the loudness that was set last is not in force; nil while it is. Any thread.
    var gainFailure: OutputError? { get }

    /// The line on which sound handed over lies for good, when the output plays by a clock of its own that cannot be
    /// moved; the timebase is bent to meet it. Nil for outputs that follow the timebase, as nearly all do. Any thread.
    var remoteTimeline: TimebaseSegment? { get }

    /// Film time up to which sound has been taken since the last flush; nil when there is none.
    var acceptedUntil: MediaTime? { get }

    /// Drops everything that was taken and is not yet heard. What is accepted next starts anew.
    func flush()

    /// The timeline changed: a start, a stop, a jump. Must return at once; heavy work goes to the output's own thread.
    func timebaseDidChange(_ snapshot: TimebaseSnapshot)

    /// What is done to decoded sound, for outputs that convert by themselves. Any thread.
    func setTreatment(_ treatment: SoundTreatment)

    /// Loudness of this output: 0 is silent, 1 is unchanged (0 dB). Applied smoothly. Any thread.
    func setGain(_ gain: Float)

    /// As loud as its owner left it before `setGain` was called first. Any thread.
    func restoreGain()

    /// The loudness its owner left, as a volume of 0…100 (`VolumeCurve`); nil when it has none of its own, or it is
    /// not known yet. Any thread; reads a field.
    var ownVolume: Double? { get }

    /// False while the output has a loudness of its own that it has not reported yet; true once it is prepared. Any
    /// thread; reads a field.
    var isOwnVolumeKnown: Bool { get }

    /// Falls silent and gives the device or speaker back. May block briefly. The output may be prepared again.
    func close()
}

/// What the renderer lends to an output while it is in use.
public struct AudioOutputContext: Sendable {
    public let timebase: Timebase
    /// Raised by the output, from any thread, when it can take more.
    public let room: Signal
    /// Where the output notes what happens.
    public let events: EventLog
    public let id: OutputID
    /// What the output shares with the others that it plays together with; nil when it is in no group.
    public let group: GroupScope?

    public init(timebase: Timebase, room: Signal, events: EventLog, id: OutputID, group: GroupScope? = nil) {
        self.timebase = timebase
        self.room = room
        self.events = events
        self.id = id
        self.group = group
    }
}

extension AudioOutput {
    /// Decoded and encoded sound is brought to what the stream is; packets go on only where they are of one kind.
    public func continuation(
        of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool
    ) -> AudioDelivery? {
        switch delivery {
        case .pcm, .encoded: delivery
        case .passThrough(let old): old == format && !mustDecode ? delivery : nil
        case .sampleBuffers: .sampleBuffers(format)
        }
    }

    public var preroll: Duration { .milliseconds(60) }
    public func restoreGain() { setGain(1) }
    public var ownVolume: Double? { nil }
    public var isOwnVolumeKnown: Bool { true }
    public func accept(_ block: PCMBlock, from offset: Int) -> Int { 0 }
    public func accept(_ batch: PacketBatch, from offset: Int) -> Int { 0 }
    public func open() {}
    public func accept(_ buffer: SampleBuffer) -> Bool { false }
    public func setSpeed(_ speed: Double) {}
    public func setTreatment(_ treatment: SoundTreatment) {}
    public var isDrained: Bool { true }
    public var isReadyToStart: Bool { true }
    public var earliestStart: HostInstant? { nil }
    public var wait: OutputWait? { isReadyToStart ? nil : OutputWait(.ownDelay, of: name) }
    public var failure: OutputError? { nil }
    public var loss: OutputError? { failure }
    public var isUnresponsive: Bool { false }
    public var isAudible: Bool { true }
    public var gainFailure: OutputError? { nil }
    public var remoteTimeline: TimebaseSegment? { nil }
}
