/// Words of strangers in commands that a person is told to run.
enum ShellWord {
    /// One word for a POSIX shell (Shell Command Language, 2.2.2), whatever is in it.
    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
