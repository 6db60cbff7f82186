internal import MediaCore

extension TalkieError {
    /// Converts a failed pairing to the common error type.
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
