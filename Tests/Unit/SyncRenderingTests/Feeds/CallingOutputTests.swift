import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

/// Outputs that call the renderer, the group and the synchronizer in each of their members: no lock is held there.
@Suite(.timeLimit(.minutes(10))) struct CallingOutputTests {
    private let rate = Int64(GroupRig.rate)

    @Test(arguments: [1, 2]) func anOutputMayCallRendererGroupAndSynchronizerInEachMember(outputs count: Int) throws {
        let (first, second) = (CallingOutput(), CallingOutput())
        let rig = count == 1 ? GroupRig(first) : GroupRig(first, second)
        let (renderer, group, synchronizer) = (rig.renderer, rig.group, rig.synchronizer)
        for output in [first, second] {
            output.onCall = { [unowned output] in
                _ = (renderer.progress, renderer.startWait, renderer.isReadyForMoreMediaData, renderer.error)
                _ = (renderer.volume, renderer.processing, renderer.nowPlaying, renderer.delay, renderer.devices)
                _ = (renderer.partialFlushLead, renderer.startLead, renderer.remoteTimeline, renderer.preroll)
                _ = (group.latency, group.wait, group.volume(of: output), group.knownVolume, group.problems)
                _ = (group.members.count, group.failure, group.isReadyToStart, group.changeProgress)
                _ = (synchronizer.startLead, synchronizer.rate, synchronizer.renderers.count, synchronizer.pendingStart)
                _ = synchronizer.currentTime()
            }
        }
        // Settings before and during playback.
        renderer.nowPlaying = NowPlaying(title: "Film")
        renderer.volume = 0.5
        rig.play()
        rig.run(for: .seconds(1))
        renderer.volume = 1.5
        renderer.isMuted = true
        renderer.isMuted = false
        renderer.setGain(nil)
        group.setVolume(50, of: first)
        group.setMasterVolume(40)
        group.changeVolume(by: 2)
        group.restoreVolumes()
        renderer.nowPlaying = NowPlaying(title: "Next")
        renderer.processing.gain = 0.5
        renderer.delay = .milliseconds(20)
        group.setDelay(.milliseconds(10), of: first)
        rig.run(for: .seconds(1))
        rig.flush(from: rig.playhead + rate / 2)
        rig.run(for: .seconds(1))
        rig.change(to: count == 1 ? second : first)
        rig.run(for: .seconds(2))
        synchronizer.setRate(2)
        rig.run(for: .seconds(1))
        rig.seek(to: 60 * rate)
        rig.run(for: .seconds(1))
        renderer.finish()
        rig.clock.advance(by: .milliseconds(200))
        rig.runUntilIdle()
        _ = (renderer.progress, renderer.startWait, synchronizer.startLead, synchronizer.stopLead)
        _ = renderer.adjustRemoteRate(by: 0)
        #expect(rig.outcomes.withLock { $0.count } == 1 && rig.results.withLock { $0.count } >= 1)
        let members = Set(
            [
                "latency", "desiredDepth", "delivery", "prepare", "accept", "finish", "acceptedUntil", "flush",
                "timebaseDidChange", "setGain", "failure", "close", "preroll", "isReadyToStart", "earliestStart",
                "wait",
                "loss", "isUnresponsive", "ownVolume", "isOwnVolumeKnown", "restoreGain", "gainFailure",
                "setNowPlaying", "remoteTimeline", "open", "partialFlushLead", "beginPartialFlush",
                "partialFlushResult", "truncatedPacket",
            ])
        renderer.setOutput(nil)
        rig.runUntilIdle()
        let missing = members.subtracting(first.calls).subtracting(second.calls)
        #expect(missing.isEmpty, "not called: \(missing)")
        for output in [first, second] { output.onCall = {} }
    }

    /// The first gain is applied by another thread, which is interrupted.
    @Test(arguments: [false, true]) func theLastGainIsAppliedLast(ofOutput: Bool) throws {
        let output = CallingOutput()
        let rig = GroupRig(output)
        rig.play()
        rig.run(for: .milliseconds(100))
        output.gains.withLock { $0 = [] }
        let (entered, release) = (Signal(), Signal())
        let isFirst = Lock(true)
        output.onGain = {
            guard
                isFirst.withLock({ first in
                    defer { first = false }
                    return first
                })
            else { return }
            entered.raise()
            release.wait()
        }
        let (renderer, group) = (rig.renderer, rig.group)
        let thread = try WorkerThread.start(name: "first gain") { renderer.volume = 0.25 }
        entered.wait()
        // Returns at once, although a gain is being applied.
        if ofOutput { group.setMuted(true, of: output) } else { renderer.volume = 0.75 }
        renderer.nowPlaying = NowPlaying(title: "Film")
        #expect(output.gains.withLock { $0.isEmpty })
        release.raise()
        thread.join()
        #expect(output.gains.withLock { $0 } == [0.25, ofOutput ? 0 : 0.75])
        output.onGain = {}
    }

    @Test func ofConcurrentGainsTheLastOneSetIsInForce() throws {
        let output = CallingOutput()
        let rig = GroupRig(output)
        rig.play()
        rig.run(for: .milliseconds(100))
        let (renderer, group) = (rig.renderer, rig.group)
        for round in 1...200 {
            let one = try WorkerThread.start(name: "one") { renderer.volume = Float(round) / 1000 }
            let other = try WorkerThread.start(name: "other") { group.setVolume(Double(round % 100), of: output) }
            renderer.volume = Float(round) / 500
            one.join()
            other.join()
            // The renderer's volume is that of the loudest output, which is the only one.
            #expect(output.gains.withLock { $0.last } == renderer.volume, "\(round)")
        }
    }
}

/// A tape that implements every optional protocol, and calls `onCall` in each member.
private final class CallingOutput: PartialFlushing, PreopeningOutput, StartReportingOutput, RecoveringOutput,
    OwnerVolumeOutput, NowPlayingOutput, OwnClockOutput, @unchecked Sendable
{
    let name = "calling"
    let kind = AudioRouteKind.virtual
    private let tape = TapeOutput.rig()
    var onCall: () -> Void = {}
    /// Called before a gain is recorded.
    var onGain: () -> Void = {}
    let gains = Lock<[Float]>([])
    /// How often each member was called.
    private let called = Lock<[String: Int]>([:])
    /// Whether this thread is in `onCall`, which calls members again.
    private let isCalling = Lock(false)
    /// The members that were called.
    var calls: Set<String> { called.withLock { Set($0.keys) } }

    private func call<Result>(_ member: String = #function, _ body: () throws(OutputError) -> Result)
        throws(OutputError) -> Result
    {
        let count = called.withLock { called in
            called[String(member.prefix { $0 != "(" }), default: 0] += 1
            return called[String(member.prefix { $0 != "(" })] ?? 0
        }
        // The first calls of each member, which take long.
        let calls =
            count <= 20
            && isCalling.withLock { calling in
                defer { calling = true }
                return !calling
            }
        if calls {
            onCall()
            isCalling.withLock { $0 = false }
        }
        return try body()
    }

    private func note<Result>(_ member: String = #function, _ body: () -> Result) -> Result {
        do throws(OutputError) {
            return try call(member) { () throws(OutputError) in body() }
        } catch {
            fatalError("\(error)")
        }
    }

    var latency: OutputLatency { note { tape.latency } }
    var desiredDepth: Duration { note { tape.desiredDepth } }
    func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        note { tape.delivery(for: format, mustDecode: mustDecode) }
    }
    func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        try call { () throws(OutputError) in try tape.prepare(delivery, context: context) }
    }
    func accept(_ block: PCMBlock, from offset: Int) -> Int { note { tape.accept(block, from: offset) } }
    func finish() { note { tape.finish() } }
    var acceptedUntil: MediaTime? { note { tape.acceptedUntil } }
    func flush() { note { tape.flush() } }
    func timebaseDidChange(_ snapshot: TimebaseSnapshot) { note { tape.timebaseDidChange(snapshot) } }
    func setGain(_ gain: Float) {
        note {
            onGain()
            gains.withLock { $0.append(gain) }
        }
    }
    var failure: OutputError? { note { tape.failure } }
    func close() { note { tape.close() } }

    func open() { note {} }
    var preroll: Duration { note { .milliseconds(60) } }
    var isReadyToStart: Bool { note { true } }
    var earliestStart: HostInstant? { note { nil } }
    var wait: OutputWait? { note { nil } }
    var loss: OutputError? { note { nil } }
    var isUnresponsive: Bool { note { false } }
    var isAudible: Bool { note { true } }
    var ownVolume: Double? { note { 100 } }
    var isOwnVolumeKnown: Bool { note { true } }
    func restoreGain() { note {} }
    var gainFailure: OutputError? { note { nil } }
    func setNowPlaying(_ nowPlaying: NowPlaying?) { note {} }
    var remoteTimeline: TimebaseSegment? { note { nil } }
    func adjustRemoteRate(by offset: Double) -> Bool { note { false } }
    var partialFlushLead: Duration { note { tape.partialFlushLead } }
    func beginPartialFlush(from time: MediaTime) { note { tape.beginPartialFlush(from: time) } }
    var partialFlushResult: PartialFlushResult? { note { tape.partialFlushResult } }
    var truncatedPacket: PacketBatch? { note { nil } }
}
