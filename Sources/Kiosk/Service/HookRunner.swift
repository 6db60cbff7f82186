internal import MediaCore
internal import Storage

/// Runs work that may block on a thread of this name and priority; throws if there is none.
typealias BackgroundWork =
    @Sendable (_ name: String, WorkerThread.Priority, @escaping @Sendable () -> Void) throws(ExhaustionError) -> Void

/// Runs the commands of `[hooks]` in the shell, without blocking the caller.
struct HookRunner: Sendable {
    /// The timeout of a command.
    private static let timeout = Duration.seconds(30)
    private static let maxOutput = 64 << 10

    /// Runs work that may block. See `KioskStage.run`.
    let start: BackgroundWork
    /// Called on any thread with a sentence about a command that failed. It names the key, because the command may
    /// contain a password.
    let report: @Sendable (String) -> Void

    /// Runs the command of a key; nil has no effect.
    func run(_ key: String, _ command: String?) {
        guard let command else { return }
        let report = report
        do throws(ExhaustionError) {
            try start("kiosk hook", .background) {
                if let trouble = Self.trouble(of: command) { report("the command hooks.\(key) failed: \(trouble)") }
            }
        } catch {
            report(error.message)
        }
    }

    /// Runs a command and returns the reason of its failure; nil if it succeeds.
    private static func trouble(of command: String) -> String? {
        do throws(BoundedProgram.Failure) {
            let outcome = try BoundedProgram.run(
                "/bin/sh", ["-c", command], maxBytes: maxOutput, timeout: timeout, isCancelled: { false })
            guard outcome.status != 0 else { return nil }
            let line = outcome.complaint.split(separator: "\n").last.map(String.init)
            // Messages of the shell and of programs quote the command or a word of it, which may be a secret.
            let tokens = command.split { $0.isWhitespace || "=;\"'()<>|&".contains($0) }.filter { $0.count >= 6 }
            let reason = line.flatMap { line in tokens.contains { line.contains($0) } ? nil : String(line.prefix(200)) }
            return reason ?? outcome.status.map { "status \($0)" } ?? "ended by a signal"
        } catch {
            return error.predicate
        }
    }
}
