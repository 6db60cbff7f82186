internal import CFFmpeg
internal import MediaCore

/// The shared reader of an input that cannot be opened twice (a pipe, a live stream, HLS). The thread that needs a
/// packet reads the input and stores the packets of other tracks in their windows.
///
/// A window is bounded in bytes. A track that runs ahead waits while another's window is full. After a second without
/// progress the interleaving is worse than the window, and twice the size is allowed. Beyond that the oldest samples of
/// the slow track are dropped, marked by a discontinuity.
///
/// Subtitles are sparse: their reader never reads the input while audio or video is read, and other tracks never wait
/// for it.
///
/// `@unchecked Sendable`: only the thread that has set `isReading` uses or replaces `context`; `state` is locked.
final class SharedDemuxer: @unchecked Sendable {
    /// Guarded by the lock `state`.
    struct State {
        /// A lane for each track, then those for further readers of one.
        var lanes: [SharedLane] = []
        /// The signals of the lanes, which are raised without the lock.
        var wakeSignals: [Signal] = []
        /// Whether a thread uses the context.
        var isReading = false
        var isAtEnd = false
        var failure: MediaError?
        /// Interrupts the input once all readers are cancelled; replaced for the next reader.
        var stop = Cancellation()
        /// Set when a track is selected or released: the demuxer's discarded streams change.
        var choiceChanged = true
        /// The number of seeks, then target, mode and result of the last one.
        var jumps: UInt64 = 0
        var target: MediaTime?
        var mode = SeekMode.exact
        var landed: MediaTime?

        /// Whether audio or video is being read.
        var hasReaders: Bool { lanes.contains { $0.isActive && !$0.isCancelled && $0.track.kind != .subtitle } }
    }

    private enum Step {
        case deliver(SampleBuffer)
        case end
        case fail(MediaError)
        case demux(choiceChanged: Bool)
        case wait
    }

    /// Reopens the input at its start and returns the stream of each track.
    typealias Reopening = @Sendable () throws(MediaError) -> (DemuxContext, streams: [UnsafeMutablePointer<AVStream>])

    /// Used only by the thread that has set `State.isReading`.
    var context: DemuxContext
    /// Reopens the input of a server without range requests; nil if it cannot be reopened.
    let reopening: Reopening?
    private let jumps: TimestampDiscontinuities
    private let origin: FilmOrigin
    private let batch: Duration
    let state: Lock<State>
    let windowBytes: Int
    /// The cancellation that interrupts `context`. Used only by the thread that has set `State.isReading`.
    private var observed: Cancellation
    /// The maximum time that a track waits for another whose window is full.
    private static let timeout = Duration.seconds(1)

    init(
        _ context: DemuxContext, tracks: [Track], origin: FilmOrigin, jumps: TimestampDiscontinuities,
        options: ReadOptions,
        reopening: Reopening? = nil
    ) {
        self.context = context
        self.reopening = reopening
        self.origin = origin
        batch = options.audioBatch
        self.jumps = jumps
        windowBytes = max(1 << 20, options.windowBytes)
        var initial = State()
        for track in tracks {
            let stream = context.streams[track.id]
            let clock = TrackClock(stream: stream, origin: origin[Int32(clamping: track.id)])
            let packager = PacketBatcher(track: track, stream: stream, clock: clock, batch: options.audioBatch)
            initial.lanes.append(SharedLane(track: track, stream: stream.pointee.index, packager: packager))
        }
        initial.wakeSignals = initial.lanes.map(\.wakeSignal)
        observed = initial.stop
        state = Lock(initial)
        context.waiting.add(observed)
    }

    /// Returns a reader of a track and starts buffering its packets; several readers of a track are independent. Any
    /// thread.
    ///
    /// - Throws: `unsupported` for a track that is not of this film.
    func source(for track: Track) throws(MediaError) -> SharedTrackReader {
        let lane = state.withLock { state -> Int? in
            guard let first = state.lanes.firstIndex(where: { $0.track.id == track.id }) else { return nil }
            let free = state.lanes.firstIndex { $0.track.id == track.id && !$0.isActive }
            if free == nil {
                state.lanes.append(state.lanes[first].another())
                state.wakeSignals.append(state.lanes[state.lanes.count - 1].wakeSignal)
            }
            let index = free ?? state.lanes.count - 1
            state.lanes[index].isActive = true
            state.lanes[index].isCancelled = false
            state.choiceChanged = true
            if state.stop.isCancelled {
                state.stop = Cancellation()
                if state.failure?.code == .cancelled { state.failure = nil }
            }
            return index
        }
        guard let lane else {
            throw MediaError(.unsupported, "this film has no track \(track.id); choose one of its tracks")
        }
        return SharedTrackReader(track: track, lane: lane, demuxer: self)
    }

    /// Empties the window of a lane without a reader and stops buffering its packets.
    func release(lane: Int) {
        state.withLock { state in
            state.lanes[lane].isActive = false
            state.lanes[lane].removeAll()
            state.choiceChanged = true
        }
        wakeReaders()
    }

    func cancel(lane: Int) {
        state.withLock { state in
            state.lanes[lane].isCancelled = true
            if state.lanes.allSatisfy({ !$0.isActive || $0.isCancelled }) { state.stop.cancel() }
        }
        wakeReaders()
    }

    /// Lets the input continue after an interruption, for a reader that was added since.
    private func observeStop() {
        let stop = state.withLock { $0.stop }
        guard stop !== observed else { return }
        context.resume(observing: stop, insteadOf: observed)
        observed = stop
    }

    // MARK: Reading

    func read(lane: Int) throws(MediaError) -> SampleBuffer? {
        while true {
            switch state.withLock({ nextStep(&$0, lane: lane) }) {
            case .deliver(let buffer):
                // Wakes the readers that wait for space in this window.
                wakeReaders(except: lane)
                return buffer
            case .end: return nil
            case .fail(let error): throw error
            case .demux(let choiceChanged): demux(choiceChanged: choiceChanged)
            case .wait: wait(lane: lane)
            }
        }
    }

    private func nextStep(_ state: inout State, lane: Int) -> Step {
        if state.lanes[lane].isCancelled { return .fail(MediaError(.cancelled, "reading was cancelled")) }
        if let error = state.lanes[lane].consumeLostSegment() { return .fail(error) }
        if let buffer = state.lanes[lane].removeFirst() { return .deliver(buffer) }
        if let failure = state.failure { return .fail(failure) }
        if state.isAtEnd { return .end }
        if state.lanes[lane].track.kind == .subtitle {
            let front = state.lanes.lazy.filter { $0.track.kind != .subtitle }.compactMap(\.reached).max()
            if let front, let pace = state.lanes[lane].pace(at: front) { return .deliver(pace) }
            if state.hasReaders { return .wait }
        }
        if state.isReading { return .wait }
        for index in state.lanes.indices where index != lane && state.lanes[index].isActive {
            if state.lanes[index].bytes < windowBytes { continue }
            if state.lanes[index].track.kind == .subtitle {
                state.lanes[index].loseOldest(downTo: windowBytes / 2)
                continue
            }
            if state.lanes[index].timeFull(.now) < Self.timeout { return .wait }
            state.lanes[index].loseOldest(downTo: windowBytes * 2)
        }
        state.isReading = true
        let changed = state.choiceChanged
        state.choiceChanged = false
        return .demux(choiceChanged: changed)
    }

    /// Reads one packet outside the lock and stores it in its window.
    private func demux(choiceChanged: Bool) {
        observeStop()
        if choiceChanged { discardInactiveStreams() }
        var packet: UnsafeMutablePointer<AVPacket>?
        var failure: MediaError?
        do throws(MediaError) { packet = try context.nextPacket() } catch { failure = error }
        if packet == nil, failure == nil { failure = context.shortfall() }
        let lostSegment = context.consumeLostSegment()
        state.withLock { state in
            if let lostSegment {
                for lane in state.lanes.indices where state.lanes[lane].isActive {
                    state.lanes[lane].recordLostSegment(lostSegment)
                }
            }
            if let packet {
                let stream = packet.pointee.stream_index
                for lane in state.lanes.indices where state.lanes[lane].stream == stream {
                    if state.lanes[lane].isActive {
                        state.lanes[lane].add(
                            packet, shift: context.shift, isNewRecording: context.gaps == nil,
                            of: context.parameters(of: packet))
                    } else {
                        state.lanes[lane].notice(packet, shift: context.shift)
                    }
                }
            } else if !observed.isCancelled || state.stop === observed {
                // Otherwise the input was interrupted for earlier readers, and a new one continues.
                state.failure = failure
                state.isAtEnd = failure == nil
                for lane in state.lanes.indices { state.lanes[lane].close() }
            }
            state.isReading = false
        }
        wakeReaders()
    }

    private func discardInactiveStreams() {
        let wanted = state.withLock { state in
            var wanted = Set(state.lanes.filter(\.isActive).map(\.stream))
            // Subtitles alone still need a track that shows the reading position.
            if !state.hasReaders, let pace = state.lanes.first(where: { $0.track.kind == .audio }) ?? state.lanes.first
            {
                wanted.insert(pace.stream)
            }
            return wanted
        }
        context.discardExcept { wanted.contains($0) }
    }

    private func wakeReaders(except lane: Int? = nil) {
        let signals = state.withLock { $0.wakeSignals }
        for index in signals.indices where index != lane {
            signals[index].clear()
            signals[index].raise()
        }
    }

    private func wait(lane: Int) {
        let signal = state.withLock { $0.wakeSignals[lane] }
        signal.wait(until: HostInstant.now.advanced(by: .milliseconds(100)))
    }

    // MARK: Seeking

    /// Seeks the input for the first track that requests a position; the other tracks join with the same target.
    /// Blocks.
    func seek(lane: Int, to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        while true {
            let joined = try state.withLock {
                state throws(MediaError) -> (done: Bool, landed: MediaTime?, mayJump: Bool) in
                // Its jump would move the other tracks.
                if state.lanes[lane].isCancelled { throw MediaError(.cancelled, "the seek was cancelled") }
                let hasMissed = state.lanes[lane].jump < state.jumps && !state.lanes[lane].hasGivenSinceJump
                // All subtitles are returned, regardless of the mode.
                let isAlike = state.mode == mode || state.lanes[lane].track.kind == .subtitle
                let mayJoin = (state.failure?.code ?? .incomplete) == .incomplete
                if hasMissed, state.target == time, isAlike, mayJoin, !state.isReading {
                    state.lanes[lane].jump = state.jumps
                    return (true, state.landed, false)
                }
                if state.isReading { return (false, nil, false) }
                state.isReading = true
                return (false, nil, true)
            }
            if joined.done { return joined.landed }
            if joined.mayJump { break }
            wait(lane: lane)
        }
        defer { wakeReaders() }
        return try jump(lane: lane, to: time, mode: mode)
    }

    private func jump(lane: Int, to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        observeStop()
        discardInactiveStreams()
        // Video can start at few positions, audio nearly anywhere: the video track leads.
        let leader = state.withLock { state -> SharedLane in
            for index in state.lanes.indices { state.lanes[index].reset(time, mode: mode) }
            state.isAtEnd = false
            state.failure = nil
            return state.lanes.first { $0.isActive && $0.track.kind == .video && !$0.track.isCoverArt }
                ?? state.lanes.first { $0.isActive && $0.track.kind == .audio } ?? state.lanes[lane]
        }
        var landed: MediaTime?
        var failure: MediaError?
        do throws(MediaError) {
            if !context.canSeek, reopening != nil {
                landed = try readOn(to: time, mode: mode, leader: leader.track)
            } else if !context.canSeek {
                throw MediaError(.unsupported, "this input is not seekable; save it to a file first")
            } else {
                let plan = SeekPlan(track: leader.track, stream: leader.stream, target: time, mode: mode)
                landed = try plan.run(on: context, packager: leader.packager, epoch: leader.epoch, jumps: jumps)
            }
        } catch { failure = error }
        state.withLock { state in
            state.jumps += 1
            state.lanes[lane].jump = state.jumps
            (state.target, state.mode, state.landed) = (time, mode, landed)
            state.isReading = false
        }
        if let failure { throw failure }
        return landed
    }

    /// Reopens the input at its start.
    func reopen(for time: MediaTime, mode: SeekMode) throws(MediaError) {
        guard let reopening else { return }
        let (fresh, streams) = try reopening()
        fresh.waiting.add(observed)
        context = fresh
        state.withLock { state in
            (state.isAtEnd, state.failure) = (false, nil)
            for index in state.lanes.indices {
                let track = state.lanes[index].track
                // The first lanes are those of the tracks, in order.
                guard let first = state.lanes.firstIndex(where: { $0.track.id == track.id }) else { continue }
                let stream = streams[first]
                let packager = PacketBatcher(
                    track: track, stream: stream,
                    clock: TrackClock(stream: stream, origin: origin[Int32(clamping: track.id)]), batch: batch)
                state.lanes[index].rebind(to: stream.pointee.index, packager)
                state.lanes[index].reset(time, mode: mode)
            }
        }
        discardInactiveStreams()
    }
}
