internal import Glibc

/// The system gives no more of something that an operation needs. Nothing has changed when it is thrown; what plays already goes on,
/// and later it may work.
public typealias ExhaustionError = CodedError<ExhaustionErrors>

/// The codes of `ExhaustionError`.
public enum ExhaustionErrors {}

extension CodedError<ExhaustionErrors>.Code {
    /// No further thread.
    public static var threads: Self { Self(rawValue: "threads") }
    /// No further file or connection.
    public static var descriptors: Self { Self(rawValue: "descriptors") }
}

extension CodedError<ExhaustionErrors> {
    /// Why pthread_create(3) refuses; it says EAGAIN also when there is no memory for a stack.
    package static func thread(_ code: Int32) -> Self {
        guard code == EAGAIN else {
            return Self(.threads, "this computer lets the program start no further thread (\(SystemCause.text(code)))")
        }
        let memory = SystemCause.memoryLimit.isEmpty ? "" : "; of memory: ulimit -v"
        return Self(
            .threads,
            "this computer lets the program start no further thread (limit of processes: ulimit -u\(memory))")
    }

    /// Why the system refuses a descriptor.
    package static func descriptor(_ code: Int32) -> Self { Self(.descriptors, SystemCause.text(code)) }
}

extension TalkieError {
    public init(_ error: ExhaustionError) { self.init(.failed, error.message) }
}

extension MediaError {
    public init(_ error: ExhaustionError) { self.init(.exhausted, error.message) }
}
