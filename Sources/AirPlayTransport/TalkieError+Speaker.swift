package import Discovery
package import MediaCore

// Conversion of errors of speakers to the common error type.

extension TalkieError {
    package init(_ error: DiscoveryError) {
        switch error.code {
        case .ambiguous, .badAddress: self.init(.invalidArgument, error.problem, remedy: error.remedy)
        default: self.init(.unavailable, error.problem, remedy: error.remedy)
        }
    }

    package init(_ error: AirPlayError) {
        let code: Code =
            switch error.code {
            case .pairingRequired, .notAuthentic, .timingUnavailable: .notPermitted
            case .refused where error.status == 403: .notPermitted
            case .unreachable, .timedOut, .lost, .busy: .unavailable
            default: .failed
            }
        self.init(code, error.problem, remedy: error.remedy)
    }
}
