internal import Glibc

/// The system is out of a resource. The failed operation has changed nothing; current playback continues, and a retry
/// may succeed.
public typealias ExhaustionError = CodedError<ExhaustionErrors>

/// The domain of the codes of `ExhaustionError`.
public enum ExhaustionErrors {}

extension CodedError<ExhaustionErrors>.Code {
    /// No thread could be created.
    public static var threads: Self { Self(rawValue: "threads") }
    /// No file or connection could be opened.
    public static var descriptors: Self { Self(rawValue: "descriptors") }
}

extension CodedError<ExhaustionErrors> {
    /// Creates the error for a pthread_create(3) code, which is EAGAIN also if there is no memory for a stack.
    package static func thread(_ code: Int32) -> Self {
        guard code == EAGAIN else {
            return Self(
                .threads, "the system does not allow the program to start more threads (\(SystemCause.text(code)))")
        }
        let memory = SystemCause.memoryLimit.isEmpty ? "" : "; of memory: ulimit -v"
        return Self(
            .threads,
            "the system does not allow the program to start more threads (limit of processes: ulimit -u\(memory))")
    }

    /// Creates the error for a failed system call that returns a descriptor.
    package static func descriptor(_ code: Int32) -> Self { Self(.descriptors, SystemCause.text(code)) }
}

extension TalkieError {
    /// Creates an error with the code `failed`.
    public init(_ error: ExhaustionError) { self.init(.failed, error.message) }
}

extension MediaError {
    /// Creates an error with the code `exhausted`.
    public init(_ error: ExhaustionError) { self.init(.exhausted, error.message) }
}
