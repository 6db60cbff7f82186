internal import AirPlay
internal import MediaCore

// What went wrong with a speaker, as the program's exit status and sentence.

extension PlayerFailure {
    init(_ error: DiscoveryError) {
        switch error.code {
        case .ambiguous, .badAddress: self.init(exitStatus: ExitStatus.usage, message: error.message)
        default: self.init(exitStatus: ExitStatus.unavailable, message: error.message)
        }
    }

    init(_ error: AirPlayError) {
        let status: Int32 =
            switch error.code {
            case .pairingRequired, .notAuthentic, .timingUnavailable: ExitStatus.notPermitted
            case .refused where error.status == 403: ExitStatus.notPermitted
            case .unreachable, .timedOut, .lost, .busy: ExitStatus.unavailable
            default: ExitStatus.failed
            }
        self.init(exitStatus: status, message: error.message)
    }

    init(_ failure: PairingFailure) {
        let status: Int32 =
            switch failure.code {
            case .malformed: ExitStatus.failed
            case .refused where failure.status == 453 || failure.status == 503: ExitStatus.unavailable
            default: ExitStatus.notPermitted
            }
        self.init(exitStatus: status, message: failure.message)
    }

    init(_ error: StateError) {
        self.init(
            exitStatus: error.code == .inaccessible ? ExitStatus.notPermitted : ExitStatus.failed,
            message: error.message)
    }
}
