internal import AirPlayTransport
package import Discovery
internal import MediaCore
internal import Storage

// Conversion of speaker errors to the common error type.

extension TalkieError {
    package init(_ error: DiscoveryError) {
        switch error.code {
        case .ambiguous, .badAddress: self.init(.invalidArgument, error.problem, remedy: error.remedy)
        default: self.init(.unavailable, error.problem, remedy: error.remedy)
        }
    }

    init(_ error: AirPlayError) {
        let code: Code =
            switch error.code {
            case .pairingRequired, .notAuthentic, .timingUnavailable: .notPermitted
            case .refused where error.status == 403: .notPermitted
            case .unreachable, .timedOut, .lost, .busy: .unavailable
            default: .failed
            }
        self.init(code, error.problem, remedy: error.remedy)
    }

    init(_ failure: PairingFailure) {
        let code: Code =
            switch failure.code {
            case .malformed: .failed
            case .refused where failure.status == 453 || failure.status == 503: .unavailable
            default: .notPermitted
            }
        self.init(code, failure.problem, remedy: failure.remedy)
    }
}
