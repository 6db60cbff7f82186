internal import MediaCodecs
internal import MediaCore
internal import Profiles
internal import ScreenOutput
internal import SyncRendering

/// Runs a window on the main thread while the calibration runs on a separate thread.
struct CalibrationStage {
    private let arguments: CalibrateArguments
    private let showsVideo: Bool
    private let interruption: Interruption

    init(_ arguments: CalibrateArguments, showsVideo: Bool, interruption: Interruption) {
        self.arguments = arguments
        self.showsVideo = showsVideo
        self.interruption = interruption
    }

    /// Runs `work` and blocks until it is done and the window is closed. Must be called on the main thread.
    ///
    /// - Parameters:
    ///   - keys: Receives other keys, on a separate thread.
    ///   - work: Receives the screen, or nil without one; runs on the thread `calibration`, or here without a screen.
    func perform<Value: Sendable>(
        keys: @escaping @Sendable (String) -> Void = { _ in },
        _ work: @escaping (ScreenControl?) throws(TalkieError) -> Value?
    ) -> Result<Value?, TalkieError> {
        guard showsVideo else { return Self.result(work, nil) }
        let loop = ScreenLoop(options: options, converter: SoftwareFrameConverter())
        let screen = loop.control
        screen.setTitle("Talkie – calibration")
        let interruption = interruption
        let lost = Lock<TalkieError?>(nil)
        screen.onInput { input in
            switch input {
            case .key("q", _), .key("ESC", _), .close: interruption.raise(status: ExitStatus.interrupted)
            case .key(let key, _): keys(key)
            case .lost(let error):
                lost.withLock {
                    $0 = TalkieError(.unavailable, error.message)
                }
                interruption.raise(status: ExitStatus.unavailable)
            default: break
            }
        }
        let mainThreadWork = MainThreadWork(work)
        let thread: WorkerThread
        do throws(ExhaustionError) {
            thread = try WorkerThread.start(name: "calibration") {
                mainThreadWork.run(screen)
                screen.stop()
            }
        } catch {
            return .failure(TalkieError(error))
        }
        loop.run()
        thread.join()
        if let failure = lost.withLock({ $0 }) { return .failure(failure) }
        return mainThreadWork.result
    }

    private var options: ScreenOptions {
        var options = ScreenOptions()
        options.title = "Talkie – calibration"
        options.isFullScreen = !arguments.isWindow
        switch arguments.screen {
        case .number(let index)?: options.display = .index(index)
        case .named(let name)?: options.display = .name(name)
        case nil: break
        }
        return options
    }

    private static func result<Value>(
        _ work: (ScreenControl?) throws(TalkieError) -> Value?, _ screen: ScreenControl?
    ) -> Result<Value?, TalkieError> {
        do throws(TalkieError) { return .success(try work(screen)) } catch { return .failure(error) }
    }

    /// Transfers the work to its thread and the result back.
    ///
    /// `@unchecked Sendable`: created by the main thread, run by the worker, and read by the main thread after joining
    /// it.
    private final class MainThreadWork<Value: Sendable>: @unchecked Sendable {
        private let work: (ScreenControl?) throws(TalkieError) -> Value?
        private(set) var result: Result<Value?, TalkieError> = .success(nil)

        init(_ work: @escaping (ScreenControl?) throws(TalkieError) -> Value?) { self.work = work }

        func run(_ screen: ScreenControl) { result = CalibrationStage.result(work, screen) }
    }
}

extension LatencyProfile.Key {
    /// The display mode of the screen, as in profile keys.
    static func mode(_ status: ScreenControl.Status) -> String {
        mode(refresh: status.displayRate, isFullScreen: status.isFullScreen)
    }
}
