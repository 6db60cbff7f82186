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
/// The output reads the timebase of its context, subtracts its own delay, and places every sample so that media time M
/// is audible at host instant H. It never becomes the clock; see `OwnClockOutput` for those that cannot be adjusted.
///
/// Data is pushed with back-pressure: an output that is full accepts less than offered, and raises `context.writable`
/// once it has space.
///
/// Threads: `prepare` and `close` are called by threads that open and close outputs, `accept`, `finish` and `flush` by
/// the output's feeder, and `flush` also before the output moves to another renderer; these calls never overlap. All
/// others are made by any thread, at any time, also before `prepare` and after `close`. Only `prepare` and `close` may
/// block. Commands of the synchronizer wait for `latency`, `wait` and `timebaseDidChange`: in these an output must not
/// take a lock that it also holds while it sends a command (`AudioOutputContext.send`).
///
/// What only some outputs can do is declared by further protocols: `PacketOutput`, `PreopeningOutput`,
/// `StartReportingOutput`, `RecoveringOutput`, `OwnerVolumeOutput`, `NowPlayingOutput`, `OwnClockOutput`,
/// `PartialFlushing`.
public protocol AudioOutput: AudioDestination {
    /// The current timing requirements of this output.
    var latency: OutputLatency { get }
    /// How far ahead of the playhead the renderer should be filled, in media time at speed 1.
    var desiredDepth: Duration { get }

    /// Returns the delivery for audio of a format. Opens nothing; an output may only note the format for its reports.
    ///
    /// - Parameter mustDecode: Whether the samples will be modified (speed, gain), which excludes packets.
    func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery

    /// Prepares the output for a delivery: opens a device, connects to a speaker. Called again when the delivery
    /// changes, with another context when the output moves to another renderer without being closed, and after `close`.
    ///
    /// - Throws: The cause, with a remedy in its message. Nothing is held then, and the call may be repeated.
    func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError)

    /// Accepts decoded audio from frame `offset` of the block on; returns the number of frames accepted.
    ///
    /// The block is lent for the duration of the call and then refilled: its samples are copied, it is not retained.
    func accept(_ block: PCMBlock, from offset: Int) -> Int

    /// Signals the end of input: queued audio plays out, and an empty queue is no underrun. Further audio may follow.
    func finish()

    /// The end of the audio accepted since the last flush, in media time; nil if there is none.
    var acceptedUntil: MediaTime? { get }

    /// Drops all accepted audio that is not yet audible. The next audio starts afresh.
    func flush()

    /// Applies a changed timeline: a start, a stop or a seek. Longer work is done on the output's own thread.
    func timebaseDidChange(_ snapshot: TimebaseSnapshot)

    /// Sets the linear gain: 0 is silent, 1 is unchanged (0 dB). Applied as a ramp. Also for later uses of the output.
    func setGain(_ gain: Float)

    /// The reason why the output is permanently silent, if it failed after `prepare`; nil otherwise.
    var failure: OutputError? { get }

    /// Silences the output and releases the device or speaker. The output may be prepared again.
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

    /// Accepts no decoded audio: for outputs that receive packets only.
    public func accept(_ block: PCMBlock, from offset: Int) -> Int { 0 }
    /// Nil: the output never fails after `prepare`.
    public var failure: OutputError? { nil }
}
