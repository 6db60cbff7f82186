/// Words of strangers in commands that a person is told to run.
package enum ShellWord {
    /// One word for a POSIX shell (Shell Command Language, 2.2.2), whatever is in it.
    package static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
