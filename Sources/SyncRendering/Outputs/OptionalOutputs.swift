public import MediaCore

// What only some outputs can do. Threads, locks and blocking are as stated at `AudioOutput`: any thread, no lock is
// held, no call blocks.

/// An output that receives packets. Required of an output that asks for the deliveries `passThrough` or `encoded`.
public protocol PacketOutput: AudioOutput {
    /// Accepts packets from index `offset` of the batch on; returns the number of packets accepted. Called by the
    /// feeder.
    func accept(_ batch: PacketBatch, from offset: Int) -> Int

    /// Sets the media seconds per second of subsequent packets: an output that places packets by their media time must
    /// know how long they take. Called by the feeder, after a flush or before the first audio.
    func setSpeed(_ speed: Double)

    /// Returns how audio of another format continues the current stream without loss and without a gap. Nil if the
    /// stream must end and another one begin; the feeder then waits until the old one has played.
    func continuation(of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool) -> AudioDelivery?

    /// Why the packets have less quality than the user has requested; nil if they have not.
    var formatReduction: OutputError? { get }
}

extension PacketOutput {
    /// Does nothing: the output does not place packets by their media time.
    public func setSpeed(_ speed: Double) {}
    /// Nil: the quality is as requested.
    public var formatReduction: OutputError? { nil }

    /// Decoded and encoded audio is converted to the stream's format; packets continue only in the same format.
    public func continuation(
        of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool
    ) -> AudioDelivery? {
        switch delivery {
        case .pcm, .encoded: delivery
        case .passThrough(let old): old == format && !mustDecode ? delivery : nil
        }
    }
}

/// An output whose device takes time to open.
public protocol PreopeningOutput: AudioOutput {
    /// Starts to open the device in the background, in advance of audio. The result is reported by `prepare`.
    func open()
}

/// An output that limits when playback can start. Others start `latency.startLead` after they have accepted 60 ms.
public protocol StartReportingOutput: AudioOutput {
    /// How much media the output must have accepted before a start can be met.
    var preroll: Duration { get }

    /// Whether the output knows its own delay; false for a fraction of a second after it was opened, when a start would
    /// be misplaced. The output raises `context.writable` when this becomes true. Allocates nothing.
    var isReadyToStart: Bool { get }

    /// The earliest feasible start as currently known, because a speaker still has to synchronize its clock. May change
    /// before a scheduled start, which is then announced again. Nil if `latency.startLead` suffices. Allocates nothing.
    var earliestStart: HostInstant? { get }

    /// The reason why a start has to wait; nil if `latency.startLead` suffices.
    var wait: OutputWait? { get }
}

extension StartReportingOutput {
    /// 60 ms.
    public var preroll: Duration { .minPreroll }
    /// Nil: `latency.startLead` suffices.
    public var earliestStart: HostInstant? { nil }
    /// The output's own delay until `isReadyToStart` is true; nil from then on.
    public var wait: OutputWait? { isReadyToStart ? nil : OutputWait(.ownDelay, of: name) }
}

extension Duration {
    /// The preroll of an output that states none.
    static var minPreroll: Duration { .milliseconds(60) }
}

/// An output that can be lost and recovers without another `prepare`.
public protocol RecoveringOutput: AudioOutput {
    /// The reason why the output is currently silent: `failure`, or it was lost and recovers. Nil while it plays.
    var loss: OutputError? { get }

    /// Whether the output is unresponsive. It may still play its buffered audio: a stopped network and a stopped device
    /// are indistinguishable.
    var isUnresponsive: Bool { get }

    /// Why the output may be silent although it accepts audio: it does nothing that a playing device does. Nil if
    /// nothing suggests that.
    var unconfirmedPlayback: OutputError? { get }

    /// Whether the first audio since the output was opened or restored has played; replaced outputs play until then.
    var isAudible: Bool { get }
}

extension RecoveringOutput {
    /// False: the output always responds.
    public var isUnresponsive: Bool { false }
    /// Nil: nothing suggests that the output is silent.
    public var unconfirmedPlayback: OutputError? { nil }
    /// True: no other output is to be replaced.
    public var isAudible: Bool { true }
}

/// An output whose device can change while it plays.
package protocol MovableOutput: AudioOutput {
    /// The device through which the output plays; nil while there is none.
    var outputDevice: OutputDevice? { get }
}

/// The device through which an output plays.
package struct OutputDevice: Sendable, Hashable {
    /// The identifier of the device.
    package var name: String
    /// Whether it is the requested device and not a substitute.
    package var isOwn: Bool
    /// The destination behind the device, for the user, such as a sink of a sound server; nil while it is unknown.
    package var sink: String?

    package init(name: String, isOwn: Bool, sink: String?) {
        (self.name, self.isOwn, self.sink) = (name, isOwn, sink)
    }

    /// Whether the audio is heard elsewhere than on another device. A sink that becomes known is no move.
    package func hasMoved(from other: OutputDevice) -> Bool {
        name != other.name || sink != nil && other.sink != nil && sink != other.sink
    }
}

/// An output with a volume that its owner sets.
public protocol OwnerVolumeOutput: AudioOutput {
    /// The owner's volume, 0…100 (`VolumeCurve`); nil if it is unknown.
    var ownVolume: Double? { get }

    /// False while the output has not reported the owner's volume yet; true once it is prepared.
    var isOwnVolumeKnown: Bool { get }

    /// Restores the owner's volume from before the first `setGain`.
    func restoreGain()

    /// The reason why the last gain is not in effect; nil if it is.
    var gainFailure: OutputError? { get }
}

extension OwnerVolumeOutput {
    /// Nil: a gain takes effect at once.
    public var gainFailure: OutputError? { nil }
}

/// An output that displays the item that plays.
public protocol NowPlayingOutput: AudioOutput {
    /// Sets the item that plays; nil: none. Also for later uses of the output.
    func setNowPlaying(_ nowPlaying: NowPlaying?)
}

/// An output whose clock cannot be adjusted to the timebase; the timebase is steered to it.
public protocol OwnClockOutput: AudioOutput {
    /// The timeline of delivered audio; nil while the output follows the timebase.
    var remoteTimeline: TimebaseSegment? { get }

    /// Adjusts the rate of `remoteTimeline` to differ from this computer's clock by a ratio, for about a second; the
    /// caller repeats it. Returns false, without effect, if the device follows only its own clock.
    func adjustRemoteRate(by offset: Double) -> Bool
}

extension OwnClockOutput {
    /// False: there is no clock to adjust.
    public func adjustRemoteRate(by offset: Double) -> Bool { false }
}

/// An output with what else it can do, found once: a cast is a search.
struct OutputAbilities: Sendable {
    let output: any AudioOutput
    let packets: (any PacketOutput)?
    let starting: (any StartReportingOutput)?
    let recovering: (any RecoveringOutput)?
    let movable: (any MovableOutput)?
    let ownerVolume: (any OwnerVolumeOutput)?
    let display: (any NowPlayingOutput)?
    let ownClock: (any OwnClockOutput)?
    let flushing: (any PartialFlushing)?

    init(_ output: any AudioOutput) {
        self.output = output
        (packets, starting) = (output as? any PacketOutput, output as? any StartReportingOutput)
        (recovering, ownerVolume) = (output as? any RecoveringOutput, output as? any OwnerVolumeOutput)
        (display, ownClock) = (output as? any NowPlayingOutput, output as? any OwnClockOutput)
        (flushing, movable) = (output as? any PartialFlushing, output as? any MovableOutput)
    }

    /// The preroll, if the output states one; 60 ms otherwise.
    var preroll: Duration { starting?.preroll ?? .minPreroll }

    /// `failure`, or the reason why the output is silent until it recovers; nil while it plays.
    var loss: OutputError? { recovering.map(\.loss) ?? output.failure }

    /// Restores the owner's volume; without one the gain is 1.
    func restoreGain() {
        if let ownerVolume { ownerVolume.restoreGain() } else { output.setGain(1) }
    }
}

extension AudioOutput {
    package var preopening: (any PreopeningOutput)? { self as? any PreopeningOutput }
    /// `failure`, or the reason why the output is silent until it recovers; nil while it plays.
    package var currentLoss: OutputError? { OutputAbilities(self).loss }
}
