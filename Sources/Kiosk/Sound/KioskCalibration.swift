package import MediaCore
internal import Playback
package import ScreenOutput

/// The work of the program for a controller of a running kiosk. Requests and results are the program's own.
package struct KioskTasks: Sendable {
    /// Calibrates outputs with the kiosk's screen, which its owner does not use meanwhile. Blocks; called on its own
    /// thread.
    var calibrate:
        @Sendable (
            _ request: String, ScreenControl?, Interruption, _ progress: @escaping @Sendable (String) -> Void
        ) throws(TalkieError) -> String
    /// Lists, removes, exports or imports calibrations. Blocks on the disk.
    var editProfiles: @Sendable (_ request: String) throws(TalkieError) -> String

    package init(
        calibrate:
            @escaping @Sendable (
                String, ScreenControl?, Interruption, @escaping @Sendable (String) -> Void
            ) throws(TalkieError) -> String,
        editProfiles: @escaping @Sendable (String) throws(TalkieError) -> String
    ) { (self.calibrate, self.editProfiles) = (calibrate, editProfiles) }

    /// Refuses everything.
    static let none = KioskTasks(
        calibrate: { (_, _, _, _) throws(TalkieError) in throw TalkieError(.unavailable, "not supported") },
        editProfiles: { (_) throws(TalkieError) in throw TalkieError(.unavailable, "not supported") })
}

/// A calibration for a controller, while playback is stopped and its outputs are closed. One at a time. Used on the
/// kiosk's thread only.
///
/// A controller asks for the progress repeatedly. One that does not for `timeout` has ended: the calibration is
/// cancelled.
final class KioskCalibration {
    enum Event: Sendable {
        /// The outputs are closed, or could not be.
        case released
        case notReleased
        case progress(String)
        case ended(Result<String, TalkieError>)
    }

    static let timeout = Duration.seconds(5)
    /// How long a request for the progress waits for a change: shorter than the timeout, so that the controller is
    /// noticed.
    private static let interval = Duration.seconds(1)
    /// How long the end of the kiosk waits for outputs that are being closed.
    private static let endTimeout = Duration.seconds(5)
    /// The exit status after SIGINT.
    private static let cancelled: Int32 = 130

    private struct Run {
        let request: String
        let interruption = Interruption()
        /// Raised when the thread has closed its outputs.
        let hasEnded = Signal()
        var isRunning = false
        /// What the controller has not received yet.
        var progress: String?
        var result: Result<String, TalkieError>?
        /// A request of the controller that waits, and until when.
        var waiting: (reply: ControlReply, until: HostInstant)?
        /// When it is cancelled.
        var deadline: HostInstant
    }

    private let tasks: KioskTasks
    private let screen: ScreenControl?
    private let start: BackgroundWork
    private let post: @Sendable (Event) -> Void
    private var run: Run?

    /// - Parameters:
    ///   - start: Starts a thread.
    ///   - post: Called on any thread; must not block. The events are for `handle`.
    init(
        _ tasks: KioskTasks, screen: ScreenControl?, start: @escaping BackgroundWork,
        post: @escaping @Sendable (Event) -> Void
    ) { (self.tasks, self.screen, self.start, self.post) = (tasks, screen, start, post) }

    /// Whether the outputs belong to a calibration.
    var isActive: Bool { run.map { $0.result == nil } ?? false }

    /// Begins a calibration once the caller has closed the outputs and posts `released`.
    ///
    /// - Throws: `unavailable` during another one.
    func begin(_ request: String, at now: HostInstant, _ reply: @escaping ControlReply) throws(ControlError) {
        guard !isActive else {
            throw ControlError(.unavailable, "another calibration is in progress; try again later")
        }
        run = Run(request: request, deadline: now.advanced(by: Self.timeout))
        report(at: now, reply)
    }

    /// Replies with the progress or the result, once there is news.
    func report(at now: HostInstant, _ reply: @escaping ControlReply) {
        guard run != nil else {
            return reply(.failure(ControlError(.unavailable, "no calibration is in progress; begin one")))
        }
        run?.waiting?.reply(.success(.object([])))
        run?.waiting = (reply, now.advanced(by: Self.interval))
        run?.deadline = now.advanced(by: Self.timeout)
        answer(at: now)
    }

    private func cancel() { run?.interruption.raise(status: Self.cancelled) }

    /// Handles an event. Returns true if the outputs are free again.
    func handle(_ event: Event, at now: HostInstant) -> Bool {
        switch event {
        case .released:
            guard let run, !run.isRunning else { return false }
            self.run?.isRunning = true
            do throws(ExhaustionError) {
                try start("kiosk calibration", .normal) { [tasks, screen, post] in
                    let result: Result<String, TalkieError>
                    do throws(TalkieError) {
                        result = .success(
                            try tasks.calibrate(run.request, screen, run.interruption) { post(.progress($0)) })
                    } catch { result = .failure(error) }
                    run.hasEnded.raise()
                    post(.ended(result))
                }
            } catch {
                self.run?.isRunning = false
                return handle(.ended(.failure(TalkieError(error))), at: now)
            }
            return false
        case .notReleased:
            let failure = TalkieError(.unavailable, "the outputs of the kiosk cannot be closed; try again later")
            return handle(.ended(.failure(failure)), at: now)
        case .progress(let text):
            run?.progress = text
            answer(at: now)
            return false
        case .ended(let result):
            guard let run, run.result == nil else { return false }
            self.run?.isRunning = false
            self.run?.result = result
            answer(at: now)
            return true
        }
    }

    /// When `performDueWork` must be called at the latest.
    var nextDeadline: HostInstant? { run.map { $0.waiting?.until ?? $0.deadline } }

    /// Replies to a request that has waited, and cancels a calibration whose controller has ended.
    func performDueWork(at now: HostInstant) {
        guard let run else { return }
        if let waiting = run.waiting {
            if now >= waiting.until { answer(at: now, isDue: true) }
        } else if now >= run.deadline {
            // The result was not fetched.
            if run.result != nil { return self.run = nil }
            cancel()
            self.run?.deadline = now.advanced(by: Self.timeout)
        }
    }

    /// Cancels the calibration and waits until its outputs are closed.
    func stop() {
        guard let run, run.isRunning else { return }
        cancel()
        run.hasEnded.wait(until: .now.advanced(by: Self.endTimeout))
    }

    /// Replies to the waiting request, if there is news or it is due.
    private func answer(at now: HostInstant, isDue: Bool = false) {
        guard let run, let (reply, _) = run.waiting, isDue || run.progress != nil || run.result != nil else { return }
        self.run?.waiting = nil
        self.run?.progress = nil
        self.run?.deadline = now.advanced(by: Self.timeout)
        switch run.result {
        case .success(let text):
            self.run = nil
            reply(.success(.object([("result", .text(text))])))
        case .failure(let error):
            self.run = nil
            reply(.failure(ControlError(error)))
        case nil: reply(.success(.object([("progress", .text(run.progress ?? ""))])))
        }
    }
}
